package engine

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// Scope is where the caller's objects are stored: those of its merchant in its mode.
func Scope(c api.Caller) storage.Scope {
	return storage.Scope{Merchant: c.Merchant, Live: c.Live}
}

// Where adds a filter on a text column to a query's conditions; the empty value
// filters nothing.
func Where(conditions []storage.Equal, column, value string) []storage.Equal {
	if value == "" {
		return conditions
	}
	return append(conditions, storage.Equal{Column: column, Value: value})
}

// InTimes adds a filter on a time column to a query's ranges.
func InTimes(ranges []storage.Range, column string, t api.Times) []storage.Range {
	if t.Empty() {
		return ranges
	}
	return append(ranges, storage.Range{Column: column, From: t.From, Until: t.Until})
}
