package engine

import (
	"reflect"
	"strings"

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

// Query returns the query of a caller's list. Each of its params that is set is a condition on the column
// that its tag param names: a text or a bool is the value, and [api.Times] are a range.
func Query(caller api.Caller, params any) storage.Query {
	q := storage.Query{Scope: Scope(caller)}
	for f, v := range reflect.ValueOf(params).Fields() {
		column, _, _ := strings.Cut(f.Tag.Get("param"), ",")
		switch is := v.Interface().(type) {
		case api.Page:
		case api.Times:
			if !is.Empty() {
				q.Range = append(q.Range, storage.Range{Column: column, From: is.From, Until: is.Until})
			}
		case *bool:
			if is != nil {
				q.Where = append(q.Where, storage.Equal{Column: column, Value: *is})
			}
		default:
			q.Where = Where(q.Where, column, v.String())
		}
	}
	return q
}

// SetGiven sets a field to a value that is given; nil keeps it.
func SetGiven[T any](field, given *T) {
	if given != nil {
		*field = *given
	}
}
