package subscription_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/subscription"
)

func TestUnpaidDueDateMakesPastDue(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.subscribe(c.plan(5000, catalog.CreatePlanParams{}), subscription.CreateParams{})
	first := *made.LatestInvoice
	c.passTo(unix(t, "2026-03-13 23:59:59"))
	c.wantTold("created active")
	c.pass(time.Second)
	c.wantTold("payment_failed past_due", "updated past_due")
	c.pay(first)
	c.wantTold("payment_succeeded active", "updated active")

	c.passTo(unix(t, "2026-04-06 12:00:00"))
	c.passTo(unix(t, "2026-04-14 00:00:00"))
	c.wantTold("updated active", "payment_failed past_due", "updated past_due")
	c.passTo(unix(t, "2026-05-06 12:00:00"))
	c.passTo(unix(t, "2026-05-14 00:00:00"))
	is, all := c.get(made.ID), c.invoices(made.ID)
	must.True(t, len(all) == 3, "%d invoices", len(all))
	expect.Equal(t, is.Status, subscription.Cancelled, "given up: status")
	expect.Same(t, is.CancelledAt, new(unix(t, "2026-05-14 00:00:00")), "given up: cancelled at")
	expect.Equal(t, all[1].Status, invoice.Uncollectible, "the invoices")
	expect.Equal(t, all[2].Status, invoice.Open, "status of the third")
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
	expect.Equal(t, is.Status, subscription.Cancelled, "given up: status")
	expect.Same(t, is.CancelledAt, new(c.Now().Add(-263*day+12*time.Hour).Unix()), "given up: cancelled at")
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
	expect.Equal(t, all[0].Status, invoice.Uncollectible, "the invoices")
	expect.Equal(t, c.invoices(charged.ID)[0].Status, invoice.Uncollectible, "status of the first invoice")
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
	expect.Equal(t, all[0].Status, invoice.Uncollectible, "status of the first")
	expect.Equal(t, all[0].AttemptCount, 4, "number of attempts")
	expect.Equal(t, all[1].Status, invoice.Open, "status of the second")
	c.pass(10 * day)
	c.wantTold()
	for _, v := range c.invoices(made.ID)[1:] {
		expect.True(t, v.NextPaymentAttempt == nil, "NextPaymentAttempt is set")
		expect.True(t, v.AttemptCount < 4, "a cancelled subscription's invoice was charged %d times", v.AttemptCount)
	}
	is := c.get(made.ID)
	expect.True(t, is.CancelledAt != nil, "cancelled: CancelledAt is nil")
	expect.True(t, is.PhoneNumber != nil, "cancelled: PhoneNumber is nil")
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
		expect.Equal(t, v.Status, invoice.Paid, "invoice: status")
		expect.Same(t, p.Subscription, new(made.ID), "subscription")
		expect.True(t, v.DueDate == nil, "invoice: DueDate is set")
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
	expect.Equal(t, is.Status, subscription.Cancelled, "status")
	expect.Equal(t, len(c.invoices(made.ID)), 1, "number of invoices")
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
	expect.Equal(t, is.Status, subscription.PastDue, "resumed: status")
	expect.Equal(t, is.BillingAnchor, c.Now().Unix(), "resumed: billing anchor")
	expect.Equal(t, is.CurrentPeriodStart, c.Now().Unix(), "resumed: current period start")
	expect.Equal(t, is.CurrentPeriodEnd, c.Now().AddDate(0, 1, 0).Unix(), "resumed: current period end")
	c.wantTold("resumed past_due")
	all := c.invoices(made.ID)
	must.True(t, len(all) == 2, "the invoices are %+v", all)
	expect.Same(t, is.LatestInvoice, &all[1].ID, "resumed: latest invoice")
	expect.True(t, all[1].InvoiceDate.Equal(c.Now()), "at %s the invoice is dated %s", c.Now(), all[1].InvoiceDate)

	trial := c.subscribe(plan, subscription.CreateParams{TrialPeriodDays: new(int64(30))})
	c.pass(2 * day) // the other one is given up
	c.told()
	is = must.Get(c.Subscriptions.Pause(t.Context(), c.Caller, trial.ID))(t)
	expect.Equal(t, is.Status, subscription.Paused, "paused in its trial: status")
	expect.Same(t, is.TrialEnd, new(c.Now().Unix()), "paused in its trial: trial end")
	expect.Equal(t, is.CurrentPeriodEnd, c.Now().Unix(), "paused in its trial: current period end")
	c.pass(day)
	expect.Equal(t, len(c.invoices(trial.ID)), 0, "invoices while paused")
	is = must.Get(c.Subscriptions.Resume(t.Context(), c.Caller, trial.ID))(t)
	expect.Equal(t, is.Status, subscription.Active, "resumed: status")
	expect.Equal(t, is.BillingAnchor, c.Now().Unix(), "resumed: billing anchor")
	expect.True(t, is.LatestInvoice != nil, "resumed: LatestInvoice is nil")
	c.wantTold("paused paused", "resumed active")
}

func TestCancel(t *testing.T) {
	c := openClub(t, payments.Config{})
	plan := c.plan(5000, catalog.CreatePlanParams{})
	now := c.subscribe(plan, subscription.CreateParams{})
	c.update(now.ID, subscription.UpdateParams{Quantity: new(int64(3))})
	is := must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, now.ID, subscription.CancelParams{}))(t)
	expect.Equal(t, is.Status, subscription.Cancelled, "cancelled: status")
	expect.Same(t, is.CancelledAt, new(c.Now().Unix()), "cancelled: cancelled at")
	expect.Equal(t, is.CancelAtPeriodEnd, false, "cancelled: CancelAtPeriodEnd")
	c.wantTold("created active", "updated active", "canceled cancelled")
	for name, call := range map[string]error{
		"update": testkit.Err(c.Subscriptions.Update(t.Context(), c.Caller, now.ID, subscription.UpdateParams{})),
		"cancel": testkit.Err(c.Subscriptions.Cancel(t.Context(), c.Caller, now.ID, subscription.CancelParams{AtPeriodEnd: true})),
		"pause":  testkit.Err(c.Subscriptions.Pause(t.Context(), c.Caller, now.ID)),
		"resume": testkit.Err(c.Subscriptions.Resume(t.Context(), c.Caller, now.ID)),
		"phone":  testkit.Err(c.Subscriptions.StartPhoneChange(t.Context(), c.Caller, now.ID, subscription.StartPhoneChangeParams{PhoneNumber: "0241234567"})),
	} {
		testkit.WantCode(t, name+" a cancelled one", call, api.SubscriptionCancelled)
	}
	c.pay(*now.LatestInvoice) // open invoices stay payable
	c.told()

	later := c.subscribe(plan, subscription.CreateParams{})
	is = must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, later.ID, subscription.CancelParams{AtPeriodEnd: true}))(t)
	expect.Equal(t, is.Status, subscription.Active, "to be cancelled: status")
	expect.Equal(t, is.CancelAtPeriodEnd, true, "to be cancelled: CancelAtPeriodEnd")
	expect.True(t, is.CancelledAt == nil, "to be cancelled: CancelledAt is set")
	is = c.update(later.ID, subscription.UpdateParams{CancelAtPeriodEnd: new(false)})
	expect.True(t, !is.CancelAtPeriodEnd, "it goes on: %+v", is)
	c.update(later.ID, subscription.UpdateParams{CancelAtPeriodEnd: new(true)})
	c.pay(*later.LatestInvoice)
	c.wantTold("created active", "updated active", "updated active", "updated active", "payment_succeeded active")
	c.pass(60 * day)
	is = c.get(later.ID)
	expect.Equal(t, is.Status, subscription.Cancelled, "cancelled: status")
	expect.Same(t, is.CancelledAt, new(is.CurrentPeriodEnd), "cancelled: cancelled at")
	expect.Equal(t, len(c.invoices(later.ID)), 1, "number of invoices")
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

// hosted is a host's record of one customer.
type hosted struct{}

func (hosted) Customer(context.Context, api.Caller, string) (*account.Customer, error) {
	return &account.Customer{ID: "crm-7", Name: "Efua"}, nil
}

// When the last charge fails, the host is asked for the customer of the final invoice.
func TestLastFailureAsksHostForCustomer(t *testing.T) {
	c := openClub(t, payments.Config{Customers: hosted{}})
	made := c.subscribe(c.plan(5000, catalog.CreatePlanParams{Interval: catalog.Year}), subscription.CreateParams{
		Customer: "crm-7", CollectionMethod: invoice.ChargeAutomatically, PhoneNumber: "0241230901",
	})
	c.work()
	c.quantity(made.ID, 2)
	c.pass(6 * day)
	expect.Equal(t, c.get(made.ID).Status, subscription.Cancelled, "status")
	all := c.invoices(made.ID)
	must.True(t, len(all) == 2, "%d invoices", len(all))
	expect.Equal(t, all[0].Status, invoice.Uncollectible, "the first")
	expect.Same(t, all[1].Name, new("Efua"), "name of the second")
}

// A switch to invoices that are sent ends the prompts, and gives open invoices a due date.
func TestSwitchToSendingEndsCharges(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.automatic(c.plan(5000, catalog.CreatePlanParams{Interval: catalog.Year}), "0241230901")
	c.update(made.ID, subscription.UpdateParams{CollectionMethod: new(invoice.SendInvoice), PhoneNumber: new(""), DaysUntilDue: new(int64(2))})
	v := c.invoice(*made.LatestInvoice)
	expect.Equal(t, v.CollectionMethod, invoice.SendInvoice, "collection method")
	must.True(t, v.DueDate != nil, "the invoice has no due date")
	expect.True(t, v.DueDate.Equal(c.Now().Add(2*day)), "at %s the invoice is due %s", c.Now(), v.DueDate)
	c.pass(20 * day)
	expect.Equal(t, c.invoice(v.ID).AttemptCount, 1, "attempts")
	expect.Equal(t, c.get(made.ID).Status, subscription.PastDue, "the subscription")
	c.pass(12*day + 12*time.Hour - time.Second)
	expect.Equal(t, c.get(made.ID).Status, subscription.PastDue, "before 30 days after the due day are over")
	c.pass(time.Second)
	expect.Equal(t, c.get(made.ID).Status, subscription.Cancelled, "30 days after the due day: status")
	expect.Equal(t, c.invoice(v.ID).Status, invoice.Uncollectible, "30 days after the due day: status")
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
	must.Get(c.Subscriptions.StartPhoneChange(t.Context(), c.Caller, made.ID, subscription.StartPhoneChangeParams{PhoneNumber: "0551234987"}))(t)
	code := c.code("0551234987")
	confirm := func() error { return testkit.Err(c.Subscriptions.ConfirmPhone(t.Context(), c.Caller, made.ID, code)) }
	c.pass(10 * time.Minute)
	h := must.Get(c.Subscriptions.Hosted(t.Context(), (*made.ManageURL)[strings.LastIndex(*made.ManageURL, "/")+1:]))(t)
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
