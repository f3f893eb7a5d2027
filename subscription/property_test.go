package subscription_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/test/billmodel"
	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/subscription"
)

// Whatever happens to a subscription, and whenever: it has the periods, the invoices and the amounts that
// the plain model has. Two processes work at the same time, and one of them dies at random.
func TestSubscriptionsFollowThePlainModel(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		effort.SampleChecks(t, 30)
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
	payer string // the id of the customer
	model *billmodel.Calendar
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
		g.plans = append(g.plans, g.plan(int64(1+draw("amount", 50_000)), g.taxed(p)))
		if twin := *g.plans[i]; true { // a second price of the same interval
			p.Name += " twin"
			g.plans = append(g.plans, g.plan(twin.Amount/2+1, g.taxed(p)))
		}
		g.plans[i], g.plans[len(g.plans)-1] = g.plans[len(g.plans)-1], g.plans[i]
	}
	g.Pass(time.Duration(draw("anchor", 366*86_400)) * time.Second)
	g.begin()
	for range 4 + draw("steps", 24) {
		g.step()
		g.compare()
		if g.model.Status == billmodel.Cancelled {
			break
		}
	}
	for range 3 { // what is open stays payable
		g.settle()
		g.catchUp()
		g.compare()
	}
	g.jump(400 * day)
	g.compare()
	problems := must.Get(g.Accounts.Verify(ctx))(t).Problems
	expect.Equal(r, len(problems), 0, "problems of the ledger")
}

// taxed gives a plan one of a few rates, or none.
func (g *game) taxed(p catalog.CreatePlanParams) catalog.CreatePlanParams {
	if rate := g.draw("tax", 4); rate > 0 {
		p.TaxPercent = new(decimal.New(int64(rate)*75, -1)) // 7.5, 15, 22.5
		p.Taxable = new(true)
	}
	return p
}

func (g *game) anyPlan() *catalog.Plan { return g.plans[g.draw("plan", len(g.plans))] }

// termsOf returns what the model reads of a plan.
func termsOf(p *catalog.Plan, quantity int64) (billmodel.Terms, billmodel.Interval) {
	to := billmodel.Terms{Plan: p.ID, Name: p.Name, Amount: p.Amount, Quantity: quantity}
	if p.TaxPercent != nil {
		to.Tax = p.TaxPercent.Rat()
	}
	return to, billmodel.Interval{Unit: string(p.Interval), Count: int(p.IntervalCount)}
}

func (g *game) begin() {
	now := g.Now().Truncate(time.Second)
	p := subscription.CreateParams{Quantity: new(int64(1 + g.draw("quantity", 5))), DaysUntilDue: new(int64(g.draw("days until due", 90)))}
	m := &billmodel.Calendar{DaysUntilDue: int(*p.DaysUntilDue), Now: now}
	plan := g.anyPlan()
	m.Terms, m.Interval = termsOf(plan, *p.Quantity)
	g.model = m
	if g.draw("coupon at once", 3) == 0 {
		p.Coupon = g.coupon()
	}
	var trial time.Time
	if days := g.draw("trial", 60) - 30; days > 0 {
		p.TrialPeriodDays = new(int64(days))
		trial = now.Add(time.Duration(days) * day)
	}
	m.Begin(trial)
	g.payer = g.customer("").ID
	p.Customer, p.Plan = g.payer, plan.ID
	g.id = must.Get(g.Subscriptions.Create(g.t.Context(), g.Caller, p))(g.reporter).ID
	g.catchUp()
	g.compare()
}

func (g *game) step() {
	ctx, m := g.t.Context(), g.model
	switch g.draw("step", 16) {
	case 0:
		g.jump(time.Duration(g.draw("seconds", 86_400)) * time.Second)
	case 1, 2:
		g.jump(time.Duration(g.draw("days", 40))*day + time.Duration(g.draw("seconds", 86_400))*time.Second)
	case 3:
		g.jump(time.Duration(g.draw("long", 500)) * day)
	case 4, 5, 6, 7:
		g.change()
	case 8:
		if m.Status == billmodel.Paused {
			must.Get(g.Subscriptions.Resume(ctx, g.Caller, g.id))(g.reporter)
			m.Resume()
			break
		}
		must.Get(g.Subscriptions.Pause(ctx, g.Caller, g.id))(g.reporter)
		m.Pause()
	case 9, 10, 11:
		g.settle()
	case 12, 13:
		g.giveBack()
	case 14:
		g.discount()
	case 15:
		g.end()
	}
	g.catchUp()
}

// change changes plan and quantity, and now and then puts a coupon on in the same call.
func (g *game) change() {
	m := g.model
	plan, quantity, prorated := g.planOf(m.Terms.Plan), int64(1+g.draw("quantity", 5)), g.draw("prorated", 4) > 0
	if g.draw("which", 2) == 0 {
		plan = g.anyPlan()
	}
	p := subscription.UpdateParams{Plan: &plan.ID, Quantity: &quantity}
	if !prorated {
		p.Proration = subscription.NoProration
	}
	if g.draw("with coupon", 8) == 0 {
		p.Coupon = new(g.coupon())
	}
	must.Get(g.Subscriptions.Update(g.t.Context(), g.Caller, g.id, p))(g.reporter)
	to, interval := termsOf(plan, quantity)
	m.Move(to, interval, prorated)
}

func (g *game) planOf(id string) *catalog.Plan {
	for _, p := range g.plans {
		if p.ID == id {
			return p
		}
	}
	return nil
}

// end ends the subscription, at once or with its period.
func (g *game) end() {
	ctx, m := g.t.Context(), g.model
	switch how := g.draw("how it ends", 6); how {
	case 0, 1:
		atEnd := how == 1
		must.Get(g.Subscriptions.Cancel(ctx, g.Caller, g.id, subscription.CancelParams{AtPeriodEnd: atEnd}))(g.reporter)
		if atEnd {
			m.EndAtPeriodEnd(true)
		} else {
			m.Cancel(m.Now, m.Now)
		}
	case 2:
		must.Get(g.Accounts.DeleteCustomer(ctx, g.Caller, g.payer))(g.reporter)
		m.Cancel(m.Now, m.Now)
	default:
		atEnd := g.draw("at end", 3) > 0
		must.Get(g.Subscriptions.Update(ctx, g.Caller, g.id, subscription.UpdateParams{CancelAtPeriodEnd: &atEnd}))(g.reporter)
		m.EndAtPeriodEnd(atEnd)
	}
}

// settle pays, voids or gives up an open invoice.
func (g *game) settle() {
	ctx, all := g.t.Context(), g.invoices(g.id)
	for i, v := range g.model.Sheets {
		if v.Status != billmodel.Open || g.draw("this one", 2) == 0 {
			continue
		}
		id := all[i].ID
		var err error
		switch g.draw("end", 8) {
		case 0:
			g.model.Void(v.Invoice)
			_, err = g.Invoices.Void(ctx, g.Caller, id)
		case 1:
			v.Status = billmodel.Uncollectible
			_, err = g.Invoices.MarkUncollectible(ctx, g.Caller, id)
		case 2:
			v.Status = billmodel.Paid
			_, err = g.Invoices.Pay(ctx, g.Caller, id, invoice.PayParams{PaidOutOfBand: true})
		default:
			v.Status, v.Payment = billmodel.Paid, v.Total
			phone := []string{"0241234567", "0241234567", "0241230911"}[g.draw("phone", 3)] // the last one's refunds are declined
			_, err = g.Invoices.Pay(ctx, g.Caller, id, invoice.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: phone}})
			must.Do(g.reporter, g.Drain(ctx))
		}
		must.Do(g.reporter, err)
	}
	g.model.Settle()
}

// giveBack refunds a payment, or has the provider take it back.
func (g *game) giveBack() {
	ctx, all := g.t.Context(), g.invoices(g.id)
	var paid []int
	for i, v := range g.model.Sheets {
		if v.Payment > v.Refunded {
			paid = append(paid, i)
		}
	}
	if len(paid) == 0 {
		return
	}
	i := paid[g.draw("of which", len(paid))]
	v, id := g.model.Sheets[i], *all[i].Payment
	if g.draw("reversed", 6) == 0 {
		must.Do(g.reporter, g.Providers.Notify(ctx, id, provider.Result{Outcome: provider.Reversed}))
		v.Refunded = v.Payment
		return
	}
	p := refund.CreateParams{Payment: id}
	if g.draw("a part", 3) > 0 {
		p.Amount = new(int64(1 + g.draw("refunded", int(v.Payment-v.Refunded))))
	}
	made := must.Get(g.Refunds.Create(ctx, g.Caller, p))(g.reporter)
	must.Do(g.reporter, g.Drain(ctx))
	is := must.Get(g.Refunds.Get(ctx, g.Caller, made.ID))(g.reporter)
	must.True(g.reporter, is.Status == refund.Succeeded || is.Status == refund.Failed, "the refund is %s", is.Status)
	if is.Status == refund.Succeeded {
		v.Refunded += is.Amount
	}
}

// discount puts a coupon on or takes it off.
func (g *game) discount() {
	p := subscription.UpdateParams{Coupon: new("")}
	if g.draw("off", 3) == 0 {
		g.model.PutOn(nil)
	} else {
		*p.Coupon = g.coupon()
	}
	must.Get(g.Subscriptions.Update(g.t.Context(), g.Caller, g.id, p))(g.reporter)
}

// coupon makes a coupon, puts it on in the model, and returns its id.
func (g *game) coupon() string {
	is, p := &billmodel.Coupon{}, catalog.CreateCouponParams{Duration: catalog.Forever}
	if g.draw("amount off", 2) == 0 {
		is.Amount = int64(1 + g.draw("off", 60_000))
		p.AmountOff = &is.Amount
	} else {
		share := int64(1 + g.draw("share", 10_000))
		is.Percent, p.PercentOff = big.NewRat(share, 100), new(decimal.New(share, -2))
	}
	switch g.draw("duration", 3) {
	case 0:
		p.Duration, is.Once = catalog.Once, true
	case 1:
		months := 1 + g.draw("months", 12)
		p.Duration, p.DurationInMonths, is.End = catalog.Repeating, new(int64(months)), billmodel.MonthsLater(g.model.Now, months)
	}
	g.model.PutOn(is)
	return must.Get(g.Coupons.Create(g.t.Context(), g.Caller, p))(g.reporter).ID
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
	g.model.GoTo(g.Now().Truncate(time.Second))
	g.adoptDueDates(before)
}

// adoptDueDates takes the due dates of invoices that were made late from the invoices: they are due so many
// days after they were made, which is while the processes worked.
func (g *game) adoptDueDates(before time.Time) {
	all := g.invoices(g.id)
	for i, v := range g.model.Sheets {
		if i >= len(all) || !v.Due.IsZero() {
			continue
		}
		v.Due = all[i].DueDate.UTC()
		made := v.Due.Add(-time.Duration(g.model.DaysUntilDue) * day)
		if made.Equal(v.Date) && before.Sub(v.Date) <= day { // the model's clock is that after the work
			continue
		}
		expect.True(g.reporter, !made.Before(before.Truncate(time.Second)), "the invoice of %s is due as if it had been made at %s, between %s and %s", v.Date, made, before, g.Now())
		expect.True(g.reporter, !made.After(g.Now()), "the invoice of %s is due as if it had been made at %s, between %s and %s", v.Date, made, before, g.Now())
	}
	g.model.GoTo(g.Now().Truncate(time.Second))
}

// sheet is what is compared of an invoice.
func sheet(status any, date time.Time, lines any, discounted bool, start, end time.Time, amounts ...int64) string {
	period := ""
	if !start.IsZero() {
		period = start.UTC().Format(time.DateTime) + " to " + end.UTC().Format(time.DateTime)
	}
	return fmt.Sprint(status, " ", date.UTC().Format(time.DateTime), " ", lines, " ", amounts, " coupon ", discounted, " ", period)
}

// compare compares the subscription with the model.
func (g *game) compare() {
	type shown struct {
		Status                  string
		Start, End, CancelledAt string
		Anchor                  string
		Amount, Quantity        int64
		Credit                  int64
		Discounted              bool
		Invoices                string
	}
	m, is := g.model, must.Get(g.Subscriptions.Get(g.t.Context(), g.Caller, g.id))(g.reporter)
	at := func(t time.Time) string { return t.UTC().Format(time.DateTime) }
	want := shown{
		Status: string(m.Status), Start: at(m.Start), End: at(m.End), Anchor: at(m.Anchor), Amount: m.Terms.Amount, Quantity: m.Terms.Quantity, Credit: m.CreditBalance(),
		Discounted: m.Coupon != nil,
	}
	if !m.CancelledAt.IsZero() {
		want.CancelledAt = at(m.CancelledAt)
	}
	var made, found []string
	for _, v := range m.Sheets {
		var lines []line
		for _, l := range v.Lines {
			lines = append(lines, line{l.Text, l.Amount})
		}
		made = append(made, sheet(v.Status, v.Date, lines, v.Discounted(), v.Start, v.End, v.Subtotal, v.Discount, v.Tax, v.Total, v.Refunded))
	}
	want.Invoices = strings.Join(made, "\n")
	unix := func(n int64) string { return at(time.Unix(n, 0)) }
	got := shown{
		Status: string(is.Status), Start: unix(is.CurrentPeriodStart), End: unix(is.CurrentPeriodEnd), Anchor: unix(is.BillingAnchor), Amount: is.Amount, Quantity: is.Quantity,
		Credit: is.CreditBalance, Discounted: is.Discount != nil,
	}
	if is.CancelledAt != nil {
		got.CancelledAt = unix(*is.CancelledAt)
	}
	all := g.invoices(g.id)
	for i := range all {
		v := &all[i]
		var start, end time.Time
		for _, l := range v.Lines.Data {
			if l.Period != nil {
				start, end = time.Unix(l.Period.Start, 0), time.Unix(l.Period.End, 0)
			}
		}
		found = append(found, sheet(v.Status, v.InvoiceDate.Time, linesOf(v), v.Coupon != nil, start, end, v.Subtotal, v.Discount, v.Tax, v.Total, v.AmountRefunded))
	}
	got.Invoices = strings.Join(found, "\n")
	if len(all) > 0 {
		expect.Equal(g.reporter, *is.LatestInvoice, all[len(all)-1].ID, "the latest invoice")
	}
	must.True(g.reporter, got == want, "the subscription is\n%+v\nand in the model\n%+v", got, want)
}
