package subscription_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/effort"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/faultstore"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/subscription"
)

// Whatever happens to a subscription, and whenever: it has the periods, the invoices and the amounts that
// the plain model has. Two processes work at the same time, and one of them dies at random.
func TestSubscriptionsFollowThePlainModel(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		effort.SampleChecks(t, 20)
		rapid.Check(t, func(r *rapid.T) {
			play(t, r, testkit.Backends[0].Open(t), func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(r, label) })
		})
	})
	for _, b := range testkit.Backends[1:] {
		t.Run(b.Name, func(t *testing.T) {
			for seed := range effort.Of(uint64(1), uint64(24/b.Every)) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					r := rand.New(rand.NewPCG(seed, 17))
					play(t, t, b.Open(t), func(_ string, n int) int { return r.IntN(n) })
				})
			}
		})
	}
}

// reporter is a *testing.T or a *rapid.T.
type reporter interface {
	must.T
	expect.T
	Log(args ...any)
}

// game is one run of the property.
type game struct {
	*club
	reporter
	draw  func(label string, n int) int
	fault *faultstore.Store
	// other is a second process over the same store, which dies.
	other *payments.Service
	id    string
	model *model
	plans []*catalog.Plan
}

func play(t *testing.T, r reporter, store storage.Store, draw func(string, int) int) {
	g := &game{club: openClubOn(t, store, payments.Config{}), reporter: r, draw: draw, fault: faultstore.New(store)}
	g.other = testkit.New(t, g.fault, payments.Config{Sandbox: true, Clock: g.Now})
	ctx := t.Context()
	counts := map[catalog.Interval]int{catalog.Day: 90, catalog.Week: 9, catalog.Month: 4, catalog.Year: 2}
	for i, interval := range []catalog.Interval{catalog.Day, catalog.Week, catalog.Month, catalog.Month, catalog.Year} {
		p := catalog.CreatePlanParams{Name: fmt.Sprint("Plan ", i), Interval: interval, IntervalCount: new(int64(1 + draw("count", counts[interval])))}
		if interval == catalog.Day {
			*p.IntervalCount += 4 // else a year has too many invoices
		}
		g.plans = append(g.plans, g.plan(int64(1+draw("amount", 50_000)), p))
		if twin := *g.plans[i]; true { // a second price of the same interval
			p.Name += " twin"
			g.plans = append(g.plans, g.plan(twin.Amount/2+1, p))
		}
		g.plans[i], g.plans[len(g.plans)-1] = g.plans[len(g.plans)-1], g.plans[i]
	}
	g.Pass(time.Duration(draw("anchor", 366*86_400)) * time.Second)
	g.begin()
	for range 4 + draw("steps", 16) {
		g.step()
		g.compare()
		if g.model.status == subscription.Cancelled {
			break
		}
	}
	g.jump(400 * day)
	g.compare()
	problems := must.Get(g.Accounts.Verify(ctx))(t).Problems
	expect.Equal(r, len(problems), 0, "problems of the ledger")
}

func (g *game) anyPlan() *catalog.Plan { return g.plans[g.draw("plan", len(g.plans))] }

func (g *game) begin() {
	now := g.Now().Truncate(time.Second)
	p := subscription.CreateParams{Quantity: new(int64(1 + g.draw("quantity", 5))), DaysUntilDue: new(int64(g.draw("days until due", 90)))}
	m := &model{status: subscription.Active, anchor: now, plan: g.anyPlan(), quantity: *p.Quantity, daysUntilDue: int(*p.DaysUntilDue), now: now}
	g.model = m
	if trial := g.draw("trial", 60) - 30; trial > 0 {
		p.TrialPeriodDays = new(int64(trial))
		m.status, m.start, m.end = subscription.Trialing, now, now.Add(time.Duration(trial)*day)
		m.anchor = m.end
	} else {
		m.enter(0, now)
	}
	p.Customer, p.Plan = g.customer("").ID, m.plan.ID
	g.id = must.Get(g.Subscriptions.Create(g.t.Context(), g.Caller, p))(g.reporter).ID
	g.compare()
}

func (g *game) step() {
	ctx, m := g.t.Context(), g.model
	update := func(p subscription.UpdateParams) {
		must.Get(g.Subscriptions.Update(ctx, g.Caller, g.id, p))(g.reporter)
	}
	switch g.draw("step", 10) {
	case 0:
		g.jump(time.Duration(g.draw("seconds", 86_400)) * time.Second)
	case 1, 2:
		g.jump(time.Duration(g.draw("days", 40))*day + time.Duration(g.draw("seconds", 86_400))*time.Second)
	case 3:
		g.jump(time.Duration(g.draw("long", 500)) * day)
	case 4, 5:
		plan, quantity, prorated := m.plan, int64(1+g.draw("quantity", 5)), g.draw("prorated", 4) > 0
		if g.draw("which", 2) == 0 {
			plan = g.anyPlan()
		}
		p := subscription.UpdateParams{Plan: &plan.ID, Quantity: &quantity}
		if !prorated {
			p.Proration = subscription.NoProration
		}
		update(p)
		m.change(plan, quantity, prorated)
	case 6:
		if m.status == subscription.Paused {
			must.Get(g.Subscriptions.Resume(ctx, g.Caller, g.id))(g.reporter)
			m.status, m.anchor = subscription.Active, m.now
			m.enter(0, m.now)
			m.settle()
			return
		}
		must.Get(g.Subscriptions.Pause(ctx, g.Caller, g.id))(g.reporter)
		if m.status == subscription.Trialing {
			m.end, m.anchor = m.now, m.now
		}
		m.status = subscription.Paused
		if m.atEnd {
			m.goTo(m.now)
		}
	case 7, 8:
		g.settle()
	case 9:
		g.discount(update)
	}
	g.catchUp()
}

// settle pays, voids or gives up an open invoice.
func (g *game) settle() {
	all := g.invoices(g.id)
	for i, v := range g.model.invoices {
		if v.status != "open" || g.draw("this one", 2) == 0 {
			continue
		}
		id := all[i].ID
		var err error
		switch g.draw("end", 6) {
		case 0:
			g.model.void(v)
			_, err = g.Invoices.Void(g.t.Context(), g.Caller, id)
		case 1:
			v.status = "uncollectible"
			_, err = g.Invoices.MarkUncollectible(g.t.Context(), g.Caller, id)
		default:
			v.status = "paid"
			_, err = g.Invoices.Pay(g.t.Context(), g.Caller, id, invoice.PayParams{PaidOutOfBand: true})
		}
		must.Do(g.reporter, err)
	}
	g.model.settle()
}

// discount puts a coupon on, takes it off, or has the subscription end with its period.
func (g *game) discount(update func(subscription.UpdateParams)) {
	m := g.model
	kind := g.draw("coupon", 5)
	switch kind {
	case 0:
		m.discount = nil
		update(subscription.UpdateParams{Coupon: new("")})
		return
	case 1:
		m.atEnd = g.draw("at end", 3) > 0
		update(subscription.UpdateParams{CancelAtPeriodEnd: &m.atEnd})
		if m.atEnd && m.status == subscription.Paused {
			m.cancel(m.now)
		}
		return
	}
	share := int64(1 + g.draw("share", 10_000))
	p := catalog.CreateCouponParams{PercentOff: new(decimal.New(share, -2)), Duration: catalog.Forever}
	m.discount = &reduction{share: share}
	switch kind {
	case 2:
		p.Duration, m.discount.once = catalog.Once, true
	case 3:
		months := 1 + g.draw("months", 12)
		p.Duration, p.DurationInMonths, m.discount.end = catalog.Repeating, new(int64(months)), monthsLater(m.now, months)
	}
	coupon := must.Get(g.Coupons.Create(g.t.Context(), g.Caller, p))(g.reporter)
	update(subscription.UpdateParams{Coupon: &coupon.ID})
}

func (g *game) jump(d time.Duration) {
	g.Pass(d)
	g.catchUp()
}

// catchUp has both processes work until nothing is left. One of them dies at a random place; what it has
// leased is free 15 seconds later.
func (g *game) catchUp() {
	before := g.Now()
	switch n := 1 + g.draw("death", 60); g.draw("how", 4) {
	case 0:
		g.fault.LoseAt(n)
	case 1:
		g.fault.FailAt(n)
	case 2: // it lives
	case 3:
		n = 0 // it does not run at all
	}
	var both sync.WaitGroup
	both.Go(func() { _ = g.other.Drain(g.t.Context()) })
	both.Go(func() { _ = g.Drain(g.t.Context()) })
	both.Wait()
	g.fault.Heal()
	g.Pass(16 * time.Second)
	must.Do(g.reporter, g.Drain(g.t.Context()))
	g.model.goTo(g.Now().Truncate(time.Second))
	g.adoptDueDates(before)
}

// adoptDueDates takes the due dates of invoices that were made late from the invoices: they are due so many
// days after they were made, which is while the processes worked.
func (g *game) adoptDueDates(before time.Time) {
	all := g.invoices(g.id)
	for i, v := range g.model.invoices {
		if i >= len(all) || !v.due.IsZero() {
			continue
		}
		v.due = all[i].DueDate.UTC()
		made := v.due.Add(-time.Duration(g.model.daysUntilDue) * day)
		if made.Equal(v.start) && before.Sub(v.start) <= day { // the model's clock is that after the work
			continue
		}
		expect.True(g.reporter, !made.Before(before.Truncate(time.Second)) && !made.After(g.Now()), "the invoice of %s is due as if it had been made at %s, between %s and %s", v.date, made, before, g.Now())
	}
	g.model.goTo(g.Now().Truncate(time.Second))
}

// compare compares the subscription with the model.
func (g *game) compare() {
	type shown struct {
		Status                  subscription.Status
		Start, End, CancelledAt string
		Anchor                  string
		Amount, Quantity        int64
		Credit                  int64
		Discounted              bool
		Invoices                []string
	}
	m, is := g.model, must.Get(g.Subscriptions.Get(g.t.Context(), g.Caller, g.id))(g.reporter)
	at := func(t time.Time) string { return t.UTC().Format(time.DateTime) }
	want := shown{
		Status: m.status, Start: at(m.start), End: at(m.end), Anchor: at(m.anchor), Amount: m.plan.Amount, Quantity: m.quantity, Credit: m.credit,
		Discounted: m.discount != nil,
	}
	if !m.cancelledAt.IsZero() {
		want.CancelledAt = at(m.cancelledAt)
	}
	for _, v := range m.invoices {
		want.Invoices = append(want.Invoices, fmt.Sprint(v.status, " ", at(v.date), " ", v.lines, " ", v.total, " ", at(v.start), " ", at(v.end)))
	}
	unix := func(n int64) string { return at(time.Unix(n, 0)) }
	got := shown{
		Status: is.Status, Start: unix(is.CurrentPeriodStart), End: unix(is.CurrentPeriodEnd), Anchor: unix(is.BillingAnchor), Amount: is.Amount, Quantity: is.Quantity,
		Credit: is.CreditBalance, Discounted: is.Discount != nil,
	}
	if is.CancelledAt != nil {
		got.CancelledAt = unix(*is.CancelledAt)
	}
	all := g.invoices(g.id)
	for i := range all {
		v := &all[i]
		var period *invoice.Period
		for _, l := range v.Lines.Data {
			if l.Period != nil {
				period = l.Period
			}
		}
		got.Invoices = append(got.Invoices, fmt.Sprint(v.Status, " ", at(v.InvoiceDate.Time), " ", linesOf(v), " ", v.Total, " ", unix(period.Start), " ", unix(period.End)))
	}
	if len(all) > 0 {
		expect.Equal(g.reporter, *is.LatestInvoice, all[len(all)-1].ID, "the latest invoice")
	}
	expect.Same(g.reporter, got, want, "the subscription")
	must.True(g.reporter, fmt.Sprint(got) == fmt.Sprint(want), "it differs from the model")
}
