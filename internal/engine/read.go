package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// Get reads one of the caller's objects. noun names the object in the refusal if there is none.
func Get[T any](ctx context.Context, e *Engine, caller api.Caller, c *storage.Collection[T], id, noun string) (*storage.Object[T], error) {
	o, err := c.GetOne(ctx, e.Store, Scope(caller), id)
	return OrMissing(o, err, noun)
}

// GetTx is Get in a transaction, and in any scope.
func GetTx[T any](tx storage.ReadTx, c *storage.Collection[T], scope storage.Scope, id, noun string) (*storage.Object[T], error) {
	o, err := c.Get(tx, scope, id)
	return OrMissing(o, err, noun)
}

// OrMissing turns the result of a read into the object or the refusal.
func OrMissing[T any](o *storage.Object[T], err error, noun string) (*storage.Object[T], error) {
	if errors.Is(err, storage.ErrNotFound) {
		return nil, api.NoSuch(noun)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", noun, err)
	}
	return o, nil
}

// OrNil turns the result of a read into the object, or nil if there is none.
func OrNil[T any](o *storage.Object[T], err error) (*storage.Object[T], error) {
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	return o, err
}

// inEvents is how many elements of a list inside an object its events carry.
const inEvents = 10

// ForEvents returns the first elements of a list inside an object, for its events: an event is stored
// for each change, and sent to each endpoint.
func ForEvents[T any](l api.List[T]) api.List[T] {
	if len(l.Data) > inEvents {
		l.Data, l.HasMore = l.Data[:inEvents], true
	}
	return l
}

// SliceOf returns a page of a list that is in memory. id returns the cursor of an element, and
// noun names the element in the refusal of an unknown cursor.
func SliceOf[T any](url, noun string, all []T, id func(*T) string, p api.Page) (*api.List[T], error) {
	from, until := 0, len(all)
	if param, cursor := p.Cursor(); cursor != "" {
		at := slices.IndexFunc(all, func(o T) bool { return id(&o) == cursor })
		switch {
		case at < 0:
			return nil, api.NoSuchCursor(param, noun)
		case param == "starting_after":
			from = at + 1
		default:
			until = at
		}
	}
	more := until-from > p.Size()
	if p.EndingBefore != "" {
		from = max(from, until-p.Size())
	} else {
		until = min(until, from+p.Size())
	}
	return api.NewList(url, all[from:until], more), nil
}
