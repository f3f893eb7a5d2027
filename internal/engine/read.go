package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// Get reads one of the caller's objects; noun is what it is called in the
// refusal when there is none.
func Get[T any](ctx context.Context, e *Engine, caller api.Caller, c *storage.Collection[T], id, noun string) (*storage.Object[T], error) {
	o, err := c.GetOne(ctx, e.Store, caller.Scope(), id)
	return Found(o, err, noun)
}

// GetTx is Get in a transaction, and in any scope.
func GetTx[T any](tx storage.ReadTx, c *storage.Collection[T], scope storage.Scope, id, noun string) (*storage.Object[T], error) {
	o, err := c.Get(tx, scope, id)
	return Found(o, err, noun)
}

// Found turns the outcome of a read into the object or the refusal.
func Found[T any](o *storage.Object[T], err error, noun string) (*storage.Object[T], error) {
	if errors.Is(err, storage.ErrNotFound) {
		return nil, api.NoSuch(noun)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", noun, err)
	}
	return o, nil
}

// Listing is one kind of list: what is in it, where it is found and how its
// objects look outside.
type Listing[T, O any] struct {
	Collection *storage.Collection[T]
	// Noun is what an object is called when a cursor names none.
	Noun string
	// URL is the path of the list; empty for lists that /v1 does not have.
	URL  string
	Show func(*T) O
}

// List reads one page.
func (l Listing[T, O]) List(ctx context.Context, e *Engine, q storage.Query, p api.Page) (*api.List[O], error) {
	var list *api.List[O]
	err := e.Store.View(ctx, func(tx storage.ReadTx) error {
		var err error
		list, err = l.ListTx(tx, q, p)
		return err
	})
	return list, err
}

// ListTx is List in a transaction. The cursor must be an object of q's scope:
// one that was deleted is refused, never skipped.
func (l Listing[T, O]) ListTx(tx storage.ReadTx, q storage.Query, p api.Page) (*api.List[O], error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if param, id := p.Cursor(); id != "" {
		_, err := tx.Get(l.Collection.Kind(), q.Scope, id)
		if errors.Is(err, storage.ErrNotFound) {
			return nil, api.NoSuchCursor(param, l.Noun)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", param, err)
		}
	}
	q.Limit, q.After, q.Before = p.Size(), p.StartingAfter, p.EndingBefore
	page, more, err := l.Collection.List(tx, q)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", l.Noun, err)
	}
	data := make([]O, len(page))
	for i, o := range page {
		data[i] = l.Show(&o.Value)
	}
	return api.NewList(l.URL, data, more), nil
}
