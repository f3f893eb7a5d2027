package totals_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/internal/totals"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// order is an order of the test. It is open until it has an outcome.
type order struct {
	Created time.Time   `json:"created"`
	Network string      `json:"network"`
	Outcome api.Outcome `json:"outcome,omitempty"`
	Amount  int64       `json:"amount"`
}

var orders = storage.NewCollection[order]("orders", nil)

// shop is a store of orders, and the service that counts them.
type shop struct {
	t      *testing.T
	store  storage.Store
	engine *engine.Engine
	*totals.Service[order]
}

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func newShop(t *testing.T, store storage.Store) *shop {
	t.Helper()
	must.Do(t, store.Define(t.Context(), append(engine.Kinds(), append(totals.Kinds(), orders.Kind())...)...))
	clock := func() time.Time { return noon }
	s := &shop{t: t, store: store}
	s.engine = &engine.Engine{Store: store, Clock: clock, NewID: ids.New(clock, nil).Make, Log: slog.New(slog.DiscardHandler), Runner: new(work.Runner)}
	s.Service = totals.New(orders, func(o *order) (totals.Ended, bool) {
		return totals.Ended{Created: o.Created, Network: o.Network, Outcome: o.Outcome, Amount: o.Amount}, o.Outcome != ""
	})
	return s
}

// put writes an order without counting it.
func (s *shop) put(scope storage.Scope, id string, o order) {
	s.t.Helper()
	must.Do(s.t, s.store.Update(s.t.Context(), func(tx storage.Tx) error { return testkit.Err(orders.Insert(tx, scope, id, o)) }))
}

// end ends an open order, or changes the outcome of one that has ended.
func (s *shop) end(scope storage.Scope, id string, outcome api.Outcome) error {
	return s.engine.Update(s.t.Context(), api.Caller{Merchant: scope.Merchant, Live: scope.Live}, func(tx *engine.Tx) error {
		o, err := orders.Get(tx, scope, id)
		if err != nil {
			return err
		}
		was := o.Value.Outcome
		o.Value.Outcome = outcome
		if err := orders.Replace(tx, o); err != nil {
			return err
		}
		if was != "" {
			return s.Recount(tx, was, &o.Value)
		}
		return s.Count(tx, &o.Value)
	})
}

// audit compares the totals of a scope with its orders.
func (s *shop) audit(what string, scope storage.Scope) {
	s.t.Helper()
	period := api.Times{From: noon.AddDate(0, 0, -9), Until: noon.AddDate(0, 0, 1)}
	var got []api.DayTotals
	want := map[string]api.Total{}
	must.Do(s.t, s.store.View(s.t.Context(), func(tx storage.ReadTx) error {
		var err error
		if got, err = s.Days(tx, scope, period); err != nil {
			return err
		}
		page, _, err := orders.List(tx, storage.Query{Scope: scope, Limit: 10_000})
		for _, o := range page {
			if o.Value.Outcome != "" {
				key := fmt.Sprint(o.Value.Created.Format(time.DateOnly), o.Value.Network, o.Value.Outcome)
				c := want[key]
				want[key] = api.Total{Network: o.Value.Network, Outcome: o.Value.Outcome, Count: c.Count + 1, Amount: c.Amount + o.Value.Amount}
			}
		}
		return err
	}))
	found := map[string]api.Total{}
	for _, d := range got {
		for _, c := range d.Totals {
			found[fmt.Sprint(d.Day.Format(time.DateOnly), c.Network, c.Outcome)] = c
		}
	}
	expect.Same(s.t, found, want, "%s: %v", what, scope)
}

var (
	outcomes = []api.Outcome{"", api.OutcomeCompleted, api.OutcomeFailed, api.OutcomeCancelled}
	scopes   = []storage.Scope{{Merchant: "mer_1"}, {Merchant: "mer_1", Live: true}, {Merchant: "mer_10"}, {Merchant: "mer_2"}}
)

func random(r *rand.Rand) order {
	return order{
		Created: noon.AddDate(0, 0, -r.IntN(9)), Network: api.Networks()[r.IntN(5)],
		Outcome: outcomes[r.IntN(4)], Amount: 1 + r.Int64N(99_999_999),
	}
}

// Orders that end, and that their provider takes back, count as a list of them does, over every store.
func TestTotalsFollowFromOrders(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		s := newShop(t, store)
		r := rand.New(rand.NewPCG(1, 2))
		for n := range 60 {
			o, scope, id := random(r), scopes[n%len(scopes)], fmt.Sprintf("ord_%02d", n)
			o.Outcome = ""
			s.put(scope, id, o)
			if n%4 > 0 {
				must.Do(t, s.end(scope, id, outcomes[1+r.IntN(3)]))
			}
			if n%4 == 2 {
				must.Do(t, s.end(scope, id, outcomes[1+r.IntN(3)]))
			}
		}
		for _, scope := range scopes {
			s.audit("after the ends", scope)
		}
	})
}

// What a failed commit wrote is not counted.
func TestTotalsRollBack(t *testing.T) {
	faults := faultstore.New(memory.New())
	s := newShop(t, faults)
	s.put(scopes[0], "ord_open", order{Created: noon, Network: "mtn", Amount: 5})
	faults.Each(t, "an end", func() error { return s.end(scopes[0], "ord_open", api.OutcomeCompleted) })
	faults.Each(t, "another end", func() error { return s.end(scopes[0], "ord_open", api.OutcomeFailed) })
	s.audit("after failures", scopes[0])
}

func TestOtherNetworksCountTogether(t *testing.T) {
	s := newShop(t, memory.New())
	s.put(scopes[0], "ord_1", order{Created: noon, Network: "a bank of the host's", Amount: 7})
	must.Do(t, s.end(scopes[0], "ord_1", api.OutcomeCompleted))
	must.Do(t, s.store.View(t.Context(), func(tx storage.ReadTx) error {
		days, err := s.Days(tx, scopes[0], api.Times{From: noon, Until: noon.Add(1)})
		expect.Same(t, days, []api.DayTotals{{
			Day: noon.Truncate(24 * time.Hour), Totals: []api.Total{{Network: api.OtherNetwork, Outcome: api.OutcomeCompleted, Count: 1, Amount: 7}},
		}}, "totals")
		for _, wrong := range []api.Times{{}, {Until: noon}, {From: noon, Until: noon.AddDate(-1, 0, 0)}, {From: noon, Until: noon.AddDate(3, 0, 0)}} {
			testkit.WantCode(t, fmt.Sprint(wrong), testkit.Err(s.Days(tx, scopes[0], wrong)), api.ParameterInvalid)
		}
		return err
	}))
}
