package checkout_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
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
	expect.Equal(t, made.Subtotal, 9000, "the session costs: subtotal")
	expect.Equal(t, made.Tax, 1800, "the session costs: tax")
	expect.Equal(t, made.Total, 10800, "the session costs: total")
	expect.Same(t, made.Plan, new(plan.ID), "the session costs: plan")
	expect.Same(t, made.Quantity, new(int64(2)), "the session costs: quantity")
	// What the session has copied stays.
	must.Get(s.Plans.Update(t.Context(), s.Caller, plan.ID, catalog.UpdatePlanParams{Name: new("Another"), TrialPeriodDays: new(new(int64(7))), Active: new(false)}))(t)
	pay := checkout.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: quick}, Name: new("Ama Mensah"), Email: new("ama@example.com")}
	must.Get(s.Checkout.Pay(t.Context(), s.Caller, made.ID, pay))(t)
	expect.True(t, s.get(made.ID).Subscription == nil, "a subscription begins before the payment")
	s.work()

	s.is(made.ID, checkout.Complete, checkout.Paid)
	done, sub := s.get(made.ID), s.subscription(made.ID)
	expect.Equal(t, sub.Status, subscription.Active, "the subscription: status")
	expect.Equal(t, sub.CollectionMethod, invoice.ChargeAutomatically, "the subscription: collection method")
	expect.Same(t, sub.PhoneNumber, new("024****567"), "the subscription: phone number")
	expect.Equal(t, sub.Quantity, 2, "the subscription: quantity")
	expect.True(t, sub.Metadata["shelf"] == "3", "the subscription is %+v", sub)
	customer := must.Get(s.Accounts.GetCustomer(t.Context(), s.Caller, sub.Customer))(t)
	expect.Equal(t, customer.Name, "Ama Mensah", "the customer: name")
	expect.Equal(t, customer.Email, "ama@example.com", "the customer: email")
	expect.Equal(t, customer.Phone, "+233241234567", "the customer: phone")
	expect.Same(t, done.Customer, new(customer.ID), "customer")
	bill := must.Get(s.Invoices.Get(t.Context(), s.Caller, *sub.LatestInvoice))(t)
	expect.Equal(t, bill.Status, invoice.Paid, "the invoice: status of %+v", bill)
	expect.Equal(t, bill.Total, 10800, "the invoice: total")
	must.True(t, done.Payment != nil, "the session has no payment: %+v", done)
	expect.Same(t, bill.Payment, done.Payment, "the invoice: payment")
	expect.Equal(t, bill.Lines.Data[0].Description, "Juice every week", "the invoice: description of the line")
	paid := s.payments(made.ID)[0]
	expect.Same(t, paid.Subscription, new(sub.ID), "the payment: subscription")
	expect.Same(t, paid.Invoice, new(bill.ID), "the payment: invoice")
	expect.Same(t, paid.Customer, new(customer.ID), "the payment: customer")
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
	expect.Equal(t, sub.Status, subscription.Trialing, "the subscription: status")
	expect.Same(t, sub.TrialEnd, new(s.Now().Add(14*24*time.Hour).Unix()), "the subscription: trial end")
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
	expect.Equal(t, sub.Status, subscription.Active, "the subscription: status")
	must.True(t, sub.Discount != nil, "the subscription is %+v", sub)
	expect.Equal(t, sub.Discount.Coupon, p.Coupon, "the subscription: coupon of the discount")
	expect.True(t, sub.Discount.End != nil, "the subscription: Discount.End is nil")
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
	expect.Equal(t, bill.Total, 4500, "the invoice: total")
	expect.Equal(t, bill.AmountPaid, s.payments(made.ID)[0].Amount, "the invoice: amount paid")
}

// hosted enters a phone on the page, and returns what the page then shows.
func (s *shop) hosted(session, number string) *checkout.Hosted {
	s.t.Helper()
	must.Do(s.t, s.Checkout.PayHosted(s.t.Context(), s.Caller, session, checkout.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: number}}))
	return must.Get(s.Checkout.HostedByID(s.t.Context(), s.Caller, session))(s.t)
}

func (s *shop) confirm(session, code string) error {
	return testkit.Err(s.Checkout.ConfirmPhone(s.t.Context(), s.Caller, session, code))
}

// With nothing to pay now, a page begins a subscription once a code has confirmed the phone.
func TestCodeConfirmsPhoneOfFreeStart(t *testing.T) {
	s := open(t)
	coupon := s.coupon(catalog.CreateCouponParams{PercentOff: new(decimal.NewFromInt(100)), MaxRedemptions: new(int64(1))})
	free := membership(s.weekly(0))
	free.Coupon = coupon
	for name, p := range map[string]checkout.CreateParams{"a trial": membership(s.weekly(14)), "a coupon": free} {
		made := s.create(p)
		testkit.WantParam(t, name+": a code before any was sent", s.confirm(made.ID, "123456"), api.OTPInvalid, "code")
		h := s.hosted(made.ID, "0551234987")
		expect.Equal(t, h.Session.Status, checkout.Open, "%s: the page: status of the session", name)
		must.True(t, h.Confirming != nil, "%s: the page has %+v", name, h)
		expect.Equal(t, h.Confirming.PhoneNumber, "055****987", "%s: the page: phone number of the confirming", name)
		expect.True(t, h.Confirming.ExpiresAt.Equal(s.Now().Add(10*time.Minute)), "%s: the page has %+v", name, h)
		testkit.WantParam(t, name+": no digits", s.confirm(made.ID, "12345x"), api.ParameterInvalid, "code")
		testkit.WantParam(t, name+": a wrong code", s.confirm(made.ID, "123457"), api.OTPInvalid, "code")
		if p.Coupon != "" { // the rows come in any order
			expect.Equal(t, s.redeemed(coupon), 0, "%s: redemptions before the code", name)
		}
		// Another number takes the place of the first.
		expect.Equal(t, s.hosted(made.ID, quick).Confirming.PhoneNumber, "024****567", "%s: the next number", name)
		expect.NoError(t, s.confirm(made.ID, "123456"), "%s: the code", name)
		s.is(made.ID, checkout.Complete, checkout.NoPaymentRequired)
		expect.Equal(t, *s.subscription(made.ID).PhoneNumber, "024****567", "%s: the phone that is charged", name)
		testkit.WantCode(t, name+": the code again", s.confirm(made.ID, "123456"), api.CheckoutNotOpen)
	}
	expect.Equal(t, s.redeemed(coupon), 1, "redemptions")
	sent := must.Get(s.Messages.List(t.Context(), s.Caller, message.ListParams{To: "0551234987"}))(t).Data
	must.True(t, len(sent) == 2, "%d SMS to the first number", len(sent))
	for _, m := range sent {
		expect.Equal(t, m.Text, "123456 is your code to let Adom Juice Bar charge this phone for Juice every week. It is valid for 10 minutes. Do not tell it to anybody.", "the SMS")
	}

	// A code has its time and its wrong entries.
	late := s.create(membership(s.weekly(14)))
	s.hosted(late.ID, quick)
	s.Pass(10 * time.Minute)
	testkit.WantCode(t, "after ten minutes", s.confirm(late.ID, "123456"), api.OTPExpired)
	s.hosted(late.ID, quick)
	for range 5 {
		testkit.WantCode(t, "a wrong code", s.confirm(late.ID, "654321"), api.OTPInvalid)
	}
	testkit.WantCode(t, "the right code after five wrong ones", s.confirm(late.ID, "123456"), api.OTPAttemptsExceeded)
	s.is(late.ID, checkout.Open, checkout.Unpaid)

	// A session sends so many codes, whichever the numbers are.
	busy := s.create(membership(s.weekly(14)))
	for i := range 100 {
		s.hosted(busy.ID, fmt.Sprintf("02412345%02d", i))
	}
	err := s.Checkout.PayHosted(t.Context(), s.Caller, busy.ID, checkout.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: quick}})
	testkit.WantCode(t, "the 101st code", err, api.RateLimited)

	// A customer who is deleted meanwhile begins no subscription.
	customer := must.Get(s.Accounts.CreateCustomer(t.Context(), s.Caller, account.CreateCustomerParams{Name: "Akua"}))(t)
	p := membership(s.weekly(14))
	p.Customer = customer.ID
	gone := s.create(p)
	s.hosted(gone.ID, quick)
	must.Get(s.Accounts.DeleteCustomer(t.Context(), s.Caller, customer.ID))(t)
	testkit.WantCode(t, "a deleted customer", s.confirm(gone.ID, "123456"), api.CheckoutNotOpen)
}

// silent sends no SMS.
type silent struct{}

func (silent) SendSMS(context.Context, message.SMS) error { return nil }

// In live mode a code needs an SMS, and a phone gets few of them over all sessions.
func TestLiveCodesOfFreeStarts(t *testing.T) {
	for _, texter := range []message.Texter{nil, silent{}} {
		s := &shop{testkit.OpenShop(t, memory.New(), payments.Config{Live: payments.Providers{Charger: provider.Simulated{}, Texter: texter}}), t}
		s.Caller.Live = true
		plan := s.weekly(14)
		pay := func() error {
			return testkit.Err(s.Checkout.Pay(t.Context(), s.Caller, s.create(membership(plan)).ID, checkout.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: quick}}))
		}
		if texter == nil {
			testkit.WantCode(t, "without a Texter", pay(), api.Unavailable)
			continue
		}
		for range 5 {
			must.Do(t, pay())
		}
		testkit.WantCode(t, "a sixth code to one phone", pay(), api.RateLimited)
	}
}

// A phone gets one trial of a plan, however it began. Another session charges at once, and its page asks again.
func TestOneTrialForAPhone(t *testing.T) {
	s := open(t)
	plan, other := s.weekly(14), s.weekly(14)
	first, second, third := s.create(membership(plan)), s.create(membership(plan)), s.create(membership(plan))
	late := s.create(membership(plan))
	s.hosted(late.ID, quick) // both have a code
	s.hosted(first.ID, quick)
	must.Do(t, s.confirm(first.ID, "123456"))
	expect.Equal(t, s.subscription(first.ID).Status, subscription.Trialing, "the first")

	must.Do(t, s.confirm(late.ID, "123456"))
	s.is(late.ID, checkout.Open, checkout.Unpaid)
	expect.Equal(t, s.get(late.ID).Total, 5400, "total of the session whose code came later")
	testkit.WantParam(t, "the code of a session that costs something by now", s.confirm(late.ID, "123456"), api.OTPInvalid, "code")

	h := s.hosted(second.ID, quick)
	is := h.Session
	expect.Equal(t, h.TrialUsed, true, "the page asks again: TrialUsed")
	expect.True(t, h.Confirming == nil, "the page asks for a code: %+v", h.Confirming)
	expect.Equal(t, is.Status, checkout.Open, "the page asks again: status")
	expect.Equal(t, is.Subtotal, 4500, "the page asks again: subtotal")
	expect.Equal(t, is.Tax, 900, "the page asks again: tax")
	expect.Equal(t, is.Total, 5400, "the page asks again: total")
	expect.Equal(t, is.Lines.Data[0].Amount, 4500, "the page asks again: amount of the line")
	expect.Equal(t, len(s.payments(second.ID)), 0, "payments before the page has asked again")
	// A phone without a trial has it after all, and the first is charged again when it comes back.
	h = s.hosted(second.ID, "0551234987")
	expect.Equal(t, h.TrialUsed, false, "TrialUsed")
	expect.Equal(t, h.Session.Total, 0, "total of the session")
	expect.Equal(t, h.Session.Subtotal, 0, "subtotal of the session")
	expect.True(t, h.Confirming == nil, "Confirming is set")
	expect.True(t, s.hosted(second.ID, "0551234987").Confirming != nil, "pressed again, the other phone gets no code")
	s.hosted(second.ID, quick)
	testkit.WantParam(t, "the code of the other phone", s.confirm(second.ID, "123456"), api.OTPInvalid, "code")
	s.hosted(second.ID, quick)
	s.work()
	s.is(second.ID, checkout.Complete, checkout.Paid)
	expect.Equal(t, s.subscription(second.ID).Status, subscription.Active, "the second")

	// A call names the phone once, and pays at once.
	expect.NoError(t, s.phone(third.ID, quick), "pay")
	s.work()
	s.is(third.ID, checkout.Complete, checkout.Paid)
	expect.True(t, s.subscription(third.ID).TrialEnd == nil, "the third has a trial: TrialEnd is set")
	expect.Equal(t, s.get(third.ID).Total, 5400, "the third has a trial: total")
	expect.Equal(t, s.available(), "1108.00", "balance")

	// A wallet pays the first period of a phone that had its trial.
	fourth := s.create(membership(plan))
	_, err := s.Checkout.Pay(t.Context(), s.Caller, fourth.ID, checkout.PayParams{
		MobileMoney: payment.MobileMoney{PhoneNumber: quick}, Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: s.PIN,
	})
	must.Do(t, err)
	s.is(fourth.ID, checkout.Complete, checkout.Paid)
	expect.Equal(t, s.available(), "1162.00", "balance")

	// Another plan has its own trial, and one that an API call began counts, which always gives it.
	customer := must.Get(s.Accounts.CreateCustomer(t.Context(), s.Caller, account.CreateCustomerParams{Name: "Akua", Phone: quick}))(t)
	for range 2 {
		sub := must.Get(s.Subscriptions.Create(t.Context(), s.Caller, subscription.CreateParams{Customer: customer.ID, Plan: other.ID}))(t)
		expect.Equal(t, sub.Status, subscription.Trialing, "of a call")
	}
	expect.Equal(t, s.hosted(s.create(membership(other)).ID, quick).Session.Total, 5400, "after the trial of a call")
	s.Verified()
}

// A change of the server's key keeps the trials that were noted under the older ones.
func TestOneTrialDespiteNewKey(t *testing.T) {
	key := func(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }
	store := memory.New()
	s := &shop{testkit.OpenShop(t, store, payments.Config{Key: key(1)}), t}
	plan := s.weekly(14)
	customer := must.Get(s.Accounts.CreateCustomer(t.Context(), s.Caller, account.CreateCustomerParams{Name: "Akua", Phone: quick}))(t)
	must.Get(s.Subscriptions.Create(t.Context(), s.Caller, subscription.CreateParams{Customer: customer.ID, Plan: plan.ID}))(t)
	s.Service = testkit.New(t, store, payments.Config{
		Sandbox: true, BaseURL: s.Server.URL, Clock: s.Now, Key: key(2), FallbackKeys: [][]byte{key(1)},
	})
	expect.Equal(t, s.hosted(s.create(membership(plan)).ID, quick).Session.Total, 5400, "total under the new key")
}

// A payment that was left and is approved late buys the first period, also while the session shows the trial of
// another phone.
func TestLatePaymentBeginsWithoutTrial(t *testing.T) {
	s := open(t)
	plan := s.weekly(14)
	begun := s.create(membership(plan))
	expect.NoError(t, s.phone(begun.ID, never), "begin")
	made := s.create(membership(plan))
	s.hosted(made.ID, never)
	h := s.hosted(made.ID, never)
	must.True(t, h.Attempt != "", "no phone is asked")
	s.work()
	must.Do(t, s.Payments.Leave(t.Context(), s.Caller, h.Attempt))
	s.hosted(made.ID, quick)
	expect.Equal(t, s.get(made.ID).Total, 0, "total for another phone")
	must.Do(t, s.Providers.Settle(t.Context(), s.Caller, h.Attempt, provider.Result{Outcome: provider.Paid}))
	s.work()
	s.is(made.ID, checkout.Complete, checkout.Paid)
	expect.Equal(t, s.get(made.ID).Total, 5400, "total")
	expect.Equal(t, s.subscription(made.ID).Status, subscription.Active, "status")
	expect.Equal(t, *s.subscription(made.ID).PhoneNumber, phone.Mask("+233"+never[1:]), "the phone that is charged")
	expect.Equal(t, s.available(), "1054.00", "balance")
	s.Verified()
}
