package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/shown"
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

// Listing is how the objects of one kind are read by those outside: one, or a page.
type Listing[T, O any] struct {
	Collection *storage.Collection[T]
	// Noun is what an object is called when there is none.
	Noun string
	// URL is the path of the list; empty for lists that /v1 does not have.
	URL string
	// Show makes what is shown out of what is stored. It must depend on nothing that
	// changes while the program runs, and be the same in all listings of a kind: what it
	// made is remembered, see [shown.Cache].
	Show func(*T) O
	// AsStored says that Show returns what a T embeds first, or the T, as it is.
	AsStored bool
}

// maxPage is how many bytes of documents a page holds; a larger one stands alone. A page
// is put together before any of it goes out, so that no slow reader holds a snapshot of
// the database open.
const maxPage = 1 << 20

// Get reads one of the caller's objects. Where ctx asks for JSON, that is where the
// object is, and the value is empty; so is the list of List.
func (l Listing[T, O]) Get(ctx context.Context, e *Engine, caller api.Caller, id string) (*O, error) {
	r, err := storage.GetOne(ctx, e.Store, l.Collection.Kind(), caller.Scope(), id)
	if err != nil {
		_, err := Found[T](nil, err, l.Noun)
		return nil, err
	}
	if page := shown.Wanted(ctx); page != nil {
		page.Reset()
		if err := l.show(e, page, &r); err != nil {
			return nil, err
		}
		return new(O), page.WriteByte('\n')
	}
	o, err := l.Collection.Decode(r)
	if err != nil {
		return nil, err
	}
	v := l.Show(&o.Value)
	return &v, nil
}

// List reads one page.
func (l Listing[T, O]) List(ctx context.Context, e *Engine, q storage.Query, p api.Page) (*api.List[O], error) {
	var list *api.List[O]
	page := shown.Wanted(ctx)
	err := e.Store.View(ctx, func(tx storage.ReadTx) error {
		var err error
		if page == nil {
			list, err = l.ListTx(tx, q, p)
			return err
		}
		if err := l.turn(tx, &q, p); err != nil {
			return err
		}
		records, more, err := l.Collection.Records(tx, q)
		if err != nil {
			return fmt.Errorf("list %s: %w", l.Noun, err)
		}
		list = new(api.List[O])
		return l.showAll(e, page, records, more)
	})
	return list, err
}

// ListTx is List in a transaction. The cursor must be an object of q's scope:
// one that was deleted is refused, never skipped.
func (l Listing[T, O]) ListTx(tx storage.ReadTx, q storage.Query, p api.Page) (*api.List[O], error) {
	if err := l.turn(tx, &q, p); err != nil {
		return nil, err
	}
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

// turn turns the query to a page, once it has been checked.
func (l Listing[T, O]) turn(tx storage.ReadTx, q *storage.Query, p api.Page) error {
	if err := p.Check(); err != nil {
		return err
	}
	if param, id := p.Cursor(); id != "" {
		_, err := tx.Get(l.Collection.Kind(), q.Scope, id)
		if errors.Is(err, storage.ErrNotFound) {
			return api.NoSuchCursor(param, l.Noun)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", param, err)
		}
	}
	q.Bytes = maxPage
	q.Limit, q.After, q.Before = p.Size(), p.StartingAfter, p.EndingBefore
	return nil
}
