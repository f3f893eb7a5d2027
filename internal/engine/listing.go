package engine

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// Listing reads the objects of one kind for callers: one by id, or a page. It returns them
// as Go values (Get, List) or writes their JSON (GetJSON, ListJSON).
type Listing[T, O any] struct {
	Collection *storage.Collection[T]
	// Noun names the object in the refusal if there is none.
	Noun string
	// URL is the path of the list; empty for lists without a route in /v1.
	URL string
	// Show turns a stored value into the object that callers get. For a collection with
	// [storage.Collection.Passthrough] it returns the part that callers see, unchanged.
	Show func(*T) O
}

// maxPage bounds the bytes of documents on a page; a larger document stands alone.
const maxPage = 1 << 20

// Get reads one of the caller's objects.
func (l Listing[T, O]) Get(ctx context.Context, e *Engine, caller api.Caller, id string) (*O, error) {
	o, err := Get(ctx, e, caller, l.Collection, id, l.Noun)
	if err != nil {
		return nil, err
	}
	v := l.Show(&o.Value)
	return &v, nil
}

// List reads one page.
func (l Listing[T, O]) List(ctx context.Context, e *Engine, q storage.Query, p api.Page) (list *api.List[O], err error) {
	err = e.Store.View(ctx, func(tx storage.ReadTx) error {
		list, err = l.ListTx(tx, q, p)
		return err
	})
	return list, err
}

// ListTx is List in a transaction. The cursor must be an object of q's scope. From one that [Delete] has
// removed, ListTx goes on for 30 days.
func (l Listing[T, O]) ListTx(tx storage.ReadTx, q storage.Query, p api.Page) (*api.List[O], error) {
	records, more, err := l.records(tx, q, p)
	if err != nil {
		return nil, err
	}
	return l.show(records, more)
}

// ListAfter reads the page after an object, for a caller who reads all of them: unlike List, it goes on if
// the object was deleted meanwhile. An empty id is for the first page.
func (l Listing[T, O]) ListAfter(ctx context.Context, e *Engine, q storage.Query, id string) (list *api.List[O], err error) {
	q.Bytes, q.Limit, q.After = maxPage, api.MaxLimit, id
	err = e.Store.View(ctx, func(tx storage.ReadTx) error {
		if id != "" && l.Collection.Kind().Ordered {
			var err error
			if q.Number, _, err = placeOf(tx, l.Collection.Kind(), q.Scope, id); err != nil {
				return err
			}
		}
		records, more, err := l.Collection.Records(tx, q)
		if err == nil {
			list, err = l.show(records, more)
		}
		return err
	})
	return list, err
}

// show returns the objects of a page.
func (l Listing[T, O]) show(records []storage.Record, more bool) (*api.List[O], error) {
	data := make([]O, len(records))
	for i := range records {
		o, err := l.Collection.Decode(records[i])
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", l.Noun, err)
		}
		data[i] = l.Show(&o.Value)
	}
	return api.NewList(l.URL, data, more), nil
}

// records checks the page's parameters and reads its records.
func (l Listing[T, O]) records(tx storage.ReadTx, q storage.Query, p api.Page) (_ []storage.Record, more bool, err error) {
	if err := p.Check(); err != nil {
		return nil, false, err
	}
	if param, id := p.Cursor(); id != "" {
		number, known, err := placeOf(tx, l.Collection.Kind(), q.Scope, id)
		if err != nil {
			return nil, false, fmt.Errorf("read %s: %w", param, err)
		}
		q.Number = number
		if !known {
			return nil, false, api.NoSuchCursor(param, l.Noun)
		}
	}
	q.Bytes = maxPage
	q.Limit, q.After, q.Before = p.Size(), p.StartingAfter, p.EndingBefore
	records, more, err := l.Collection.Records(tx, q)
	if err != nil {
		return nil, false, fmt.Errorf("list %s: %w", l.Noun, err)
	}
	return records, more, nil
}
