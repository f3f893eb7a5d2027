package simulation_test

import (
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/subscription"
)

// The subscriptions of a simulation.

// subscribers are what a side knows of its subscriptions.
type subscribers struct {
	plans []string
	// begun counts how often each subscription was made or resumed, by its id.
	begun map[string]int
	ids   []string
}

// maxSubscriptions is how many a side has, since each makes invoices for weeks.
const maxSubscriptions = 3

// subscribe makes, changes, pauses, resumes or cancels a subscription.
func (g *game) subscribe(s *side) {
	ctx, id := g.t.Context(), pick(g, s.subscribers.ids)
	if id == "" || len(s.subscribers.ids) < maxSubscriptions && g.dice.IntN(3) == 0 {
		g.newSubscription(s)
		return
	}
	what := g.dice.IntN(9)
	if is := must.Get(g.svc.Subscriptions.Get(ctx, s.caller, id))(g.t); is.Status == subscription.Paused && g.dice.IntN(2) == 0 {
		what = 6
	}
	switch what {
	case 0, 1, 2, 3:
		p := subscription.UpdateParams{Quantity: new(1 + g.dice.Int64N(4))}
		if g.dice.IntN(2) == 0 {
			p.Plan = new(pick(g, s.subscribers.plans))
		}
		_, _ = g.call("change subscription", s, func(c api.Caller) (string, error) { return id, second(g.svc.Subscriptions.Update(ctx, c, id, p)) })
	case 4, 5:
		_, _ = g.call("pause", s, func(c api.Caller) (string, error) { return id, second(g.svc.Subscriptions.Pause(ctx, c, id)) })
	case 6, 7:
		_, err := g.call("resume", s, func(c api.Caller) (string, error) { return id, second(g.svc.Subscriptions.Resume(ctx, c, id)) })
		if err == nil {
			s.subscribers.begun[id]++
		}
	default:
		p := subscription.CancelParams{AtPeriodEnd: g.dice.IntN(2) == 0}
		_, _ = g.call("cancel subscription", s, func(c api.Caller) (string, error) { return id, second(g.svc.Subscriptions.Cancel(ctx, c, id, p)) })
	}
}

func (g *game) newSubscription(s *side) {
	ctx, who := g.t.Context(), g.customer(s)
	if who == nil {
		g.meet(s)
		return
	}
	for len(s.subscribers.plans) < 2 { // two prices of the same interval
		price := 1 + g.dice.Int64N(40_00)
		id, err := g.call("create plan", s, func(c api.Caller) (string, error) {
			return idOf(g.svc.Plans.Create(ctx, c, catalog.CreatePlanParams{Name: "P", Amount: price, Interval: catalog.Day, IntervalCount: new(int64(12))}))
		})
		if err != nil {
			return
		}
		s.subscribers.plans = append(s.subscribers.plans, id)
	}
	p := subscription.CreateParams{Customer: who.id, Plan: pick(g, s.subscribers.plans), DaysUntilDue: new(g.dice.Int64N(20))}
	if g.dice.IntN(2) == 0 {
		p.CollectionMethod, p.PhoneNumber = invoice.ChargeAutomatically, pick(g, s.numbers)
	}
	if g.dice.IntN(4) == 0 {
		p.TrialPeriodDays = new(1 + g.dice.Int64N(9))
	}
	id, err := g.call("subscribe", s, func(c api.Caller) (string, error) {
		return idOf(g.svc.Subscriptions.Create(ctx, c, p))
	})
	if err == nil {
		s.subscribers.ids = append(s.subscribers.ids, id)
		s.subscribers.begun[id] = 1
	}
}

func (g *game) subscriptionsOf(c api.Caller) []subscription.Subscription {
	return testkit.All(api.All(g.t.Context(), c, subscription.ListParams{}, g.svc.Subscriptions.List))
}

// auditSubscriptions checks that each period has one invoice, and that no credit is lost or made up.
func (g *game) auditSubscriptions(s *side, all []invoice.Invoice) {
	g.t.Helper()
	byID := map[string][]invoice.Invoice{}
	for _, i := range slices.Backward(all) { // the oldest first
		if i.Subscription != nil {
			byID[*i.Subscription] = append(byID[*i.Subscription], i)
		}
	}
	var found []string
	for _, v := range g.subscriptionsOf(s.caller) {
		found = append(found, v.ID)
		begun, credit := 0, int64(0)
		var last *invoice.Period
		for _, i := range byID[v.ID] {
			var period *invoice.Period
			for _, l := range i.Lines.Data {
				givenBack := i.Status == invoice.Void && l.Amount < 0
				if strings.HasPrefix(l.Description, "Credit ") && !givenBack {
					credit += l.Amount
				}
				if l.Period != nil {
					expect.True(g.t, period == nil, "%s is for two periods", i.ID)
					period = l.Period
				}
			}
			if period == nil || !i.InvoiceDate.Equal(time.Unix(period.Start, 0)) {
				g.t.Errorf("%s of %s has the period %v", i.ID, i.InvoiceDate, period)
				continue
			}
			if last == nil || last.End != period.Start {
				begun++
			}
			last = period
		}
		// A subscription that was paused in its trial, or cancelled there, began without an invoice.
		most := s.subscribers.begun[v.ID]
		expect.True(g.t, begun <= most && begun >= most-1 && (begun == most || v.TrialEnd != nil), "%s has invoices of %d rows of periods, and was begun %d times", v.ID, begun, most)
		if last != nil && v.Status != subscription.Trialing {
			expect.True(g.t, v.CurrentPeriodStart == last.Start && v.CurrentPeriodEnd == last.End, "%s is in %d to %d, and was billed for %v", v.ID, v.CurrentPeriodStart, v.CurrentPeriodEnd, last)
		}
		if v.Status == subscription.Cancelled {
			credit = 0
		}
		expect.Equal(g.t, v.CreditBalance, credit, "the credit of %s", v.ID)
	}
	g.sameIDs("subscriptions", s.subscribers.ids, found)
}

// finishSubscriptions checks that none has missed a period, and cancels all, so that the simulation ends.
func (g *game) finishSubscriptions() {
	for _, s := range g.sides {
		deleted := map[string]bool{}
		for _, p := range s.people {
			deleted[p.id] = p.deleted
		}
		for _, v := range g.subscriptionsOf(s.caller) {
			if v.Status == subscription.Cancelled {
				continue
			}
			expect.True(g.t, !deleted[v.Customer], "%s of a deleted customer is %s", v.ID, v.Status)
			if v.Status != subscription.Paused {
				end := time.Unix(v.CurrentPeriodEnd, 0)
				expect.True(g.t, end.After(g.nowOf(s)), "%s is %s, and its period ended at %s", v.ID, v.Status, end)
			}
			_, err := g.svc.Subscriptions.Cancel(g.t.Context(), s.caller, v.ID, subscription.CancelParams{})
			expect.NoError(g.t, err, "cancel %s", v.ID)
		}
	}
}

// toldOfSubscriptions checks the events of subscriptions. ended says that all work is done.
func (g *game) toldOfSubscriptions(s *side, events []event.Event, all []invoice.Invoice, ended bool) {
	facts := map[string][]string{}
	for _, e := range slices.Backward(events) { // the oldest first
		if fact, ok := strings.CutPrefix(string(e.Type), "subscription."); ok {
			id := objectOf(e)
			facts[id] = append(facts[id], fact)
		}
	}
	paid := map[string]int{}
	for _, i := range all {
		if i.Subscription != nil && i.Status == invoice.Paid {
			paid[*i.Subscription]++
		}
	}
	count := func(id, what string) (n int) {
		for _, fact := range facts[id] {
			if fact == what {
				n++
			}
		}
		return n
	}
	for _, v := range g.subscriptionsOf(s.caller) {
		got := facts[v.ID]
		ends := 0
		if v.Status == subscription.Cancelled {
			ends = 1
			at := slices.Index(got, "canceled")
			for _, fact := range got[at+1:] {
				expect.True(g.t, strings.HasPrefix(fact, "payment_"), "%s is cancelled, and was told %v", v.ID, got)
			}
		}
		expect.True(g.t, len(got) > 0 && got[0] == "created" && count(v.ID, "created") == 1 && count(v.ID, "canceled") == ends, "%s is %s, and was told %v", v.ID, v.Status, got)
		n := count(v.ID, "payment_succeeded")
		expect.True(g.t, n == paid[v.ID] || !ended && n < paid[v.ID], "%d invoices of %s are paid, and were told %v", paid[v.ID], v.ID, got)
		for _, fact := range got {
			g.played["told: "+fact]++
		}
	}
}
