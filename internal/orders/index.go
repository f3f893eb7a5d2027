package orders

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// Entry is the operator's record of an order, over all merchants. Its id is the order's.
type Entry struct {
	// Object is what the order's record is; see [Ref].
	Object   string `json:"object"`
	Merchant string `json:"merchant"`
	// Open says that the order has no outcome yet.
	Open bool `json:"open"`
	// Contradiction says how the provider contradicted the recorded outcome; empty if it did not,
	// or after a resolution.
	Contradiction string `json:"contradiction,omitempty"`
	// Cause is the cause of Contradiction, and ResolvedCause that of Resolved; nil with an empty text.
	Cause         *Cause `json:"cause,omitempty"`
	ResolvedCause *Cause `json:"resolved_cause,omitempty"`
	// Reported is the outcome that contradicts the recorded one. It is empty for other contradictions.
	Reported provider.Outcome `json:"reported,omitempty"`
	// ReportedAt is when the last contradiction was noted, also after a resolution; nil if there was none.
	ReportedAt *api.Time `json:"reported_at,omitempty"`
	// LastError is the class of the last call that failed, or of a report of another amount.
	LastError provider.Class `json:"last_error,omitempty"`
	// Resolved is the contradiction that was resolved last. ResolvedAt is its time; nil if another one came since.
	Resolved   string    `json:"resolved,omitempty"`
	ResolvedAt *api.Time `json:"resolved_at,omitempty"`
	// RecordID is the id of the record if it differs from the order's.
	RecordID string `json:"record,omitempty"`
	// Route is the provider's, and ProviderFee its own fee that is booked, in pesewas. Both are set
	// when the order ends.
	Route       string   `json:"route,omitempty"`
	ProviderFee int64    `json:"provider_fee,omitempty"`
	CreatedAt   api.Time `json:"created_at"`
}

// newEntry returns the entry of an order of the caller's that was made at a time.
func newEntry(tx *engine.Tx, ref Ref, made time.Time) Entry {
	e := Entry{Object: ref.Object, Merchant: tx.Caller.Merchant, CreatedAt: api.At(made)}
	if ref.Record != ref.ID {
		e.RecordID = ref.Record
	}
	return e
}

// Ref names the order of an entry.
func (e *Entry) Ref(id string) Ref {
	ref := Ref{Object: e.Object, ID: id, Record: id}
	if e.RecordID != "" {
		ref.Record = e.RecordID
	}
	return ref
}

// newIndex declares the index of an order type, in a table of its own.
func newIndex(table string) *storage.Collection[Entry] {
	return storage.NewCollection(table, []storage.Field[Entry]{
		{
			// True while the order is open, and false if it has ended and was contradicted since.
			// Null for all others, which keeps the column's index small.
			Column: storage.Column{Name: "open", Type: storage.Bool, Null: true, Indexed: true},
			Value: func(o *Entry) any {
				switch {
				case o.Open:
					return true
				case o.Contradiction != "":
					return false
				}
				return nil
			},
		},
		storage.TimeColumn("created", func(o *Entry) time.Time { return o.CreatedAt.Time }).Indexed(),
	})
}

// IndexOpen adds an order of the caller's to the index, as on its way since a time.
func (f *Flow) IndexOpen(tx *engine.Tx, ref Ref, since time.Time) error {
	e := newEntry(tx, ref, since)
	e.Open = true
	if _, err := f.index.Insert(tx, storage.Scope{Live: tx.Caller.Live}, ref.ID, e); err != nil {
		return fmt.Errorf("orders: index order: %w", err)
	}
	return nil
}

// IndexEnded notes in the index that an order has ended, with the provider's own fee.
func (f *Flow) IndexEnded(tx *engine.Tx, id string, s *Submission, fee int64) error {
	o, err := f.index.Get(tx, storage.Scope{Live: tx.Caller.Live}, id)
	if err == nil {
		o.Value.Open, o.Value.Route, o.Value.ProviderFee = false, s.Route, fee
		err = f.index.Replace(tx, o)
	}
	if err != nil {
		return fmt.Errorf("orders: close order: %w", err)
	}
	return nil
}

// noteError notes in the index the class of a call that failed, if it is another one than before.
func (f *Flow) noteError(tx *engine.Tx, id string, class provider.Class) error {
	o, err := engine.OrNil(f.index.Get(tx, storage.Scope{Live: tx.Caller.Live}, id))
	if o == nil || err != nil || o.Value.LastError == class {
		return err
	}
	o.Value.LastError = class
	if err := f.index.Replace(tx, o); err != nil {
		return fmt.Errorf("orders: note error: %w", err)
	}
	return nil
}

// FindInIndex returns the entry of an order of any merchant, and that merchant as caller.
// noun is what the order is called in the refusal when there is none.
func (f *Flow) FindInIndex(ctx context.Context, e *engine.Engine, id, noun string) (entry *Entry, caller api.Caller, err error) {
	err = e.Store.View(ctx, func(tx storage.ReadTx) error {
		found, err := f.index.Get(tx, storage.Scope{Live: true}, id)
		if errors.Is(err, storage.ErrNotFound) {
			found, err = f.index.Get(tx, storage.Scope{}, id)
		}
		if found, err = engine.OrMissing(found, err, noun); err != nil {
			return err
		}
		entry, caller = &found.Value, api.Caller{Merchant: found.Value.Merchant, Live: found.Scope.Live}
		return nil
	})
	return entry, caller, err
}

// orderPage is the number of orders that one transaction reads, so that a long list holds each
// snapshot briefly.
const orderPage = 200

// Each calls do for every order of a mode that the query and wanted select, newest first, each
// in a View of its merchant's. Nil wants all.
func (f *Flow) Each(ctx context.Context, e *engine.Engine, live bool, q storage.Query, wanted func(e *Entry) bool, do func(tx *engine.ReadTx, ref Ref, e *Entry) error) error {
	q.Scope, q.Limit = storage.Scope{Live: live}, orderPage
	for more := true; more; {
		var page []*storage.Object[Entry]
		err := e.Store.View(ctx, func(tx storage.ReadTx) error {
			var err error
			page, more, err = f.index.List(tx, q)
			return err
		})
		if err != nil {
			return err
		}
		for _, o := range page {
			q.After = o.ID
			if wanted != nil && !wanted(&o.Value) {
				continue
			}
			err := e.View(ctx, api.Caller{Merchant: o.Value.Merchant, Live: live}, func(tx *engine.ReadTx) error {
				return do(tx, o.Value.Ref(o.ID), &o.Value)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// openOnly selects the open orders.
var openOnly = []storage.Equal{{Column: "open", Value: true}}

// contradictedOnly selects the ended orders that were contradicted.
var contradictedOnly = []storage.Equal{{Column: "open", Value: false}}

// eachStuck calls do, as [Flow.Each] does, for the stuck orders of a mode. First come the ended orders that were
// contradicted, then the open ones that were contradicted or have been open for at least after.
func (f *Flow) eachStuck(ctx context.Context, e *engine.Engine, live bool, after time.Duration, wanted func(e *Entry) bool, do func(tx *engine.ReadTx, ref Ref, e *Entry) error) error {
	if err := f.Each(ctx, e, live, storage.Query{Where: contradictedOnly}, wanted, do); err != nil {
		return err
	}
	return f.Each(ctx, e, live, storage.Query{Where: openOnly}, wanted, func(tx *engine.ReadTx, ref Ref, e *Entry) error {
		if e.Contradiction == "" && tx.Now.Sub(e.CreatedAt.Time) < after {
			return nil
		}
		return do(tx, ref, e)
	})
}

// countStuck counts the orders of a mode that [Flow.eachStuck] selects, up to limit. It reads what has
// ended and is contradicted, and then what is open, the oldest first, up to limit in all.
func (f *Flow) countStuck(tx storage.ReadTx, e *engine.Engine, live bool, after time.Duration, limit int) (int, error) {
	stuck, err := f.countContradicted(tx, live, limit)
	if err != nil {
		return 0, err
	}
	seen := stuck
	q := storage.Query{
		Scope: storage.Scope{Live: live}, Where: openOnly,
		Before: " ", Limit: orderPage, // before every id, so the page holds the oldest
	}
	for more := true; more && seen < limit; {
		page, left, err := f.index.List(tx, q)
		if err != nil {
			return 0, fmt.Errorf("orders: count stuck orders: %w", err)
		}
		for _, ordered := range slices.Backward(page) { // a page is newest first
			if seen++; seen > limit {
				break
			}
			now, err := e.NowTx(tx, api.Caller{Merchant: ordered.Value.Merchant, Live: live})
			if err != nil {
				return 0, err
			}
			if ordered.Value.Contradiction != "" || now.Sub(ordered.Value.CreatedAt.Time) >= after {
				stuck++
			}
		}
		if more = left; more {
			q.Before = page[0].ID
		}
	}
	return stuck, nil
}

// countContradicted counts the contradicted orders of a mode, up to limit.
func (f *Flow) countContradicted(tx storage.ReadTx, live bool, limit int) (n int, err error) {
	q := storage.Query{Scope: storage.Scope{Live: live}, Where: contradictedOnly, Limit: orderPage}
	for more := true; more && n < limit; {
		page, left, err := f.index.List(tx, q)
		if err != nil {
			return 0, fmt.Errorf("orders: count contradicted orders: %w", err)
		}
		n += len(page)
		if more = left; more {
			q.After = page[len(page)-1].ID
		}
	}
	return min(n, limit), nil
}
