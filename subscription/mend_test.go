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
