package outside

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Order is the operator's record of an order, over all merchants. Its id is that
// of the object that the order is for.
type Order struct {
	// Noun is what kind of object it is.
	Noun     string `json:"noun"`
	Merchant string `json:"merchant"`
	// Open says that the order is on its way.
	Open bool `json:"open"`
	// Contradiction says how the provider contradicted what is booked of an order that has
	// ended; empty if it did not, or once that is resolved.
	Contradiction string `json:"contradiction,omitempty"`
	// Resolved is the contradiction that was resolved last.
	Resolved string `json:"resolved,omitempty"`
	// Of is the object's id where it is not that of the order; see [Contradicting].
	Of        string   `json:"of,omitempty"`
	CreatedAt api.Time `json:"created_at"`
}

// Orders belong to the operator, so that a callback, which knows the id alone,
// finds its object, and so that all merchants' are listed together.
type Orders struct{ kept *storage.Collection[Order] }

// NewOrders declares an index in a table of its own.
func NewOrders(table string) *Orders {
	return &Orders{storage.NewCollection(table, []storage.Field[Order]{
		{
			// True while the order is on its way, false when it has ended and was
			// contradicted since. Null for all others, so that the index holds what somebody
			// looks for and no more.
			Column: storage.Column{Name: "open", Type: storage.Bool, Null: true, Indexed: true},
			Value: func(o *Order) any {
				switch {
				case o.Open:
					return true
				case o.Contradiction != "":
					return false
				}
				return nil
			},
		},
		{
			Column: storage.Column{Name: "created", Type: storage.Time, Indexed: true},
			Value:  func(o *Order) any { return o.CreatedAt.Time },
		},
	})}
}

// Kind is what is stored.
func (os *Orders) Kind() *storage.Kind { return os.kept.Kind() }

// OpenTx notes an order of the caller's that is on its way.
func (os *Orders) OpenTx(tx *engine.Tx, noun, id string) error {
	o := Order{Noun: noun, Merchant: tx.Caller.Merchant, Open: true, CreatedAt: api.At(tx.Now)}
	if _, err := os.kept.Insert(tx, storage.Scope{Live: tx.Caller.Live}, id, o); err != nil {
		return fmt.Errorf("outside: keep order: %w", err)
	}
	return nil
}

// CloseTx notes that an order has ended.
func (os *Orders) CloseTx(tx *engine.Tx, id string) error {
	o, err := os.kept.Get(tx, storage.Scope{Live: tx.Caller.Live}, id)
	if err == nil {
		o.Value.Open = false
		err = os.kept.Replace(tx, o)
	}
	if err != nil {
		return fmt.Errorf("outside: close order: %w", err)
	}
	return nil
}

// DropTx forgets an order that was open: for those which nobody looks for afterwards.
func (os *Orders) DropTx(tx *engine.Tx, id string) error {
	o, err := os.kept.Get(tx, storage.Scope{Live: tx.Caller.Live}, id)
	if err == nil {
		err = os.kept.Delete(tx, o)
	}
	if err != nil {
		return fmt.Errorf("outside: drop order: %w", err)
	}
	return nil
}

// Find returns whose order an id is, and of which noun; word is what it is called
// in the refusal when there is none.
func (os *Orders) Find(ctx context.Context, e *engine.Engine, id, word string) (noun string, caller api.Caller, err error) {
	err = e.Store.View(ctx, func(tx storage.ReadTx) error {
		found, err := os.kept.Get(tx, storage.Scope{Live: true}, id)
		if errors.Is(err, storage.ErrNotFound) {
			found, err = os.kept.Get(tx, storage.Scope{}, id)
		}
		if found, err = engine.Found(found, err, word); err != nil {
			return err
		}
		noun, caller = found.Value.Noun, api.Caller{Merchant: found.Value.Merchant, Live: found.Scope.Live}
		return nil
	})
	return noun, caller, err
}

// orderPage is how many orders are read in one transaction, so that a long list
// holds no snapshot for long.
const orderPage = 200

// Each calls do for every order of a mode that the query selects, newest first, each
// in a View of its merchant's.
func (os *Orders) Each(ctx context.Context, e *engine.Engine, live bool, q storage.Query, do func(tx *engine.ReadTx, id string, o *Order) error) error {
	q.Scope, q.Limit = storage.Scope{Live: live}, orderPage
	for more := true; more; {
		var page []*storage.Object[Order]
		err := e.Store.View(ctx, func(tx storage.ReadTx) error {
			var err error
			page, more, err = os.kept.List(tx, q)
			return err
		})
		if err != nil {
			return err
		}
		for _, o := range page {
			q.After = o.ID
			err := e.View(ctx, api.Caller{Merchant: o.Value.Merchant, Live: live}, func(tx *engine.ReadTx) error {
				return do(tx, o.ID, &o.Value)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// openOnly selects the orders that are on their way.
var openOnly = []storage.Equal{{Column: "open", Value: true}}

// EachStuck does so for the orders of both modes, live ones first, that have been open
// for so long.
func (os *Orders) EachStuck(ctx context.Context, e *engine.Engine, after time.Duration, do func(tx *engine.ReadTx, id string, o *Order) error) error {
	for _, live := range []bool{true, false} {
		err := os.Each(ctx, e, live, storage.Query{Where: openOnly}, func(tx *engine.ReadTx, id string, o *Order) error {
			if tx.Now.Sub(o.CreatedAt.Time) < after {
				return nil
			}
			return do(tx, id, o)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// CountStuckTx counts the orders of a mode that are contradicted, or have been open for so
// long, up to limit. It reads what is contradicted, and of what is open, the oldest first, and in live mode no more than what is
// stuck; test mode has as many clocks as merchants, so that up to limit open ones
// are looked at there.
func (os *Orders) CountStuckTx(tx storage.ReadTx, e *engine.Engine, live bool, after time.Duration, limit int) (int, error) {
	stuck, err := os.countContradictedTx(tx, live, limit)
	if err != nil {
		return 0, err
	}
	seen := stuck
	q := storage.Query{
		Scope: storage.Scope{Live: live}, Where: openOnly,
		Before: " ", Limit: orderPage, // before every id, so that the oldest come first
	}
	for more := true; more && seen < limit; {
		page, left, err := os.kept.List(tx, q)
		if err != nil {
			return 0, fmt.Errorf("outside: count stuck orders: %w", err)
		}
		for _, ordered := range slices.Backward(page) { // a page is newest first
			if seen++; seen > limit {
				break
			}
			now, err := e.NowTx(tx, api.Caller{Merchant: ordered.Value.Merchant, Live: live})
			if err != nil {
				return 0, err
			}
			switch {
			case now.Sub(ordered.Value.CreatedAt.Time) >= after:
				stuck++
			case live:
				return stuck, nil // all that follow are younger
			}
		}
		if more = left; more {
			q.Before = page[0].ID
		}
	}
	return stuck, nil
}
