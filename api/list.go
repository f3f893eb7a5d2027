package api

import (
	"time"
)

// Sizes of pages.
const (
	DefaultLimit = 10
	MaxLimit     = 100
)

// Page asks for one page of a list, newest first. The zero value asks for the
// ten newest.
type Page struct {
	// Limit is the largest number of objects wanted, 1 to 100; 0 stands for 10. Of large
	// objects a page holds fewer, some 1 MiB; HasMore of the list says whether there are
	// more.
	Limit int
	// StartingAfter is an object's id; the page holds what is older.
	StartingAfter string
	// EndingBefore is an object's id; the page holds what is directly newer.
	// Both at once are refused.
	EndingBefore string
}

// List is one page of objects in the envelope of the interface.
type List[T any] struct {
	Object  string `json:"object"` // always "list"
	Data    []T    `json:"data"`
	HasMore bool   `json:"has_more"`
	URL     string `json:"url"`
}

// NewList returns the envelope of a page.
func NewList[T any](url string, data []T, more bool) *List[T] {
	if data == nil {
		data = []T{}
	}
	return &List[T]{Object: "list", Data: data, HasMore: more, URL: url}
}

// Check refuses a page that cannot be served.
func (p Page) Check() error {
	if p.Limit < 0 || p.Limit > MaxLimit {
		return Invalid("limit", "limit must be an integer from 1 to %d.", MaxLimit)
	}
	if p.StartingAfter != "" && p.EndingBefore != "" {
		return Invalid("ending_before", "Give either starting_after or ending_before, not both.")
	}
	return nil
}

// Size returns the page's limit with the default filled in.
func (p Page) Size() int {
	if p.Limit == 0 {
		return DefaultLimit
	}
	return p.Limit
}

// Cursor returns the id at which the page starts, and the parameter's name;
// both are empty for the first page.
func (p Page) Cursor() (param, id string) {
	if p.StartingAfter != "" {
		return "starting_after", p.StartingAfter
	}
	if p.EndingBefore != "" {
		return "ending_before", p.EndingBefore
	}
	return "", ""
}

// Times limits a list to objects with a time in the half-open interval
// [From, Until). A zero time leaves that end open.
type Times struct {
	From, Until time.Time
}

// Empty reports that nothing is excluded.
func (t Times) Empty() bool { return t.From.IsZero() && t.Until.IsZero() }
