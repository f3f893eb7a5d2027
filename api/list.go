package api

import (
	"time"
)

// Sizes of pages.
const (
	DefaultLimit = 10
	MaxLimit     = 100
)

// Page asks for one page of a list, newest first. The zero value asks for the ten newest. A list
// refuses a wrong Limit with parameter_invalid, and a cursor that names no object of the caller's with
// resource_missing.
type Page struct {
	// Limit is the largest number of objects wanted, 1 to 100; 0 stands for 10. A page of large
	// objects may end earlier, at about 1 MiB. List.HasMore says whether more follow.
	Limit int
	// StartingAfter is an object's id. The page begins with the next older object.
	StartingAfter string
	// EndingBefore is an object's id. The page holds the objects just newer than it. Setting both
	// is refused with parameter_invalid.
	EndingBefore string
}

// List is one page of objects, in the form that the API returns.
type List[T any] struct {
	Object  string `json:"object"` // always "list"
	Data    []T    `json:"data"`
	HasMore bool   `json:"has_more"`
	URL     string `json:"url"`
}

// NewList returns a page as a List.
func NewList[T any](url string, data []T, more bool) *List[T] {
	if data == nil {
		data = []T{}
	}
	return &List[T]{Object: "list", Data: data, HasMore: more, URL: url}
}

// Check returns parameter_invalid for a wrong limit or for two cursors.
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

// Cursor returns the name and value of the cursor; both are empty for the first page.
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

// Empty reports whether both ends are open, so that all times match.
func (t Times) Empty() bool { return t.From.IsZero() && t.Until.IsZero() }
