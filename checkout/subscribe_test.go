package checkout_test

import (
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
)

// weekly makes a plan of GHS 45.00 a week, with 20% tax.
func (s *shop) weekly(trialDays int64) *catalog.Plan {
	s.t.Helper()
	return must.Get(s.Plans.Create(s.t.Context(), s.Caller, catalog.CreatePlanParams{
		Name: "Juice every week", Amount: 4500, Interval: catalog.Week, TrialPeriodDays: &trialDays, Taxable: new(true), TaxPercent: new(decimal.NewFromInt(20)),
	}))(s.t)
}

// membership is the session of a plan.
func membership(plan *catalog.Plan) checkout.CreateParams {
	return checkout.CreateParams{Mode: checkout.ModeSubscription, Plan: plan.ID, SuccessURL: thanks, Metadata: api.Metadata{"shelf": "3"}}
}

func (s *shop) subscription(session string) *subscription.Subscription {
	s.t.Helper()
	v := s.get(session)
	must.True(s.t, v.Subscription != nil, "no subscription has begun: %+v", v)
	return must.Get(s.Subscriptions.Get(s.t.Context(), s.Caller, *v.Subscription))(s.t)
}

// A payment of a session begins a subscription with a paid invoice, for a customer whom the page has
// asked. The next period is charged from the same phone.
func TestSessionBeginsSubscription(t *testing.T) {
	s := open(t)
	plan := s.weekly(0)
	p := membership(plan)
	p.Quantity = new(int64(2))
	made := s.create(p)
	expect.True(t, made.Subtotal == 9000 && made.Tax == 1800 && made.Total == 10800 && *made.Plan == plan.ID && *made.Quantity == 2, "the session costs %+v", made)
	// What the session has copied stays.
	must.Get(s.Plans.Update(t.Context(), s.Caller, plan.ID, catalog.UpdatePlanParams{Name: new("Another"), TrialPeriodDays: new(new(int64(7))), Active: new(false)}))(t)
	pay := checkout.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: quick}, Name: new("Ama Mensah"), Email: new("ama@example.com")}
	must.Get(s.Checkout.Pay(t.Context(), s.Caller, made.ID, pay))(t)
	expect.True(t, s.get(made.ID).Subscription == nil, "a subscription begins before the payment")
	s.work()

	s.is(made.ID, checkout.Complete, checkout.Paid)
	done, sub := s.get(made.ID), s.subscription(made.ID)
	expect.True(t, sub.Status == subscription.Active && sub.CollectionMethod == invoice.ChargeAutomatically && *sub.PhoneNumber == "024****567" &&
		sub.Quantity == 2 && sub.Metadata["shelf"] == "3", "the subscription is %+v", sub)
	customer := must.Get(s.Accounts.GetCustomer(t.Context(), s.Caller, sub.Customer))(t)
	expect.True(t, customer.Name == "Ama Mensah" && customer.Email == "ama@example.com" && customer.Phone == "+233241234567" && *done.Customer == customer.ID, "the customer is %+v", customer)
	bill := must.Get(s.Invoices.Get(t.Context(), s.Caller, *sub.LatestInvoice))(t)
	expect.True(t, bill.Status == invoice.Paid && bill.Total == 10800 && *bill.Payment == *done.Payment && bill.Lines.Data[0].Description == "Juice every week", "the invoice is %+v", bill)
	paid := s.payments(made.ID)[0]
	expect.True(t, *paid.Subscription == sub.ID && *paid.Invoice == bill.ID && *paid.Customer == customer.ID, "the payment is %+v", paid)
	expect.Equal(t, s.available(), "1108.00", "balance")
	events := s.events()
	for _, want := range []string{"payment.succeeded customer.created", "subscription.created", "invoice.paid", "subscription.payment_succeeded"} {
		expect.True(t, strings.Contains(events, want), "no %s in %s", want, events)
	}
	expect.True(t, strings.HasSuffix(events, " checkout.session.completed"), "events %s", events)
	s.after(7 * 24 * time.Hour)
	expect.Equal(t, s.available(), "1216.00", "balance after the next period")
	s.Verified()
}

// A trial needs a phone, and no payment.
func TestSessionBeginsTrial(t *testing.T) {
	s := open(t)
	made := s.create(membership(s.weekly(14)))
	expect.Equal(t, made.Total, 0, "total")
	testkit.WantParam(t, "without a phone", testkit.Err(s.Checkout.Pay(t.Context(), s.Caller, made.ID, checkout.PayParams{})), api.ParameterMissing, "phone_number")
	expect.NoError(t, s.phone(made.ID, quick), "begin")
	s.is(made.ID, checkout.Complete, checkout.NoPaymentRequired)
	sub := s.subscription(made.ID)
	expect.True(t, sub.Status == subscription.Trialing && *sub.TrialEnd == s.Now().Add(14*24*time.Hour).Unix(), "the subscription is %+v", sub)
	expect.Equal(t, len(s.payments(made.ID)), 0, "payments")
	s.after(14 * 24 * time.Hour)
	expect.Equal(t, s.subscription(made.ID).Status, subscription.Active, "status after the trial")
	expect.Equal(t, s.available(), "1054.00", "balance after the trial")
}

// A wallet pays the first period alone. The phone is charged from then on.
func TestWalletBeginsSubscription(t *testing.T) {
	s := open(t)
	made := s.create(membership(s.weekly(0)))
	wallet := checkout.PayParams{Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: s.PIN}
	testkit.WantParam(t, "without a phone", testkit.Err(s.Checkout.Pay(t.Context(), s.Caller, made.ID, wallet)), api.ParameterMissing, "phone_number")
	wallet.MobileMoney.PhoneNumber = quick
	must.Get(s.Checkout.Pay(t.Context(), s.Caller, made.ID, wallet))(t)
	s.is(made.ID, checkout.Complete, checkout.Paid)
	expect.Equal(t, s.payments(made.ID)[0].PaymentMethod, payment.ServiceWallet, "method")
	expect.Equal(t, *s.subscription(made.ID).PhoneNumber, "024****567", "phone")
	once := s.create(order())
	testkit.WantParam(t, "phone and wallet for an order", testkit.Err(s.Checkout.Pay(t.Context(), s.Caller, once.ID, wallet)), api.ParameterInvalid, "phone_number")
	s.Verified()
}

// A coupon is redeemed once, with the payment, and stays on the subscription as its duration says.
func TestSubscriptionTakesCoupon(t *testing.T) {
	s := open(t)
	p := membership(s.weekly(0))
	p.Coupon = s.coupon(catalog.CreateCouponParams{PercentOff: new(decimal.NewFromInt(100)), Duration: catalog.Repeating, DurationInMonths: new(int64(2)), MaxRedemptions: new(int64(1))})
	made, second := s.create(p), s.create(p)
	expect.Equal(t, made.Total, 0, "total")
	expect.NoError(t, s.phone(made.ID, quick), "begin")
	s.is(made.ID, checkout.Complete, checkout.NoPaymentRequired)
	sub := s.subscription(made.ID)
	expect.True(t, sub.Status == subscription.Active && sub.Discount != nil && sub.Discount.Coupon == p.Coupon && sub.Discount.End != nil, "the subscription is %+v", sub)
	expect.Equal(t, s.redeemed(p.Coupon), 1, "redeemed")
	testkit.WantParam(t, "none is left", s.phone(second.ID, quick), api.CouponNotRedeemable, "coupon")
}

// A customer who was deleted begins no subscription: an attempt is refused, and an approval is paid back.
func TestDeletedCustomerBeginsNoSubscription(t *testing.T) {
	s := open(t)
	customer := must.Get(s.Accounts.CreateCustomer(t.Context(), s.Caller, account.CreateCustomerParams{Name: "Akua"}))(t)
	p := membership(s.weekly(0))
	p.Customer = customer.ID
	asked, other := s.create(p), s.create(p)
	expect.NoError(t, s.phone(asked.ID, never), "pay")
	must.Get(s.Accounts.DeleteCustomer(t.Context(), s.Caller, customer.ID))(t)
	s.work()
	testkit.WantCode(t, "another", s.phone(other.ID, quick), api.CheckoutNotOpen)
	s.settle(asked.ID, 0, provider.Paid)
	s.is(asked.ID, checkout.Open, checkout.Unpaid)
	expect.Equal(t, len(must.Get(s.Refunds.List(t.Context(), s.Caller, refund.ListParams{}))(t).Data), 1, "refunds")
	s.Verified()
}

func TestInvalidMembershipsAreRefused(t *testing.T) {
	s := open(t)
	plan := s.weekly(0)
	off := s.weekly(0)
	must.Get(s.Plans.Update(t.Context(), s.Caller, off.ID, catalog.UpdatePlanParams{Active: new(false)}))(t)
	for name, test := range map[string]struct {
		change func(*checkout.CreateParams)
		code   api.Code
		param  string
	}{
		"no plan":               {func(p *checkout.CreateParams) { p.Plan = "" }, api.ParameterMissing, "plan"},
		"an unknown plan":       {func(p *checkout.CreateParams) { p.Plan = "plan_1" }, api.ResourceMissing, "plan"},
		"an inactive plan":      {func(p *checkout.CreateParams) { p.Plan = off.ID }, api.ParameterInvalid, "plan"},
		"lines":                 {func(p *checkout.CreateParams) { p.Lines = order().Lines }, api.ParameterInvalid, "line_items"},
		"none of it":            {func(p *checkout.CreateParams) { p.Quantity = new(int64(0)) }, api.ParameterInvalid, "quantity"},
		"too many":              {func(p *checkout.CreateParams) { p.Quantity = new(int64(1_000_001)) }, api.ParameterInvalid, "quantity"},
		"too much":              {func(p *checkout.CreateParams) { p.Quantity = new(int64(22_223)) }, api.ParameterInvalid, "quantity"},
		"a plan for an order":   {func(p *checkout.CreateParams) { p.Mode, p.Lines = "", order().Lines }, api.ParameterInvalid, "plan"},
		"quantity for an order": {func(p *checkout.CreateParams) { p.Mode, p.Plan, p.Quantity = "", "", new(int64(1)) }, api.ParameterInvalid, "quantity"},
	} {
		p := membership(plan)
		test.change(&p)
		testkit.WantParam(t, name, testkit.Err(s.Checkout.Create(t.Context(), s.Caller, p)), test.code, test.param)
	}
}

// A default tax that the host sets later is not on the invoice of what was paid without it.
func TestLaterDefaultTaxIsForLaterSessions(t *testing.T) {
	store := memory.New()
	s := &shop{testkit.OpenShop(t, store, payments.Config{}), t}
	plan := must.Get(s.Plans.Create(t.Context(), s.Caller, catalog.CreatePlanParams{Name: "Juice", Amount: 4500, Interval: catalog.Week, Taxable: new(true)}))(t)
	made := s.create(membership(plan))
	expect.Equal(t, made.Total, 4500, "total")
	after := testkit.New(t, store, payments.Config{Sandbox: true, Clock: s.Now, DefaultTax: new(decimal.NewFromInt(20))})
	must.Get(after.Checkout.Pay(t.Context(), s.Caller, made.ID, checkout.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: quick}}))(t)
	must.Do(t, after.Drain(t.Context()))
	bill := must.Get(s.Invoices.Get(t.Context(), s.Caller, *s.subscription(made.ID).LatestInvoice))(t)
	expect.True(t, bill.Total == 4500 && bill.AmountPaid == s.payments(made.ID)[0].Amount, "the invoice is of %d, with %d paid", bill.Total, bill.AmountPaid)
}
