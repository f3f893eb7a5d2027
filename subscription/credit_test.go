package subscription_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/subscription"
)

// charge pays an invoice through the charger, so that it can be refunded.
func (c *club) charge(id string) {
	c.t.Helper()
	must.Get(c.Invoices.Pay(c.t.Context(), c.Caller, id, invoice.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: "0241234567"}}))(c.t)
	c.work()
	expect.Equal(c.t, c.invoice(id).Status, invoice.Paid, "the invoice")
}

const week = 7 * day

func (c *club) refund(invoice string, amount int64) {
	c.t.Helper()
	must.Get(c.Refunds.Create(c.t.Context(), c.Caller, refund.CreateParams{Invoice: invoice, Amount: &amount}))(c.t)
	c.work()
}

func (c *club) quantity(id string, n int64) {
	c.t.Helper()
	c.update(id, subscription.UpdateParams{Quantity: &n})
}

func (c *club) coupon(p catalog.CreateCouponParams) string {
	c.t.Helper()
	return must.Get(c.Coupons.Create(c.t.Context(), c.Caller, p))(c.t).ID
}

// fortnight is a plan of 14 days, so that its middle is a week.
func (c *club) fortnight(amount int64) *catalog.Plan {
	return c.plan(amount, catalog.CreatePlanParams{Interval: catalog.Week, IntervalCount: new(int64(2))})
}

// One and two and one again costs nothing, whatever the coupon is, and however far the payment is.
func TestChangeAndItsReversalNetToNothing(t *testing.T) {
	coupons := map[string]*catalog.CreateCouponParams{
		"none":               nil,
		"percent once":       {PercentOff: new(decimalOf(50))},
		"percent repeating":  {PercentOff: new(decimalOf(33)), Duration: catalog.Repeating, DurationInMonths: new(int64(2))},
		"percent forever":    {PercentOff: new(decimalOf(50)), Duration: catalog.Forever},
		"amount once":        {AmountOff: new(int64(77_77))},
		"amount forever":     {AmountOff: new(int64(100_00)), Duration: catalog.Forever},
		"more than a period": {AmountOff: new(int64(450_00)), Duration: catalog.Forever},
	}
	for name, p := range coupons {
		for _, state := range []string{"paid", "open", "being charged"} {
			t.Run(name+"/"+state, func(t *testing.T) {
				c := openClub(t, payments.Config{})
				params := subscription.CreateParams{}
				if p != nil {
					params.Coupon = c.coupon(*p)
				}
				if state == "being charged" {
					params.CollectionMethod, params.PhoneNumber = invoice.ChargeAutomatically, "0241110903"
				}
				made := c.subscribe(c.fortnight(300_00), params)
				c.work()
				if v := c.invoice(*made.LatestInvoice); state == "paid" && v.Status == invoice.Open {
					c.charge(v.ID)
				}
				c.pass(week)
				for _, n := range []int64{2, 3, 1, 2, 1} {
					c.quantity(made.ID, n)
				}
				c.passTo(made.CurrentPeriodEnd)
				all := c.invoices(made.ID)
				must.True(t, len(all) == 2, "%d invoices", len(all))
				var changes int64
				for _, l := range all[1].Lines.Data {
					if l.Period == nil {
						changes += l.Amount
						expect.Equal(t, l.DiscountShare, 0, "the discount of a line that carries it")
					}
				}
				expect.Equal(t, changes, 0, "what the changes cost")
			})
		}
	}
}

// A coupon for several invoices that is put on in mid-period reduces the changes after it. Taken off again, it
// leaves the discount of the period's invoice.
func TestChangesTakeCouponOfPeriod(t *testing.T) {
	c := openClub(t, payments.Config{})
	half, fifth, once := c.coupon(catalog.CreateCouponParams{PercentOff: new(decimalOf(50)), Duration: catalog.Forever}),
		c.coupon(catalog.CreateCouponParams{PercentOff: new(decimalOf(20)), Duration: catalog.Forever}),
		c.coupon(catalog.CreateCouponParams{AmountOff: new(int64(10_00))})
	made := c.subscribe(c.fortnight(300_00), subscription.CreateParams{Coupon: fifth})
	c.pass(week)
	c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(2)), Coupon: &half})
	c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(3)), Coupon: &once})
	c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(2)), Coupon: new("")})
	c.passTo(made.CurrentPeriodEnd)
	expect.Same(t, linesOf(&c.invoices(made.ID)[1]), []line{
		{"Unused time on Gold", -120_00},
		{"Remaining time on Gold", 150_00}, // 20% off 300.00, 50% off 600.00
		{"Unused time on Gold", -150_00},
		{"Remaining time on Gold", 360_00}, // 20% off 900.00
		{"Unused time on Gold", -360_00},
		{"Remaining time on Gold", 240_00},
		{"Gold", 600_00},
	}, "the lines")
}

// A credit is worth what was kept of the payment that it credits, with its tax, wherever it is and whenever
// that is given back.
func TestCreditFollowsPayment(t *testing.T) {
	type shop struct {
		*club
		sub   *subscription.Subscription
		first string
		plan  func(name string, amount int64) *catalog.Plan
		tax   int64 // in percent
	}
	taxed := func(s *shop, amount int64) int64 { return amount + amount*s.tax/100 }
	refunded := func(s *shop) { s.refund(s.first, taxed(s, 50_00)); s.refund(s.first, taxed(s, 100_00)) }
	downgraded := func(s *shop) { s.update(s.sub.ID, subscription.UpdateParams{Plan: new(s.plan("Basic", 10_00).ID)}) }
	renewed := func(s *shop) { s.passTo(s.sub.CurrentPeriodEnd) }
	reversed := func(s *shop) {
		paid := *s.invoice(s.first).Payment
		must.Do(s.t, s.Providers.Notify(s.t.Context(), paid, provider.Result{Outcome: provider.Reversed}))
		s.work()
	}
	for name, test := range map[string]struct {
		steps []func(*shop)
		// credit is what is left of the credit balance after the renewal, before tax: the credit less 5.00
		// and 10.00.
		credit int64
	}{
		"kept":                          {[]func(*shop){downgraded, renewed}, 135_00},
		"refunded before the change":    {[]func(*shop){refunded, downgraded, renewed}, 60_00},
		"refunded while the line waits": {[]func(*shop){downgraded, refunded, renewed}, 60_00},
		"refunded afterwards":           {[]func(*shop){downgraded, renewed, refunded}, 60_00},
		"reversed while the line waits": {[]func(*shop){downgraded, reversed, renewed}, 0},
		"reversed afterwards":           {[]func(*shop){downgraded, renewed, reversed}, 0},
	} {
		for _, tax := range []int64{0, 20} {
			t.Run(fmt.Sprintf("%s/tax %d", name, tax), func(t *testing.T) {
				c := openClub(t, payments.Config{})
				plan := func(name string, amount int64) *catalog.Plan {
					return c.plan(amount, catalog.CreatePlanParams{
						Name: name, Interval: catalog.Week, IntervalCount: new(int64(2)), Taxable: new(true), TaxPercent: new(decimalOf(tax)),
					})
				}
				made := c.subscribe(plan("Gold", 300_00), subscription.CreateParams{})
				s := &shop{c, made, *made.LatestInvoice, plan, tax}
				c.charge(s.first)
				c.pass(week)
				for _, step := range test.steps {
					step(s)
				}
				expect.Equal(t, c.get(made.ID).CreditBalance, taxed(s, test.credit), "the credit balance")
				if rest := c.invoice(s.first).AmountPaid - c.invoice(s.first).AmountRefunded; rest > 0 {
					c.refund(s.first, rest)
				}
				expect.Equal(t, c.get(made.ID).CreditBalance, 0, "the credit balance after all was given back")
				c.Verified()
			})
		}
	}
}

// What an invoice has used of a credit stays used. A void gives back what the credit is worth by then.
func TestUsedCreditStaysUsed(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.subscribe(c.fortnight(300_00), subscription.CreateParams{})
	first := *made.LatestInvoice
	c.charge(first)
	c.pass(week)
	c.update(made.ID, subscription.UpdateParams{Plan: new(c.plan(10_00, catalog.CreatePlanParams{Name: "Basic", Interval: catalog.Week, IntervalCount: new(int64(2))}).ID)})
	c.passTo(made.CurrentPeriodEnd) // -150 + 5 + 10
	c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(20)), Proration: subscription.NoProration})
	c.passTo(c.get(made.ID).CurrentPeriodEnd)
	is := c.get(made.ID)
	second := c.invoice(*is.LatestInvoice)
	must.True(t, second.Total == 65_00 && is.CreditBalance == 0, "total %d, credit %d", second.Total, is.CreditBalance)
	c.told()
	c.refund(first, 150_00)
	expect.Equal(t, c.get(made.ID).CreditBalance, 0, "credit that is used")
	expect.Equal(t, c.invoice(second.ID).Total, 65_00, "an invoice that has used it")
	c.wantTold()
	must.Get(c.Invoices.Void(t.Context(), c.Caller, second.ID))(t)
	expect.Equal(t, c.get(made.ID).CreditBalance, 60_00, "the credit that comes back")
	c.refund(first, 150_00)
	expect.Equal(t, c.get(made.ID).CreditBalance, 0, "the credit")
}

// A credit that an invoice has used as a line comes back by a void at what it is worth by then.
func TestVoidGivesBackLinesAtTheirWorth(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.subscribe(c.fortnight(300_00), subscription.CreateParams{})
	first := *made.LatestInvoice
	c.charge(first)
	c.pass(week)
	c.update(made.ID, subscription.UpdateParams{Plan: new(c.plan(200_00, catalog.CreatePlanParams{Name: "Basic", Interval: catalog.Week, IntervalCount: new(int64(2))}).ID)})
	c.passTo(made.CurrentPeriodEnd)
	second := c.invoices(made.ID)[1]
	must.True(t, second.Total == 150_00, "total %d", second.Total) // -150 + 100 + 200
	c.refund(first, 150_00)
	must.Get(c.Invoices.Void(t.Context(), c.Caller, second.ID))(t)
	c.passTo(c.get(made.ID).CurrentPeriodEnd)
	expect.Same(t, linesOf(&c.invoices(made.ID)[2]), []line{{"Unused time on Gold", -75_00}, {"Remaining time on Basic", 100_00}, {"Basic", 200_00}}, "the lines")
}

// A refund leaves a credit without which the next invoice would be too much for one.
func TestRefundLeavesCreditThatNextInvoiceNeeds(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.subscribe(c.fortnight(600_000_00), subscription.CreateParams{})
	first := *made.LatestInvoice
	c.charge(first)
	c.pass(week)
	c.update(made.ID, subscription.UpdateParams{Plan: new(c.plan(700_000_00, catalog.CreatePlanParams{Name: "Platinum", Interval: catalog.Week, IntervalCount: new(int64(2))}).ID)})
	c.refund(first, 600_000_00)
	c.passTo(made.CurrentPeriodEnd)
	all := c.invoices(made.ID)
	must.True(t, len(all) == 2, "%d invoices", len(all))
	expect.Same(t, linesOf(&all[1]), []line{{"Unused time on Gold", -300_000_00}, {"Remaining time on Platinum", 350_000_00}, {"Platinum", 700_000_00}}, "the lines")
}

// The lines that a voided invoice gives back become credit if the next invoice has no room for them.
func TestVoidGivesBackManyLinesAsCredit(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.subscribe(c.fortnight(300_00), subscription.CreateParams{Quantity: new(int64(2))})
	c.charge(*made.LatestInvoice)
	c.pass(week)
	for _, n := range []int64{3, 1} { // two lines each, 126 in all, which come to -150.00
		for range 31 {
			c.quantity(made.ID, n)
			c.quantity(made.ID, 4-n)
		}
	}
	c.quantity(made.ID, 1)
	c.passTo(made.CurrentPeriodEnd)
	second := c.invoices(made.ID)[1]
	c.pass(week)
	for range 40 {
		c.quantity(made.ID, 2)
		c.quantity(made.ID, 1)
	}
	lines := len(second.Lines.Data)
	must.True(t, lines > 90 && lines < 250 && second.Total == 150_00, "%d lines, total %d", lines, second.Total)
	must.Get(c.Invoices.Void(t.Context(), c.Caller, second.ID))(t)
	expect.Equal(t, c.get(made.ID).CreditBalance, 150_00, "the credit")
}

// A credit goes with the invoice that it credits.
func TestCreditGoesWithItsInvoice(t *testing.T) {
	for name, end := range map[string]func(c *club, id string) (*invoice.Invoice, error){
		"void": func(c *club, id string) (*invoice.Invoice, error) {
			return c.Invoices.Void(c.t.Context(), c.Caller, id)
		},
		"uncollectible": func(c *club, id string) (*invoice.Invoice, error) {
			return c.Invoices.MarkUncollectible(c.t.Context(), c.Caller, id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := openClub(t, payments.Config{})
			made := c.subscribe(c.fortnight(300_00), subscription.CreateParams{DaysUntilDue: new(int64(30))})
			first := *made.LatestInvoice
			c.pass(week)
			c.quantity(made.ID, 2)
			must.Get(end(c, first))(t)
			c.quantity(made.ID, 1)
			c.passTo(made.CurrentPeriodEnd)
			expect.Same(t, linesOf(&c.invoices(made.ID)[1]), []line{
				{"Remaining time on Gold", 300_00}, {"Unused time on Gold", -300_00}, {"Remaining time on Gold", 150_00}, {"Gold", 300_00},
			}, "the lines")
		})
	}
}

// A void gives the coupon for one invoice back. So a later change in the period is not discounted, and the next
// invoice is.
func TestVoidGivesBackDiscountOfPeriod(t *testing.T) {
	c := openClub(t, payments.Config{})
	half := c.coupon(catalog.CreateCouponParams{PercentOff: new(decimalOf(50))})
	made := c.subscribe(c.fortnight(300_00), subscription.CreateParams{Coupon: half, DaysUntilDue: new(int64(30))})
	c.pass(week)
	must.Get(c.Invoices.Void(t.Context(), c.Caller, *made.LatestInvoice))(t)
	c.work()
	c.quantity(made.ID, 2)
	c.passTo(made.CurrentPeriodEnd)
	next := &c.invoices(made.ID)[1]
	expect.Same(t, linesOf(next), []line{{"Remaining time on Gold", 300_00}, {"Gold", 600_00}}, "the lines")
	expect.Equal(t, next.Discount, 300_00, "the discount")
}

// A credit goes with an invoice that is given up long after its due date, before the subscription ends or goes on.
func TestCreditGoesWithGivenUpInvoice(t *testing.T) {
	for _, stays := range []bool{false, true} {
		c := openClub(t, payments.Config{KeepPastDue: stays})
		made := c.subscribe(c.plan(300_00, catalog.CreatePlanParams{Interval: catalog.Year}), subscription.CreateParams{DaysUntilDue: new(int64(7))})
		c.quantity(made.ID, 2)
		want := []line{{"Remaining time on Gold", 600_00}}
		if c.pass(60 * day); stays {
			c.passTo(made.CurrentPeriodEnd)
			want = append(want, line{"Gold", 600_00})
		}
		all := c.invoices(made.ID)
		must.True(t, len(all) == 2 && all[0].Status == invoice.Uncollectible, "%d invoices, the first %s", len(all), all[0].Status)
		expect.Same(t, linesOf(&all[1]), want, "the lines, and the subscription goes on: %v", stays)
	}
}

// A subscription that ends owes what it has used and was not invoiced.
func TestEndOwesWhatWasUsed(t *testing.T) {
	cancel := func(c *club, s *subscription.Subscription) {
		must.Get(c.Subscriptions.Cancel(c.t.Context(), c.Caller, s.ID, subscription.CancelParams{}))(c.t)
	}
	for name, end := range map[string]func(c *club, s *subscription.Subscription){
		"at once": cancel,
		"at the end of the period": func(c *club, s *subscription.Subscription) {
			must.Get(c.Subscriptions.Cancel(c.t.Context(), c.Caller, s.ID, subscription.CancelParams{AtPeriodEnd: true}))(c.t)
			c.passTo(s.CurrentPeriodEnd)
		},
		"paused and cancelled": func(c *club, s *subscription.Subscription) {
			must.Get(c.Subscriptions.Pause(c.t.Context(), c.Caller, s.ID))(c.t)
			cancel(c, s)
		},
		"paused and cancelled by an update": func(c *club, s *subscription.Subscription) {
			must.Get(c.Subscriptions.Pause(c.t.Context(), c.Caller, s.ID))(c.t)
			c.update(s.ID, subscription.UpdateParams{CancelAtPeriodEnd: new(true)})
		},
		"with the customer": func(c *club, s *subscription.Subscription) {
			must.Get(c.Accounts.DeleteCustomer(c.t.Context(), c.Caller, s.Customer))(c.t)
		},
	} {
		for _, method := range []invoice.CollectionMethod{invoice.SendInvoice, invoice.ChargeAutomatically} {
			t.Run(name+"/"+string(method), func(t *testing.T) {
				c := openClub(t, payments.Config{})
				made := c.subscribe(c.plan(10_00, catalog.CreatePlanParams{Interval: catalog.Year}), subscription.CreateParams{CollectionMethod: method})
				c.work()
				if method == invoice.SendInvoice {
					c.charge(*made.LatestInvoice)
				}
				c.update(made.ID, subscription.UpdateParams{Plan: new(c.plan(400_000_00, catalog.CreatePlanParams{Name: "Platinum", Interval: catalog.Year}).ID)})
				c.told()
				h := must.Get(c.Subscriptions.Hosted(t.Context(), (*made.ManageURL)[strings.LastIndex(*made.ManageURL, "/")+1:]))(t)
				expect.Equal(t, h.Final, 399_990_00, "the final invoice, as the page says")
				end(c, made)
				c.work()
				is, all := c.get(made.ID), c.invoices(made.ID)
				must.True(t, len(all) == 2 && *is.LatestInvoice == all[1].ID, "%d invoices, the latest %s", len(all), *is.LatestInvoice)
				last := &all[1]
				expect.Same(t, linesOf(last), []line{{"Unused time on Gold", -10_00}, {"Remaining time on Platinum", 400_000_00}}, "the lines")
				expect.Equal(t, is.Status, subscription.Cancelled, "the status")
				if method == invoice.ChargeAutomatically {
					expect.Equal(t, last.Status, invoice.Paid, "status")
					expect.Equal(t, last.AmountPaid, 399_990_00, "amount paid")
				} else {
					expect.Equal(t, last.Status, invoice.Open, "status")
					must.True(t, last.DueDate != nil, "DueDate is nil")
					must.True(t, is.CancelledAt != nil, "CancelledAt is nil")
					expect.True(t, last.DueDate.Equal(time.Unix(*is.CancelledAt, 0).Add(7*day)), "cancelled at %d, and due %v", *is.CancelledAt, last.DueDate)
				}
				c.Verified()
			})
		}
	}
}

// What comes to nothing or less lapses.
func TestCreditLapsesAtTheEnd(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.subscribe(c.fortnight(300_00), subscription.CreateParams{})
	c.charge(*made.LatestInvoice)
	c.pass(week)
	c.update(made.ID, subscription.UpdateParams{Plan: new(c.plan(10_00, catalog.CreatePlanParams{Name: "Basic", Interval: catalog.Week, IntervalCount: new(int64(2))}).ID)})
	c.told()
	is := must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, made.ID, subscription.CancelParams{}))(t)
	expect.Equal(t, is.CreditBalance, 0, "credit")
	expect.Equal(t, len(c.invoices(made.ID)), 1, "number of invoices")
	c.wantTold("canceled cancelled")
}

// A final invoice takes off the credit balance, and is made only if more is owed.
func TestFinalInvoiceTakesCredit(t *testing.T) {
	for _, test := range []struct{ quantity, total int64 }{{28, 0}, {31, 15_00}} {
		c := openClub(t, payments.Config{})
		made := c.subscribe(c.fortnight(300_00), subscription.CreateParams{})
		c.charge(*made.LatestInvoice)
		c.pass(week)
		c.update(made.ID, subscription.UpdateParams{Plan: new(c.plan(10_00, catalog.CreatePlanParams{Name: "Basic", Interval: catalog.Week, IntervalCount: new(int64(2))}).ID)})
		c.passTo(made.CurrentPeriodEnd)
		must.True(t, c.get(made.ID).CreditBalance == 135_00, "credit %d", c.get(made.ID).CreditBalance)
		c.pass(week)
		c.quantity(made.ID, test.quantity) // -5 + 5 for each
		is := must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, made.ID, subscription.CancelParams{}))(t)
		last := c.invoice(*is.LatestInvoice)
		if test.total == 0 {
			expect.True(t, len(c.invoices(made.ID)) == 2, "an invoice of nothing")
			continue
		}
		expect.Equal(t, last.Total, test.total, "the total")
		expect.Same(t, linesOf(last), []line{{"Unused time on Basic", -5_00}, {"Remaining time on Basic", 155_00}, {"Credit from earlier invoices", -135_00}}, "the lines")
	}
}

// The charges of open invoices go on after the end of the period, and stop when the merchant cancels at once.
func TestChargesAfterTheEnd(t *testing.T) {
	for name, p := range map[string]subscription.CancelParams{"at once": {}, "at the end": {AtPeriodEnd: true}} {
		c := openClub(t, payments.Config{})
		made := c.automatic(c.plan(700, catalog.CreatePlanParams{Interval: catalog.Day, IntervalCount: new(int64(2))}), "0241110901")
		must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, made.ID, p))(t)
		c.pass(2 * day)
		is, v := c.get(made.ID), c.invoice(*made.LatestInvoice)
		expect.Equal(t, is.Status, subscription.Cancelled, "%s", name)
		expect.Equal(t, v.NextPaymentAttempt != nil, p.AtPeriodEnd, "%s: charged again", name)
		c.pass(5 * day)
		expect.Equal(t, c.invoice(v.ID).Status, map[bool]invoice.Status{true: invoice.Uncollectible, false: invoice.Open}[p.AtPeriodEnd], "%s", name)
	}
}
