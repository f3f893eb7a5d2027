// Package dispatch holds the steps by which an order reaches a provider: submit it once under its
// id, poll until the outcome is conclusive, and book the outcome once.
//
// A provider's answer may be lost, so the outcome of an order may be unknown. Unknown never means
// failed: the worker asks again, under the same id, until the answer is conclusive.
//
// The steps work in their caller's transaction, on the [Submission] that is part of the
// caller's record and on the [Index] of orders. payout, refund and invoice call them
// beside their own rules. Package providers, above those, runs the loop.
package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/retry"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// Flow is one of the flows of orders. It keeps the [Entry] of each order, which together are the
// operator's index. A callback knows only the id, and finds the record through the index. The
// index also lists the orders of all merchants.
type Flow struct {
	// Name is the name of an order in the log and in refusals.
	Name provider.Flow
	// Backoff is the wait after each inconclusive attempt. Its last entry stands for all later
	// ones.
	Backoff retry.Schedule
	// NoProvider is the outcome, for the log, of work without a provider.
	NoProvider string

	index *storage.Collection[Entry]
}

// The flows of orders.
var (
	Transfers = &Flow{Name: provider.Transfers, Backoff: pollBackoff, NoProvider: "no_rail", index: newIndex("rail_orders")}
	Refunds   = &Flow{Name: provider.Refunds, Backoff: pollBackoff, NoProvider: "no_rail", index: newIndex("refund_orders")}
	Charges   = &Flow{Name: provider.Charges, Backoff: ChargeBackoff, NoProvider: "no_charger", index: newIndex("charge_orders")}
)

// Kinds are the kinds of records that this package stores.
func Kinds() []*storage.Kind {
	return []*storage.Kind{Transfers.index.Kind(), Refunds.index.Kind(), Charges.index.Kind()}
}

// Ref names an order and the record that it is part of.
type Ref struct {
	// Object is the type of the record: "payout", "disbursement", "refund" or "invoice".
	Object string
	// ID is the order's, under which the provider knows it.
	ID string
	// Record is the id of the record. It is the id of the order, except for charges.
	Record string
}

// Submission is the part of a record that tracks its order.
type Submission struct {
	// Request and Key belong to the call that made the order. Later events name them.
	Request string `json:"request,omitempty"`
	Key     string `json:"key,omitempty"`
	// Attempts counts the submissions and status requests.
	Attempts int `json:"asked,omitempty"`
	// SubmittedAt is the time of the first call of the provider.
	SubmittedAt *api.Time `json:"submitted_at,omitempty"`
	// Stuck says that the log has a line about it.
	Stuck bool `json:"stuck,omitempty"`
	// Due is the time of the worker's next attempt; nil if nothing is left to do.
	Due *api.Time `json:"due,omitempty"`
}

// New returns the submission of an order that the caller makes. It is due at once.
func New(tx *engine.Tx) Submission {
	return Submission{Request: tx.Caller.RequestID, Key: tx.Caller.IdempotencyKey, Due: api.AtOrNil(tx.Now)}
}

// MarkSubmitted notes that the provider has the order. It returns true the first time.
func (s *Submission) MarkSubmitted(now time.Time) (first bool) {
	if s.SubmittedAt != nil {
		return false
	}
	s.SubmittedAt = api.AtOrNil(now)
	return true
}

// Begin counts an attempt. first says that no attempt and no callback came before, so the
// provider cannot know the order.
func (s *Submission) Begin(now time.Time) (first bool) {
	first = s.MarkSubmitted(now) && s.Attempts == 0
	s.Attempts++
	return first
}

// Continue lets the events of the transaction name the call that made the order, until
// restore is called.
func (s *Submission) Continue(tx *engine.Tx) (restore func()) {
	caller := tx.Caller
	tx.Caller.RequestID, tx.Caller.IdempotencyKey = s.Request, s.Key
	return func() { tx.Caller = caller }
}

// DueField is the column by which workers claim records of type T.
func DueField[T any](submission func(*T) *Submission) storage.Field[T] {
	return storage.NullTimeColumn("due", func(r *T) *api.Time { return submission(r).Due })
}

// Order is an order in the transaction that drives it.
type Order struct {
	*Submission
	Ref
	Flow *Flow
	// Records is the kind that stores the record.
	Records *storage.Kind
	// Since is the time when the order was made.
	Since time.Time
	// StuckAfter is the time after which the log gets a line about the order.
	StuckAfter time.Duration
}

// Wait sets the next poll, from the provider's wish or from the backoff. It logs, once, an order
// that takes too long.
func (o *Order) Wait(ctx context.Context, tx *engine.Tx, pollAfter time.Duration) {
	if pollAfter <= 0 {
		// A callback may come before the first attempt.
		pollAfter = o.Flow.Backoff.AfterOrLast(max(o.Attempts, 1))
	}
	o.Due = api.AtOrNil(tx.Now.Add(pollAfter))
	age := tx.Now.Sub(o.Since)
	if o.Stuck || age < o.StuckAfter {
		return
	}
	o.Stuck = true
	word, id, attempts := string(o.Flow.Name), o.ID, o.Attempts
	tx.OnCommit(func() {
		tx.Log().ErrorContext(ctx, "a "+word+" is stuck: the provider has not decided", word, id, "age", age.String(), "attempts", attempts)
	})
}

// WaitForProvider sets the next attempt of an order without a configured provider, and logs it.
func (o *Order) WaitForProvider(ctx context.Context, tx *engine.Tx) {
	o.Wait(ctx, tx, providerWait)
	word, id, live := string(o.Flow.Name), o.ID, tx.Caller.Live
	work.SetReport(ctx, work.Report{Name: o.Flow.NoProvider, RequestID: o.Request})
	tx.OnCommit(func() {
		tx.Log().ErrorContext(ctx, "a "+word+" waits, because no provider is configured for it", word, id, "live", live)
	})
}

// EndedBefore tells the observer that a callback came before the worker.
func (o *Order) EndedBefore(ctx context.Context) {
	work.SetReport(ctx, work.Report{Name: "ended_before", RequestID: o.Request})
}

// Call leases the record, which the caller has written at this version, and returns the call of
// the provider.
func (o *Order) Call(tx *engine.Tx, version int64, first bool, submit, status Ask) (*Call, error) {
	release, err := tx.KeepLease(o.Records, o.Record, version)
	if err != nil {
		return nil, fmt.Errorf("dispatch: lease %s: %w", o.Flow.Name, err)
	}
	return &Call{
		Ref: o.Ref, word: string(o.Flow.Name), first: first, submit: submit, status: status, release: release,
		report: work.Report{Attempt: o.Attempts, RequestID: o.Request, Level: slog.LevelInfo},
	}, nil
}

// pollBackoff is the backoff of transfers and refunds, ChargeBackoff that of charges.
var (
	pollBackoff = retry.Schedule{
		2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute,
	}
	ChargeBackoff = retry.Schedule{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour}
)

// providerWait is the wait of an order without a provider. Only a restart with a new
// configuration can change that.
const providerWait = 15 * time.Minute

// The stored lengths of a provider's references and words, in bytes.
const (
	MaxReference = 255
	MaxReason    = 500
)

// Truncate shortens a text to at most so many bytes, between characters.
func Truncate(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most]
}
