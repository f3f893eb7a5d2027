package outside

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// Course is what is kept of an order while it is seen through; it is part of the
// record of what the order is for.
type Course struct {
	// Request and Key are of the call that made the order; events that happen later
	// name it.
	Request string `json:"request,omitempty"`
	Key     string `json:"key,omitempty"`
	// Asked counts how often the order was submitted or asked for.
	Asked int `json:"asked,omitempty"`
	// SubmittedAt is when the other side was first told.
	SubmittedAt *api.Time `json:"submitted_at,omitempty"`
	// Stuck says that the log was told of it.
	Stuck bool `json:"stuck,omitempty"`
	// Due is when a worker looks at it next; nil when there is nothing to do.
	Due *api.Time `json:"due,omitempty"`
}

// Begin returns the course of an order that the caller makes; it is due at once.
func Begin(caller api.Caller, now time.Time) Course {
	return Course{Request: caller.RequestID, Key: caller.IdempotencyKey, Due: api.AtOrNil(now)}
}

// submitted notes that the other side is told, and reports the first time.
func (c *Course) submitted(now time.Time) bool {
	if c.SubmittedAt != nil {
		return false
	}
	c.SubmittedAt = api.AtOrNil(now)
	return true
}

// DueField is the column by which records of type T, which hold a Course, are
// claimed.
func DueField[T any](course func(*T) *Course) storage.Field[T] {
	return storage.Field[T]{
		Column: storage.Column{Name: "due", Type: storage.Time, Null: true},
		Value: func(r *T) any {
			if due := course(r).Due; due != nil {
				return due.Time
			}
			return nil
		},
	}
}

// Schedule is how long to wait after each time that the other side was asked
// without a conclusive answer; its last entry stands for all later ones.
type Schedule []time.Duration

// After returns the wait after so many times.
func (s Schedule) After(asked int) time.Duration { return s[min(max(asked, 1), len(s))-1] }

// patience is the schedule of transfers and refunds.
var patience = Schedule{
	2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute,
}

// DefaultStuckAfter is how long an order may be on its way, where the host says
// nothing.
const DefaultStuckAfter = time.Hour

// What is kept of the other side's references and words, in bytes.
const (
	MaxReference = 255
	MaxReason    = 500
)

// Cut shortens a text to at most so many bytes, between characters.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most]
}
