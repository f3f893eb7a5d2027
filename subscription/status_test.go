package subscription_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/subscription"
)

func TestUnpaidDueDateMakesPastDue(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.subscribe(c.plan(5000, catalog.CreatePlanParams{}), subscription.CreateParams{})
	first := *made.LatestInvoice
	c.pass(7*day - time.Second)
	c.wantTold("created active")
	c.pass(time.Second)
	c.wantTold("payment_failed past_due", "updated past_due")
	c.pay(first)
	c.wantTold("payment_succeeded active", "updated active")

	c.passTo(unix(t, "2026-04-06 12:00:00"))
	c.passTo(unix(t, "2026-04-13 12:00:00"))
	c.wantTold("updated active", "payment_failed past_due", "updated past_due")
	c.passTo(unix(t, "2026-05-06 12:00:00"))
	c.passTo(unix(t, "2026-05-13 12:00:00"))
	is, all := c.get(made.ID), c.invoices(made.ID)
	must.True(t, len(all) == 3, "%d invoices", len(all))
	expect.True(t, is.Status == subscription.Cancelled && *is.CancelledAt == unix(t, "2026-05-13 12:00:00"), "given up %+v", is)
	expect.True(t, all[1].Status == invoice.Uncollectible && all[2].Status == invoice.Open, "the invoices are %s and %s", all[1].Status, all[2].Status)
	c.wantTold("updated past_due", "canceled cancelled")
	c.pay(all[2].ID)
	c.wantTold("payment_succeeded cancelled")
	c.pass(400 * day)
	expect.Equal(t, len(c.invoices(made.ID)), 3, "invoices of a cancelled subscription")
	c.wantTold()
}

// No worker ran while an invoice was overdue. The cancellation of that time comes before the renewals after
// it.
func TestCancellationComesBeforeLaterRenewals(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.subscribe(c.plan(5000, catalog.CreatePlanParams{}), subscription.CreateParams{})
	c.pass(300 * day)
	is := c.get(made.ID)
	expect.True(t, is.Status == subscription.Cancelled && *is.CancelledAt == c.Now().Add(-263*day).Unix(), "given up %+v", is)
	expect.Equal(t, len(c.invoices(made.ID)), 2, "invoices")
}

func TestMerchantVoidsOrWritesOff(t *testing.T) {
	c := openClub(t, payments.Config{})
	plan := c.plan(5000, catalog.CreatePlanParams{Interval: catalog.Year})
	for _, end := range []func(string) error{
		func(id string) error { return testkit.Err(c.Invoices.Void(t.Context(), c.Caller, id)) },
		func(id string) error { return testkit.Err(c.Invoices.MarkUncollectible(t.Context(), c.Caller, id)) },
	} {
		made := c.subscribe(plan, subscription.CreateParams{})
		c.pass(8 * day)
		c.told()
		must.Do(t, end(*made.LatestInvoice))
		c.work()
		c.wantTold("updated active")
		c.pass(40 * day)
		c.wantTold()
	}
}

func TestUncollectedSubscriptionMayStayPastDue(t *testing.T) {
	c := openClub(t, payments.Config{KeepPastDue: true})
	made := c.subscribe(c.plan(5000, catalog.CreatePlanParams{}), subscription.CreateParams{})
	charged := c.automatic(c.plan(100, catalog.CreatePlanParams{Interval: catalog.Year}), "0241230901")
	c.pass(38 * day)
	c.pass(day)
	all := c.invoices(made.ID)
	expect.True(t, all[0].Status == invoice.Uncollectible && c.invoices(charged.ID)[0].Status == invoice.Uncollectible, "the invoices are %s and %s", all[0].Status, c.invoices(charged.ID)[0].Status)
	expect.Equal(t, c.get(made.ID).Status, subscription.PastDue, "given up")
	expect.Equal(t, c.get(charged.ID).Status, subscription.PastDue, "given up after the last charge")
	c.pay(all[1].ID)
	expect.Equal(t, c.get(made.ID).Status, subscription.Active, "after a later invoice was paid")
	must.Get(c.Invoices.Void(t.Context(), c.Caller, *charged.LatestInvoice))(t)
	c.work()
	expect.Equal(t, c.get(charged.ID).Status, subscription.Active, "after it was voided")
}

// A void gives back what a given-up invoice has taken, also after a later one was paid, and however many were
// given up since.
func TestVoidOfGivenUpInvoiceGivesBack(t *testing.T) {
	for name, then := range map[string]func(*club, []invoice.Invoice){
		"at once":               func(*club, []invoice.Invoice) {},
		"after a later payment": func(c *club, all []invoice.Invoice) { c.pay(all[len(all)-1].ID) },
		"after many were given up": func(c *club, _ []invoice.Invoice) {
			for range 24 { // one by one, since an invoice that is made late is due later
				c.pass(7 * day)
			}
		},
	} {
		c := openClub(t, payments.Config{KeepPastDue: true})
		made := c.subscribe(c.plan(7000, weekly("Gold")), subscription.CreateParams{})
		c.pay(*made.LatestInvoice)
		c.update(made.ID, subscription.UpdateParams{Plan: new(c.plan(1000, weekly("Basic")).ID)})
		c.pass(7 * day) // -7000 + 1000 + 1000
		c.update(made.ID, subscription.UpdateParams{Quantity: new(int64(9)), Proration: subscription.NoProration})
		c.pass(7 * day)
		v := c.invoice(*c.get(made.ID).LatestInvoice)
		must.True(t, v.Total == 4000, "%s: total %d", name, v.Total) // 9000 less the credit of 5000
		c.pass(38 * day)
		must.True(t, c.invoice(v.ID).Status == invoice.Uncollectible, "%s: %s", name, c.invoice(v.ID).Status)
		then(c, c.invoices(made.ID))
		must.Get(c.Invoices.Void(t.Context(), c.Caller, v.ID))(t)
		c.work()
		expect.Equal(t, c.get(made.ID).CreditBalance, 5000, "%s: the credit", name)
	}
}

// A declined phone is asked again after 1, 3 and 5 days. Then the subscription is cancelled.
func TestFailedChargesCancel(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.automatic(c.plan(5000, catalog.CreatePlanParams{Interval: catalog.Day, IntervalCount: new(int64(3))}), "0241230901")
	c.wantTold("created active", "payment_failed past_due", "updated past_due")
	for range 5 {
		c.pass(day)
	}
	c.wantTold(
		"payment_failed past_due",                                                // 1 day later
		"updated past_due", "payment_failed past_due", "payment_failed past_due", // 3 days: a new period, whose charge fails
		"payment_failed past_due", // 4 days: that again
		"payment_failed past_due", "canceled cancelled",
	)
	all := c.invoices(made.ID)
	expect.True(t, all[0].Status == invoice.Uncollectible && all[0].AttemptCount == 4 && all[1].Status == invoice.Open, "%d invoices, %d attempts", len(all), all[0].AttemptCount)
	c.pass(10 * day)
	c.wantTold()
	for _, v := range c.invoices(made.ID)[1:] {
		expect.True(t, v.NextPaymentAttempt == nil && v.AttemptCount < 4, "a cancelled subscription's invoice was charged %d times", v.AttemptCount)
	}
	is := c.get(made.ID)
	expect.True(t, is.CancelledAt != nil && is.PhoneNumber != nil, "cancelled %+v", is)
}

func TestChargesGoOnFromPeriodToPeriod(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.automatic(c.plan(5000, catalog.CreatePlanParams{}), "0241234567")
	c.wantTold("created active", "payment_succeeded active")
	for range 3 {
		c.pass(31 * day)
	}
	c.wantTold("updated active", "payment_succeeded active", "updated active", "payment_succeeded active", "updated active", "payment_succeeded active")
	for _, v := range c.invoices(made.ID) {
		p := must.Get(c.Payments.Get(t.Context(), c.Caller, *v.Payment))(t)
		expect.True(t, v.Status == invoice.Paid && *p.Subscription == made.ID && v.DueDate == nil, "invoice %+v is paid by %+v", v, p)
	}
	c.Verified()
}

// Charges that were due while no worker ran are tried before the renewals that come after them.
func TestRenewalWaitsForEarlierCharge(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.automatic(c.plan(5000, catalog.CreatePlanParams{}), "0241230901")
	for range 3 {
		c.pass(day)
	}
	expect.Equal(t, c.invoices(made.ID)[0].AttemptCount, 3, "attempts")
	c.pass(100 * day) // the fourth was due before the renewals
	is := c.get(made.ID)
	expect.True(t, is.Status == subscription.Cancelled && len(c.invoices(made.ID)) == 1, "%d invoices of %+v", len(c.invoices(made.ID)), is)
}

// A charge without an outcome does not hold up the renewals for ever.
func TestUndecidedChargeHoldsUpNoRenewal(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.automatic(c.plan(5000, catalog.CreatePlanParams{}), "0241230903")
	c.pass(62 * day)
	expect.Equal(t, len(c.invoices(made.ID)), 2, "invoices") // the second charge has no outcome yet
	c.pass(time.Hour)
	expect.Equal(t, len(c.invoices(made.ID)), 3, "invoices an hour later")
	c.wantTold("created active", "updated active", "updated active")
}

func TestPauseAndResume(t *testing.T) {
	c := openClub(t, payments.Config{})
	plan := c.plan(5000, catalog.CreatePlanParams{})
	made := c.subscribe(plan, subscription.CreateParams{DaysUntilDue: new(int64(3))})
	testkit.WantCode(t, "resume one that is active", testkit.Err(c.Subscriptions.Resume(t.Context(), c.Caller, made.ID)), api.SubscriptionNotPaused)
	must.Get(c.Subscriptions.Pause(t.Context(), c.Caller, made.ID))(t)
	testkit.WantCode(t, "pause it twice", testkit.Err(c.Subscriptions.Pause(t.Context(), c.Caller, made.ID)), api.SubscriptionPaused)
	c.pass(10 * day)
	c.wantTold("created active", "paused paused", "payment_failed paused") // the open invoice is collected as before
	c.pass(22 * day)
	expect.Equal(t, len(c.invoices(made.ID)), 1, "invoices while paused")
	is := must.Get(c.Subscriptions.Resume(t.Context(), c.Caller, made.ID))(t)
	expect.True(t, is.Status == subscription.PastDue && is.BillingAnchor == c.Now().Unix() && is.CurrentPeriodStart == c.Now().Unix() &&
		is.CurrentPeriodEnd == c.Now().AddDate(0, 1, 0).Unix(), "resumed %+v", is)
	c.wantTold("resumed past_due")
	all := c.invoices(made.ID)
	expect.True(t, len(all) == 2 && all[1].ID == *is.LatestInvoice && all[1].InvoiceDate.Equal(c.Now()), "the invoices are %+v", all)

	trial := c.subscribe(plan, subscription.CreateParams{TrialPeriodDays: new(int64(30))})
	c.pass(day)
	c.told()
	is = must.Get(c.Subscriptions.Pause(t.Context(), c.Caller, trial.ID))(t)
	expect.True(t, is.Status == subscription.Paused && *is.TrialEnd == c.Now().Unix() && is.CurrentPeriodEnd == c.Now().Unix(), "paused in its trial %+v", is)
	c.pass(day)
	expect.Equal(t, len(c.invoices(trial.ID)), 0, "invoices while paused")
	is = must.Get(c.Subscriptions.Resume(t.Context(), c.Caller, trial.ID))(t)
	expect.True(t, is.Status == subscription.Active && is.BillingAnchor == c.Now().Unix() && is.LatestInvoice != nil, "resumed %+v", is)
	c.wantTold("paused paused", "resumed active")
}

func TestCancel(t *testing.T) {
	c := openClub(t, payments.Config{})
	plan := c.plan(5000, catalog.CreatePlanParams{})
	now := c.subscribe(plan, subscription.CreateParams{})
	c.update(now.ID, subscription.UpdateParams{Quantity: new(int64(3))})
	is := must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, now.ID, subscription.CancelParams{}))(t)
	expect.True(t, is.Status == subscription.Cancelled && *is.CancelledAt == c.Now().Unix() && !is.CancelAtPeriodEnd, "cancelled %+v", is)
	c.wantTold("created active", "updated active", "canceled cancelled")
	for name, call := range map[string]error{
		"update": testkit.Err(c.Subscriptions.Update(t.Context(), c.Caller, now.ID, subscription.UpdateParams{})),
		"cancel": testkit.Err(c.Subscriptions.Cancel(t.Context(), c.Caller, now.ID, subscription.CancelParams{AtPeriodEnd: true})),
		"pause":  testkit.Err(c.Subscriptions.Pause(t.Context(), c.Caller, now.ID)),
		"resume": testkit.Err(c.Subscriptions.Resume(t.Context(), c.Caller, now.ID)),
		"phone":  testkit.Err(c.Subscriptions.StartPhoneChange(t.Context(), c.Caller, now.ID, "0241234567")),
	} {
		testkit.WantCode(t, name+" a cancelled one", call, api.SubscriptionCancelled)
	}
	c.pay(*now.LatestInvoice) // open invoices stay payable
	c.told()

	later := c.subscribe(plan, subscription.CreateParams{})
	is = must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, later.ID, subscription.CancelParams{AtPeriodEnd: true}))(t)
	expect.True(t, is.Status == subscription.Active && is.CancelAtPeriodEnd && is.CancelledAt == nil, "to be cancelled %+v", is)
	is = c.update(later.ID, subscription.UpdateParams{CancelAtPeriodEnd: new(false)})
	expect.True(t, !is.CancelAtPeriodEnd, "it goes on: %+v", is)
	c.update(later.ID, subscription.UpdateParams{CancelAtPeriodEnd: new(true)})
	c.pay(*later.LatestInvoice)
	c.wantTold("created active", "updated active", "updated active", "updated active", "payment_succeeded active")
	c.pass(60 * day)
	is = c.get(later.ID)
	expect.True(t, is.Status == subscription.Cancelled && *is.CancelledAt == is.CurrentPeriodEnd && len(c.invoices(later.ID)) == 1, "cancelled %+v", is)
	c.wantTold("canceled cancelled")

	for _, cancel := range []func(string) error{
		func(id string) error {
			return testkit.Err(c.Subscriptions.Cancel(t.Context(), c.Caller, id, subscription.CancelParams{AtPeriodEnd: true}))
		},
		func(id string) error {
			return testkit.Err(c.Subscriptions.Update(t.Context(), c.Caller, id, subscription.UpdateParams{CancelAtPeriodEnd: new(true)}))
		},
	} {
		paused := c.subscribe(plan, subscription.CreateParams{})
		must.Get(c.Subscriptions.Pause(t.Context(), c.Caller, paused.ID))(t)
		must.Do(t, cancel(paused.ID))
		expect.Equal(t, c.get(paused.ID).Status, subscription.Cancelled, "while paused")
		c.wantTold("created active", "paused paused", "canceled cancelled")
	}
}

func TestDeletedCustomersSubscriptionsAreCancelled(t *testing.T) {
	c := openClub(t, payments.Config{})
	plan := c.plan(5000, catalog.CreatePlanParams{})
	who := c.customer("0241234567").ID
	var ids []string
	for range 25 { // more than one transaction takes
		ids = append(ids, c.subscribe(plan, subscription.CreateParams{Customer: who, CollectionMethod: invoice.ChargeAutomatically}).ID)
	}
	other := c.subscribe(plan, subscription.CreateParams{})
	must.Get(c.Accounts.DeleteCustomer(t.Context(), c.Caller, who))(t)
	for _, id := range ids {
		expect.Equal(t, c.get(id).Status, subscription.Cancelled, "before the deletion has answered")
	}
	expect.Equal(t, c.get(other.ID).Status, subscription.Active, "the subscription of another")
	testkit.WantParam(t, "subscribe a deleted customer", testkit.Err(c.Subscriptions.Create(t.Context(), c.Caller, subscription.CreateParams{Customer: who, Plan: plan.ID})), api.ResourceMissing, "customer")
	c.work()
	for _, id := range ids {
		expect.True(t, c.get(id).PhoneNumber == nil, "the number is left")
	}
}

// A switch to invoices that are sent ends the prompts, and gives open invoices a due date.
func TestSwitchToSendingEndsCharges(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.automatic(c.plan(5000, catalog.CreatePlanParams{Interval: catalog.Year}), "0241230901")
	c.update(made.ID, subscription.UpdateParams{CollectionMethod: new(invoice.SendInvoice), PhoneNumber: new(""), DaysUntilDue: new(int64(2))})
	v := c.invoice(*made.LatestInvoice)
	expect.True(t, v.CollectionMethod == invoice.SendInvoice && v.DueDate != nil && v.DueDate.Equal(c.Now().Add(2*day)), "the invoice is due %v by %s", v.DueDate, v.CollectionMethod)
	c.pass(20 * day)
	expect.Equal(t, c.invoice(v.ID).AttemptCount, 1, "attempts")
	expect.Equal(t, c.get(made.ID).Status, subscription.PastDue, "the subscription")
	c.pass(12 * day)
	expect.True(t, c.get(made.ID).Status == subscription.Cancelled && c.invoice(v.ID).Status == invoice.Uncollectible, "30 days after the due date")
}

// Every holder of an invoice's address may try to pay it. Until the first charge has failed, such a try
// makes nothing overdue.
func TestTryOnPageMakesNothingOverdue(t *testing.T) {
	c := liveClub(t, &phones{}, payments.Config{})
	c.Pass(9 * time.Hour) // 21 o'clock, when no phone is asked
	made := c.automatic(c.plan(5000, catalog.CreatePlanParams{}), "0241234567")
	must.Get(c.Invoices.StartPayment(t.Context(), c.Caller, *made.LatestInvoice, payment.MobileMoney{PhoneNumber: "0241230901"}))(t)
	c.work()
	c.wantTold("created active", "payment_failed active")
	c.pass(11 * time.Hour)
	c.wantTold("payment_succeeded active")
}

// A prompt that has not gone out when the subscription is cancelled does not go out.
func TestCancellationStopsPendingPrompt(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.automatic(c.plan(5000, catalog.CreatePlanParams{}), "0241230906")
	must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, made.ID, subscription.CancelParams{}))(t)
	c.pass(time.Minute)
	paid := must.Get(c.Payments.List(t.Context(), c.Caller, payment.ListParams{Invoice: *made.LatestInvoice}))(t).Data
	must.True(t, len(paid) == 1, "%d payments", len(paid))
	expect.Equal(t, paid[0].Status, payment.Cancelled, "the payment")
	expect.Equal(t, c.invoice(*made.LatestInvoice).Status, invoice.Open, "the invoice")
}

// A new phone without a confirmation may be a stranger's. It is not shown after its code has
// expired, and then forgotten.
func TestUnconfirmedPhoneIsForgotten(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.automatic(c.plan(5000, catalog.CreatePlanParams{}), "0241234567")
	must.Get(c.Subscriptions.StartPhoneChange(t.Context(), c.Caller, made.ID, "0551234987"))(t)
	code := c.code("0551234987")
	confirm := func() error { return testkit.Err(c.Subscriptions.ConfirmPhone(t.Context(), c.Caller, made.ID, code)) }
	c.pass(10 * time.Minute)
	h := must.Get(c.Subscriptions.Hosted(t.Context(), made.ManageURL[strings.LastIndex(made.ManageURL, "/")+1:]))(t)
	expect.True(t, h.PhoneChange == nil, "the page still waits for a code: %+v", h.PhoneChange)
	testkit.WantCode(t, "a late code", confirm(), api.OTPExpired)
	c.pass(time.Hour)
	testkit.WantCode(t, "a code that is forgotten", confirm(), api.OTPInvalid)
}

// What has ended with a subscription is not shown as if it went on.
func TestEndsAreShown(t *testing.T) {
	c := openClub(t, payments.Config{})
	coupon := must.Get(c.Coupons.Create(t.Context(), c.Caller, catalog.CreateCouponParams{PercentOff: new(decimalOf(10)), Duration: catalog.Forever}))(t)
	made := c.subscribe(c.plan(5000, catalog.CreatePlanParams{TrialPeriodDays: new(int64(30))}), subscription.CreateParams{Coupon: coupon.ID})
	c.pass(day)
	is := must.Get(c.Subscriptions.Pause(t.Context(), c.Caller, made.ID))(t)
	expect.Equal(t, is.BillingAnchor, c.Now().Unix(), "the anchor of a trial that has ended")
	is = must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, made.ID, subscription.CancelParams{}))(t)
	expect.True(t, is.Discount == nil, "the discount of a cancelled one: %+v", is.Discount)
}
