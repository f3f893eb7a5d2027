package simulation_test

import (
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/subscription"
)

// The subscriptions of a simulation.

// subscribers are what a side knows of its subscriptions.
type subscribers struct {
	plans []string
	// begun counts how often each subscription was made or resumed, by its id.
	begun map[string]int
	ids   []string
	// coupons are those that callers put on subscriptions, without a limit.
	coupons []string
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
	what := g.dice.IntN(16)
	if is := must.Get(g.svc.Subscriptions.Get(ctx, s.caller, id))(g.t); is.Status == subscription.Paused && g.dice.IntN(2) == 0 {
		what = 6
	}
	switch what {
	case 0, 1, 2, 3, 9, 10:
		p := subscription.UpdateParams{Quantity: new(1 + g.dice.Int64N(4)), Metadata: map[string]any{unprorated: nil}}
		if g.dice.IntN(2) == 0 {
			p.Plan = new(pick(g, s.subscribers.plans))
		}
		if g.dice.IntN(5) == 0 {
			p.Proration, p.Metadata[unprorated] = subscription.NoProration, true
		}
		_, _ = g.call("change subscription", s, func(c api.Caller) (string, error) { return id, second(g.svc.Subscriptions.Update(ctx, c, id, p)) })
	case 4, 5:
		_, _ = g.call("pause", s, func(c api.Caller) (string, error) { return id, second(g.svc.Subscriptions.Pause(ctx, c, id)) })
	case 6, 7:
		_, err := g.call("resume", s, func(c api.Caller) (string, error) { return id, second(g.svc.Subscriptions.Resume(ctx, c, id)) })
		if err == nil {
			s.subscribers.begun[id]++
		}
	case 11, 12:
		g.putOn(s, id)
	case 13, 14, 15:
		g.collectPeriod(s, id)
	default:
		p := subscription.CancelParams{AtPeriodEnd: g.dice.IntN(2) == 0}
		_, _ = g.call("cancel subscription", s, func(c api.Caller) (string, error) { return id, second(g.svc.Subscriptions.Cancel(ctx, c, id, p)) })
	}
}

// putOn puts a coupon on a subscription, or takes it off.
func (g *game) putOn(s *side, id string) {
	ctx, p := g.t.Context(), subscription.UpdateParams{Coupon: new("")}
	if g.dice.IntN(3) > 0 {
		if len(s.subscribers.coupons) == 0 || g.dice.IntN(4) == 0 {
			terms := catalog.CreateCouponParams{Duration: []catalog.Duration{catalog.Once, catalog.Forever, catalog.Repeating}[g.dice.IntN(3)]}
			if terms.Duration == catalog.Repeating {
				terms.DurationInMonths = new(int64(1))
			}
			if g.dice.IntN(2) == 0 {
				terms.AmountOff = new(1 + g.dice.Int64N(60_00))
			} else {
				terms.PercentOff = new(decimal.New(1+g.dice.Int64N(100_00), -2))
			}
			if g.keep(&s.subscribers.coupons, "create coupon of subscriptions", s, func(c api.Caller) (string, error) {
				return idOf(g.svc.Coupons.Create(ctx, c, terms))
			}) == "" {
				return
			}
		}
		p.Coupon = new(pick(g, s.subscribers.coupons))
	}
	_, _ = g.call("put coupon on", s, func(c api.Caller) (string, error) { return id, second(g.svc.Subscriptions.Update(ctx, c, id, p)) })
}

// collectPeriod pays an invoice of a subscription, voids it, gives it up or refunds it.
func (g *game) collectPeriod(s *side, subscription string) {
	ctx := g.t.Context()
	all := slices.DeleteFunc(g.invoicesOf(s.caller), func(v invoice.Invoice) bool { return v.Subscription == nil || *v.Subscription != subscription })
	if len(all) == 0 {
		return
	}
	v := all[g.dice.IntN(min(len(all), 3))] // of the newest
	if v.Status == invoice.Paid && v.Payment != nil {
		p := refund.CreateParams{Invoice: v.ID, Amount: new(1 + g.dice.Int64N(v.AmountPaid))}
		g.keep(&s.refunds, "refund", s, func(c api.Caller) (string, error) { return idOf(g.svc.Refunds.Create(ctx, c, p)) })
		return
	}
	switch g.dice.IntN(6) {
	case 0:
		_, _ = g.call("void", s, func(c api.Caller) (string, error) { return v.ID, second(g.svc.Invoices.Void(ctx, c, v.ID)) })
	case 1:
		_, _ = g.call("mark uncollectible", s, func(c api.Caller) (string, error) {
			return v.ID, second(g.svc.Invoices.MarkUncollectible(ctx, c, v.ID))
		})
	case 2, 3:
		g.payInvoiceFromPhone(s, v.ID)
	default:
		g.payInvoiceFromWallet(s, v.ID)
	}
}

func (g *game) newSubscription(s *side) {
	ctx, who := g.t.Context(), g.customer(s)
	if who == nil {
		g.meet(s)
		return
	}
	for n := len(s.subscribers.plans); n < 3; n = len(s.subscribers.plans) { // two prices of the same interval, and another one
		p := catalog.CreatePlanParams{Name: "P", Amount: 1 + g.dice.Int64N(40_00), Interval: catalog.Day, IntervalCount: new([]int64{12, 12, 9}[n])}
		if g.dice.IntN(2) == 0 {
			p.Taxable, p.TaxPercent = new(true), new(decimal.New(1+g.dice.Int64N(30_00), -2))
		}
		id, err := g.call("create plan", s, func(c api.Caller) (string, error) {
			return idOf(g.svc.Plans.Create(ctx, c, p))
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

// auditSubscriptions checks that each period has one invoice, and the amounts by the plain model.
func (g *game) auditSubscriptions(s *side, all []invoice.Invoice) {
	g.t.Helper()
	byID := map[string][]invoice.Invoice{}
	for _, i := range slices.Backward(all) { // the oldest first
		if i.Subscription != nil {
			byID[*i.Subscription] = append(byID[*i.Subscription], i)
		}
	}
	var found []string
	subscriptions := g.subscriptionsOf(s.caller)
	g.auditBooks(s, subscriptions)
	for _, v := range subscriptions {
		found = append(found, v.ID)
		begun := 0
		var last *invoice.Period
		for _, i := range byID[v.ID] {
			var period *invoice.Period
			for _, l := range i.Lines.Data {
				if l.Period != nil {
					expect.True(g.t, period == nil, "%s is for two periods", i.ID)
					period = l.Period
				}
			}
			if period == nil && v.CancelledAt != nil && i.InvoiceDate.Equal(time.Unix(*v.CancelledAt, 0)) {
				expect.Equal(g.t, i.ID, *v.LatestInvoice, "the final invoice of %s", v.ID)
				continue
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
		most := s.subscribers.begun[v.ID] + s.books.of[v.ID].cut
		expect.True(g.t, begun <= most && begun >= most-1, "%s has invoices of %d rows of periods, and was begun %d times", v.ID, begun, most)
		expect.True(g.t, begun == most || v.TrialEnd != nil, "%s of no trial has invoices of %d rows of periods, and was begun %d times", v.ID, begun, most)
		if last != nil && v.Status != subscription.Trialing {
			expect.Equal(g.t, v.CurrentPeriodStart, last.Start, "start of the period of %s, as billed", v.ID)
			expect.Equal(g.t, v.CurrentPeriodEnd, last.End, "end of the period of %s, as billed", v.ID)
		}
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
		must.True(g.t, len(got) > 0, "%s is %s, and was told nothing", v.ID, v.Status)
		expect.Equal(g.t, got[0], "created", "the first that %s, %s, was told of %v", v.ID, v.Status, got)
		expect.Equal(g.t, count(v.ID, "created"), 1, "how often %s, %s, was told created", v.ID, v.Status)
		expect.Equal(g.t, count(v.ID, "canceled"), ends, "how often %s, %s, was told canceled", v.ID, v.Status)
		n := count(v.ID, "payment_succeeded")
		expect.True(g.t, n == paid[v.ID] || !ended && n < paid[v.ID], "%d invoices of %s are paid, and were told %v", paid[v.ID], v.ID, got)
		for _, fact := range got {
			g.played["told: "+fact]++
		}
	}
}
