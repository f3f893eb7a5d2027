package totals_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/faultstore"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
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
	s.restart()
	return s
}

// restart is another process over the same store.
func (s *shop) restart() {
	s.Service = totals.New(s.engine, orders, func(o *order) (totals.Ended, bool) {
		return totals.Ended{Created: o.Created, Network: o.Network, Outcome: o.Outcome, Amount: o.Amount}, o.Outcome != ""
	})
}

// put writes an order without counting it, as an earlier release does.
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
			return s.Recount(tx, id, was, &o.Value)
		}
		return s.Count(tx, id, &o.Value)
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

// Orders of an earlier release are counted once, though orders end before and behind the place of
// the pass, are made meanwhile, and their process is another.
func TestRebuildCountsEachOrderOnce(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		s := newShop(t, store)
		r := rand.New(rand.NewPCG(1, 2))
		var open []string
		id := func(n int) string { return fmt.Sprintf("ord_%04d", n) }
		const old = 2 * totals.RebuildPage
		for n := range old {
			o := random(r)
			s.put(scopes[n%len(scopes)], id(n), o)
			if o.Outcome == "" {
				open = append(open, id(n))
			}
		}
		must.Do(t, s.Prepare(t.Context()))
		must.Do(t, s.Prepare(t.Context())) // of the next process
		next := old
		for more := true; more; {
			for range 5 { // ended, and made and ended, beside the pass
				if len(open) > 0 {
					at := r.IntN(len(open))
					var n int
					must.Get(fmt.Sscanf(open[at], "ord_%d", &n))(t)
					must.Do(t, s.end(scopes[n%len(scopes)], open[at], outcomes[1+r.IntN(3)]))
					open = append(open[:at], open[at+1:]...)
				}
				scope := scopes[next%len(scopes)]
				o := random(r)
				o.Outcome = ""
				s.put(scope, id(next), o)
				must.Do(t, s.end(scope, id(next), outcomes[1+r.IntN(3)]))
				must.Do(t, s.end(scope, id(next), outcomes[1+r.IntN(3)])) // the provider took it back
				next++
			}
			s.restart()
			more = must.Get(s.Step(t.Context()))(t)
		}
		for _, scope := range scopes {
			s.audit("after the pass", scope)
		}
		s.put(scopes[0], "ord_zzz", order{Created: noon, Network: "mtn", Amount: 1})
		must.Do(t, s.end(scopes[0], "ord_zzz", api.OutcomeFailed))
		s.audit("afterwards", scopes[0])
	})
}

// What a failed commit wrote is not counted, by the pass and by a call.
func TestTotalsRollBack(t *testing.T) {
	faults := faultstore.New(memory.New())
	s := newShop(t, faults)
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 30 {
		s.put(scopes[n%len(scopes)], fmt.Sprintf("ord_%02d", n), random(r))
	}
	s.put(scopes[0], "ord_open", order{Created: noon, Network: "mtn", Amount: 5})
	must.Do(t, s.Prepare(t.Context()))
	faults.Each(t, "an end", func() error { return s.end(scopes[0], "ord_open", api.OutcomeCompleted) })
	faults.Each(t, "a step", func() error { return testkit.Err(s.Step(t.Context())) })
	must.Get(s.Step(t.Context()))(t)
	faults.Each(t, "an end after the pass", func() error { return s.end(scopes[0], "ord_open", api.OutcomeFailed) })
	for _, scope := range scopes {
		s.audit("after failures", scope)
	}
}

// A store without orders needs no pass.
func TestNewStoreCountsAtOnce(t *testing.T) {
	s := newShop(t, memory.New())
	must.Do(t, s.Prepare(t.Context()))
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
