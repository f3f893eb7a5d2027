// Package totals keeps how many orders of each day ended how, and their pesewas, so that a page with
// figures of a month reads a few records instead of the orders.
//
// It owns the records of these sums. The packages that store the orders say what counts.
//
// The day is that of an order's creation. So the sums follow from the orders alone, and those of a day are
// those of a list of the orders created on it.
package totals

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Ended is an order that has ended, as it counts.
type Ended struct {
	Created time.Time
	// Network is one of [api.Networks]. Any other text counts as [api.OtherNetwork].
	Network string
	Outcome api.Outcome
	Amount  int64 // pesewas
}

// sums are those of one scope, network and day. The id has the name of the orders, the day and the
// network, so that the records of a period follow each other.
//
// Each network has a record of its own, because the transaction that counts an order decodes and encodes the record
// inside the write turn. The transaction that ends an order also counts it. A worker that counted
// later would have to find what has ended, which costs more: the stores write a record that all
// payments of a commit change once for that commit. docs/notes/performance.md has the figures.
type sums struct {
	Completed sum `json:"completed,omitzero"`
	Failed    sum `json:"failed,omitzero"`
	Cancelled sum `json:"cancelled,omitzero"`
}

type sum struct {
	Count  int64 `json:"count"`
	Amount int64 `json:"amount"`
}

func (s *sums) of(o api.Outcome) *sum {
	switch o {
	case api.OutcomeFailed:
		return &s.Failed
	case api.OutcomeCancelled:
		return &s.Cancelled
	}
	return &s.Completed
}

func (s *sum) add(t sum) {
	s.Count += t.Count
	s.Amount += t.Amount
}

var days = storage.NewCollection[sums]("daily_totals", nil)

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind { return []*storage.Kind{days.Kind()} }

// Service counts the orders of one collection.
type Service[T any] struct {
	orders *storage.Collection[T]
	// ended returns how an order counts, and whether it has ended.
	ended func(*T) (Ended, bool)
}

// New returns the service that counts the orders of a collection. ended returns how an order counts,
// and whether it has ended.
func New[T any](orders *storage.Collection[T], ended func(*T) (Ended, bool)) *Service[T] {
	return &Service[T]{orders: orders, ended: ended}
}

func (s *Service[T]) name() string { return s.orders.Kind().Name }

// Count counts an order of the caller's that ends in this transaction.
func (s *Service[T]) Count(tx *engine.Tx, order *T) error {
	e, ended := s.ended(order)
	if !ended {
		return nil
	}
	return s.add(tx, e, sum{1, e.Amount})
}

// Recount counts an ended order that now ends in another way, such as one that a provider takes back.
func (s *Service[T]) Recount(tx *engine.Tx, was api.Outcome, order *T) error {
	before, _ := s.ended(order)
	before.Outcome = was
	if err := s.add(tx, before, sum{-1, -before.Amount}); err != nil {
		return err
	}
	return s.Count(tx, order)
}

func (s *Service[T]) add(tx *engine.Tx, e Ended, more sum) error {
	o, err := days.GetOrNew(tx, engine.Scope(tx.Caller), s.recordID(e))
	if err == nil {
		o.Value.of(e.Outcome).add(more)
		err = days.Put(tx, o)
	}
	if err != nil {
		return fmt.Errorf("totals: count %s: %w", s.name(), err)
	}
	return nil
}

// recordID returns the id of the record in which an order is counted.
func (s *Service[T]) recordID(e Ended) string {
	network := e.Network
	if !slices.Contains(api.Networks(), network) {
		network = api.OtherNetwork
	}
	return s.firstID(e.Created) + network
}

// firstID returns an id before those of a day's records.
func (s *Service[T]) firstID(day time.Time) string {
	return s.name() + "/" + day.UTC().Format(time.DateOnly) + "/"
}

// MaxDays bounds the days of one call of Days: two years.
const MaxDays = 731

// Days returns the totals of a caller's orders, a day each in ascending order, also of days without
// orders. period is rounded outwards to days.
func (s *Service[T]) Days(tx storage.ReadTx, scope storage.Scope, period api.Times) ([]api.DayTotals, error) {
	from, until := midnight(period.From), midnight(period.Until)
	if until.Before(period.Until) {
		until = until.AddDate(0, 0, 1)
	}
	n := int(until.Sub(from) / (24 * time.Hour))
	if period.From.IsZero() || n < 1 || n > MaxDays {
		return nil, api.Invalid("period", "A period of daily totals has a begin and a later end, and at most %d days.", MaxDays)
	}
	all := make([]api.DayTotals, n)
	for i := range all {
		all[i].Day = from.AddDate(0, 0, i)
	}
	page, _, err := days.List(tx, storage.Query{Scope: scope, Before: s.firstID(from), Limit: n * len(api.Networks())})
	if err != nil {
		return nil, fmt.Errorf("totals: read %s: %w", s.name(), err)
	}
	place := map[string]*sums{}
	for _, o := range page {
		place[o.ID] = &o.Value
	}
	for i := range all {
		for _, network := range api.Networks() {
			found := place[s.firstID(all[i].Day)+network]
			if found == nil {
				continue
			}
			for _, outcome := range []api.Outcome{api.OutcomeCompleted, api.OutcomeFailed, api.OutcomeCancelled} {
				if c := found.of(outcome); *c != (sum{}) {
					all[i].Totals = append(all[i].Totals, api.Total{Network: network, Outcome: outcome, Count: c.Count, Amount: c.Amount})
				}
			}
		}
	}
	return all, nil
}

func midnight(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
