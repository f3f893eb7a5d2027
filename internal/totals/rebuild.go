package totals

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

const (
	// RebuildPage is how many orders one transaction of a rebuild reads. Writers wait for it.
	RebuildPage = 200
	// rebuildLimit bounds one run of the worker. The worker uses half of it.
	rebuildLimit = time.Minute
)

// rebuild is the place of the pass over the orders that ended before they were counted. Its id is
// the name of their kind. The sums have what has ended among the orders up to the place. What ends
// behind the place is not counted when it ends, because the pass comes there later. So every order is
// counted once, whatever dies or runs beside the pass.
type rebuild struct {
	// Due wakes the worker; nil once the pass has ended.
	Due   *api.Time     `json:"due,omitempty"`
	Scope storage.Scope `json:"scope,omitzero"`
	ID    string        `json:"id,omitempty"`
}

var rebuilds = storage.NewCollection("daily_total_rebuilds", []storage.Field[rebuild]{
	storage.NullTimeColumn("due", func(r *rebuild) *api.Time { return r.Due }),
}, storage.DueBy("due"))

// covers reports whether the pass has done an order. Orders are in the order of Scan in [storage.ReadTx].
func (r *rebuild) covers(scope storage.Scope, id string) bool {
	if r.Due == nil {
		return true
	}
	c := strings.Compare(scope.Merchant, r.Scope.Merchant)
	switch {
	case c != 0:
		return c < 0
	case scope.Live != r.Scope.Live:
		return r.Scope.Live
	}
	return id <= r.ID
}

// counts reports whether an order is to be counted now.
func (s *Service[T]) counts(tx *engine.Tx, scope storage.Scope, id string) (bool, error) {
	if s.rebuilt.Load() {
		return true, nil
	}
	o, err := rebuilds.Get(tx, storage.Scope{}, s.name())
	if err != nil {
		return false, fmt.Errorf("totals: read place: %w", err)
	}
	if o.Value.Due == nil {
		tx.OnCommit(func() { s.rebuilt.Store(true) })
	}
	return o.Value.covers(scope, id), nil
}

// Prepare begins the pass over the orders of an earlier release, unless that is done or there are
// none. Every process calls it before it counts.
func (s *Service[T]) Prepare(ctx context.Context) error {
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		_, err := rebuilds.Get(tx, storage.Scope{}, s.name())
		return err
	})
	if !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	return s.engine.Store.Update(ctx, func(tx storage.Tx) error {
		r := rebuild{Due: new(api.At(s.engine.Clock()))}
		first, err := tx.Scan(s.orders.Kind(), storage.Scope{}, "", 1)
		if err != nil {
			return err
		}
		if len(first) == 0 {
			r.Due = nil
		}
		_, err = rebuilds.Insert(tx, storage.Scope{}, s.name(), r)
		if errors.Is(err, storage.ErrExists) {
			return nil // another process was faster
		}
		return err
	})
}

// Counted is a [Service] of any orders.
type Counted interface {
	Prepare(ctx context.Context) error

	name() string
	Step(ctx context.Context) (more bool, err error)
}

// Job returns the job that makes the totals of earlier orders.
func Job(services ...Counted) work.Job {
	return work.Job{
		Kind: rebuilds.Kind(), Timeout: rebuildLimit, Batch: 1,
		RunBatch: func(ctx context.Context, records []storage.Record) error {
			for _, s := range services {
				for more := s.name() == records[0].ID; more && !work.HalfOver(ctx, rebuildLimit); {
					var err error
					if more, err = s.Step(ctx); err != nil {
						return fmt.Errorf("totals: rebuild %s: %w", s.name(), err)
					}
				}
			}
			return nil
		},
	}
}

// Step counts the next orders, and moves the place.
func (s *Service[T]) Step(ctx context.Context) (more bool, err error) {
	err = s.engine.Store.Update(ctx, func(tx storage.Tx) error {
		more = false
		place, err := rebuilds.Get(tx, storage.Scope{}, s.name())
		if err != nil || place.Value.Due == nil {
			return err
		}
		page, err := tx.Scan(s.orders.Kind(), place.Value.Scope, place.Value.ID, RebuildPage)
		if err != nil {
			return err
		}
		type key struct {
			scope storage.Scope
			id    string
		}
		found := map[key]*sums{}
		for _, r := range page {
			place.Value.Scope, place.Value.ID = r.Scope, r.ID
			o, err := s.orders.Decode(r)
			if err != nil {
				continue // an unreadable record counts for nothing
			}
			e, ended := s.ended(&o.Value)
			if !ended {
				continue
			}
			k := key{r.Scope, s.recordID(e)}
			if found[k] == nil {
				found[k] = &sums{}
			}
			found[k].of(e.Outcome).add(sum{1, e.Amount})
		}
		for k, more := range found {
			if err := s.addTo(tx, k.scope, k.id, *more); err != nil {
				return err
			}
		}
		if more = len(page) == RebuildPage; !more {
			place.Value.Due = nil // nothing follows, and this transaction is serializable
		}
		return rebuilds.Replace(tx, place)
	})
	return more, err
}
