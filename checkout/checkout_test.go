package checkout_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// The phones of payers: one pays at once, one declines, and one never answers. Each may be asked
// once at a time.
const (
	quick    = "0241234567"
	declines = "0241230901"
	never    = "0241230903"
	late     = "0201230906" // is submitted after 25 seconds
)

const thanks = "https://shop.example/thanks?session={CHECKOUT_SESSION_ID}"

// shop is a shop that sells over sessions.
type shop struct {
	*testkit.Shop
	t *testing.T
}

func open(t *testing.T) *shop {
	t.Helper()
	return &shop{testkit.OpenShop(t, memory.New(), payments.Config{}), t}
}

// order is two shirts and their delivery: GHS 26.00, of which 5.00 is not taxed, with 20% tax.
func order() checkout.CreateParams {
	return checkout.CreateParams{
		SuccessURL: thanks, Reference: "Order 2041",
		Lines: []invoice.LineParams{
			{Description: "Kente shirt", UnitAmount: new(int64(1050)), Quantity: new(decimal.NewFromInt(2)), Taxable: new(true), TaxPercent: new(decimal.NewFromInt(20))},
			{Description: "Delivery", UnitAmount: new(int64(500))},
		},
	}
}

func (s *shop) create(p checkout.CreateParams) *checkout.Session {
	s.t.Helper()
	return must.Get(s.Checkout.Create(s.t.Context(), s.Caller, p))(s.t)
}

func (s *shop) get(id string) *checkout.Session {
	s.t.Helper()
	return must.Get(s.Checkout.Get(s.t.Context(), s.Caller, id))(s.t)
}

// phone pays from a phone, and does the work.
func (s *shop) phone(id, number string) error {
	s.t.Helper()
	_, err := s.Checkout.Pay(s.t.Context(), s.Caller, id, checkout.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: number}})
	s.work()
	return err
}

// wallet pays from the consumer's wallet.
func (s *shop) wallet(id string) (*checkout.Session, error) {
	return s.Checkout.Pay(s.t.Context(), s.Caller, id, checkout.PayParams{Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: s.PIN})
}

func (s *shop) work() {
	s.t.Helper()
	must.Do(s.t, s.Drain(s.t.Context()))
}

func (s *shop) after(d time.Duration) {
	s.t.Helper()
	s.Pass(d)
	s.work()
}

// payments are those of a session, the oldest first.
func (s *shop) payments(id string) []payment.Payment {
	s.t.Helper()
	list := must.Get(s.Payments.List(s.t.Context(), s.Caller, payment.ListParams{CheckoutSession: id}))(s.t)
	slices.Reverse(list.Data)
	return list.Data
}

// settle decides the nth payment of a session.
func (s *shop) settle(id string, n int, outcome provider.Outcome) {
	s.t.Helper()
	must.Do(s.t, s.Providers.Settle(s.t.Context(), s.Caller, s.payments(id)[n].ID, provider.Result{Outcome: outcome}))
	s.work()
}

func (s *shop) coupon(p catalog.CreateCouponParams) string {
	s.t.Helper()
	return must.Get(s.Coupons.Create(s.t.Context(), s.Caller, p))(s.t).ID
}

func (s *shop) redeemed(coupon string) int64 {
	s.t.Helper()
	return must.Get(s.Coupons.Get(s.t.Context(), s.Caller, coupon))(s.t).TimesRedeemed
}

func (s *shop) events() string {
	s.t.Helper()
	var types []string
	for _, e := range must.Get(s.Events.List(s.t.Context(), s.Caller, event.ListParams{Page: api.Page{Limit: 100}}))(s.t).Data {
		types = append(types, string(e.Type))
	}
	slices.Reverse(types)
	return strings.Join(types, " ")
}

func (s *shop) available() string {
	s.t.Helper()
	return must.Get(s.Accounts.Balance(s.t.Context(), s.Caller))(s.t).Available.StringFixed(2)
}

// is checks the state of a session.
func (s *shop) is(id string, status checkout.Status, paid checkout.PaymentStatus) {
	s.t.Helper()
	v := s.get(id)
	expect.Equal(s.t, v.Status, status, "status")
	expect.Equal(s.t, v.PaymentStatus, paid, "payment status")
	expect.Equal(s.t, v.URL != nil, status == checkout.Open, "has an address")
	expect.Equal(s.t, v.Payment != nil, paid == checkout.Paid, "has a payment")
	expect.Equal(s.t, v.CompletedAt != nil, status == checkout.Complete, "has a time of completion")
}

// A session costs what an invoice with the same lines and coupon costs.
func TestSessionCostsWhatAnInvoiceCosts(t *testing.T) {
	s := open(t)
	p := order()
	p.Coupon = s.coupon(catalog.CreateCouponParams{PercentOff: new(decimal.RequireFromString("12.5"))})
	made := s.create(p)
	bill := must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{Fields: invoice.Fields{Lines: p.Lines, Coupon: &p.Coupon}}))(t)
	type costs struct{ subtotal, discount, tax, total int64 }
	expect.Equal(t, costs{made.Subtotal, made.Discount, made.Tax, made.Total}, costs{bill.Subtotal, bill.Discount, bill.Tax, bill.Total}, "costs")
	expect.Equal(t, made.Total, int64(2642), "total") // 26.00 - 3.25 + 20% of (21.00 - 2.63)
	lines := must.Get(s.Checkout.ListLines(t.Context(), s.Caller, made.ID, api.Page{Limit: 1}))(t)
	must.True(t, len(lines.Data) == 1, "the lines are %+v", lines)
	expect.Equal(t, lines.HasMore, true, "the lines: HasMore")
	expect.Equal(t, lines.Data[0].Amount, 2100, "the lines: amount of the first")
	expect.Equal(t, s.redeemed(p.Coupon), 0, "the creation redeems")
	expect.Equal(t, made.ExpiresAt, s.Now().Add(24*time.Hour).Unix(), "expires")
}

// On a session's line a rate alone means taxable. On an invoice's it does not, as the specification says.
func TestRateMeansTaxableOnSession(t *testing.T) {
	s := open(t)
	p, rate, price := order(), decimal.NewFromInt(20), int64(10_00)
	exempt := must.Get(s.Products.Create(t.Context(), s.Caller, catalog.CreateProductParams{Name: "Sobolo", UnitAmount: &price, Taxable: new(false)}))(t)
	p.Lines = []invoice.LineParams{
		{Description: "a", UnitAmount: &price, TaxPercent: &rate},
		{Description: "b", UnitAmount: &price, TaxPercent: &rate, Taxable: new(false)},
		{Description: "c", UnitAmount: &price},
		{Product: exempt.ID},
		{Product: exempt.ID, TaxPercent: &rate},
	}
	made := s.create(p)
	expect.Equal(t, made.Tax, int64(4_00), "the tax of a session")
	expect.Equal(t, made.Lines.Data[0].Taxable, true, "Lines.Data[0].Taxable")
	expect.Equal(t, made.Lines.Data[1].Taxable, false, "Lines.Data[1].Taxable")
	expect.Equal(t, made.Lines.Data[4].Taxable, true, "Lines.Data[4].Taxable")
	bill := must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{Fields: invoice.Fields{Lines: p.Lines}}))(t)
	expect.Equal(t, bill.Tax, int64(0), "the tax of an invoice")
}

// A product is copied, so that a later change does not change the session.
func TestSessionCopiesProducts(t *testing.T) {
	s := open(t)
	juice := must.Get(s.Products.Create(t.Context(), s.Caller, catalog.CreateProductParams{Name: "Sobolo", UnitAmount: new(int64(1500))}))(t)
	p := order()
	p.Lines = []invoice.LineParams{{Product: juice.ID}}
	made := s.create(p)
	must.Get(s.Products.Update(t.Context(), s.Caller, juice.ID, catalog.UpdateProductParams{Name: new("Asaana"), UnitAmount: new(new(int64(1)))}))(t)
	line := s.get(made.ID).Lines.Data[0]
	expect.Equal(t, line.Description, "Sobolo", "the line: description")
	expect.Equal(t, line.UnitAmount, 1500, "the line: unit amount")
	expect.Same(t, line.Product, new(juice.ID), "the line: product")
}

func TestInvalidSessionsAreRefused(t *testing.T) {
	s := open(t)
	with := func(change func(*checkout.CreateParams)) checkout.CreateParams {
		p := order()
		change(&p)
		return p
	}
	used := s.coupon(catalog.CreateCouponParams{AmountOff: new(int64(1)), MaxRedemptions: new(int64(1))})
	must.Get(s.wallet(s.create(with(func(p *checkout.CreateParams) { p.Coupon = used })).ID))(t)
	past := s.coupon(catalog.CreateCouponParams{AmountOff: new(int64(1)), RedeemBy: s.Now().Add(time.Hour)})
	s.Pass(2 * time.Hour)
	customer := must.Get(s.Accounts.CreateCustomer(t.Context(), s.Caller, account.CreateCustomerParams{Name: "Akua"}))(t)
	long := strings.Repeat("x", 501)
	for name, test := range map[string]struct {
		change func(*checkout.CreateParams)
		code   api.Code
		param  string
	}{
		"another mode":         {func(p *checkout.CreateParams) { p.Mode = "setup" }, api.ParameterInvalid, "mode"},
		"no lines":             {func(p *checkout.CreateParams) { p.Lines = nil }, api.ParameterMissing, "line_items"},
		"too many lines":       {func(p *checkout.CreateParams) { p.Lines = make([]invoice.LineParams, 251) }, api.ParameterInvalid, "line_items"},
		"a line without price": {func(p *checkout.CreateParams) { p.Lines[1].UnitAmount = nil }, api.ParameterMissing, "line_items[1].unit_amount"},
		"1e9 digits":           {func(p *checkout.CreateParams) { p.Lines[1].Quantity = new(decimal.New(1, 1_000_000_000)) }, api.ParameterInvalid, "line_items[1].quantity"},
		"more than an amount":  {func(p *checkout.CreateParams) { p.Lines[1].UnitAmount = new(int64(99_999_999)) }, api.ParameterInvalid, "line_items[1]"},
		"an unknown product":   {func(p *checkout.CreateParams) { p.Lines[1].Product = "prod_1" }, api.ResourceMissing, "line_items[1].product"},
		"no way on":            {func(p *checkout.CreateParams) { p.SuccessURL = "" }, api.ParameterMissing, "success_url"},
		"a script":             {func(p *checkout.CreateParams) { p.CancelURL = "javascript:alert(1)" }, api.ParameterInvalid, "cancel_url"},
		"another currency":     {func(p *checkout.CreateParams) { p.Currency = "USD" }, api.CurrencyNotSupported, "currency"},
		"an unknown customer":  {func(p *checkout.CreateParams) { p.Customer = "cus_1" }, api.ResourceMissing, "customer"},
		"customer and name":    {func(p *checkout.CreateParams) { p.Customer, p.Name = customer.ID, "Esi" }, api.ParameterInvalid, "customer_name"},
		"customer and e-mail":  {func(p *checkout.CreateParams) { p.Customer, p.Email = customer.ID, "e@example.com" }, api.ParameterInvalid, "customer_email"},
		"customer and phone":   {func(p *checkout.CreateParams) { p.Customer, p.Phone = customer.ID, quick }, api.ParameterInvalid, "customer_phone"},
		"a long name":          {func(p *checkout.CreateParams) { p.Name = long }, api.ParameterInvalid, "customer_name"},
		"two addresses":        {func(p *checkout.CreateParams) { p.Email = "a@example.com, b@example.com" }, api.ParameterInvalid, "customer_email"},
		"a number abroad":      {func(p *checkout.CreateParams) { p.Phone = "+4412345678" }, api.InvalidPhoneNumber, "customer_phone"},
		"an unknown coupon":    {func(p *checkout.CreateParams) { p.Coupon = "cpn_1" }, api.ResourceMissing, "coupon"},
		"a used up coupon":     {func(p *checkout.CreateParams) { p.Coupon = used }, api.CouponNotRedeemable, "coupon"},
		"a coupon of before":   {func(p *checkout.CreateParams) { p.Coupon = past }, api.CouponNotRedeemable, "coupon"},
		"a short life":         {func(p *checkout.CreateParams) { p.ExpiresAt = s.Now().Add(30*time.Minute - time.Second) }, api.ParameterInvalid, "expires_at"},
		"a long life":          {func(p *checkout.CreateParams) { p.ExpiresAt = s.Now().Add(24*time.Hour + time.Second) }, api.ParameterInvalid, "expires_at"},
		"a long reference":     {func(p *checkout.CreateParams) { p.Reference = long[:101] }, api.ParameterInvalid, "reference"},
		"nested metadata":      {func(p *checkout.CreateParams) { p.Metadata = api.Metadata{"m": []any{}} }, api.ParameterInvalid, "metadata.m"},
	} {
		testkit.WantParam(t, name, testkit.Err(s.Checkout.Create(t.Context(), s.Caller, with(test.change))), test.code, test.param)
	}
	for _, life := range []time.Duration{30 * time.Minute, 24 * time.Hour} {
		made := s.create(with(func(p *checkout.CreateParams) { p.ExpiresAt = s.Now().Add(life) }))
		expect.Equal(t, made.ExpiresAt, s.Now().Add(life).Unix(), "expires")
	}
}

// noCustomers allows everything but to read customers.
type noCustomers struct{}

func (noCustomers) Allows(resource string, _ bool) bool { return resource != "customers" }

// A session takes the customer's data, and an API key that may not read customers makes none with one.
func TestSessionTakesCustomer(t *testing.T) {
	s := open(t)
	customer := must.Get(s.Accounts.CreateCustomer(t.Context(), s.Caller, account.CreateCustomerParams{Name: "Akua", Email: "akua@example.com", Phone: "0241000009"}))(t)
	p := order()
	p.Customer = customer.ID
	made := s.create(p)
	expect.Same(t, made.Name, new("Akua"), "the session: name")
	expect.Same(t, made.Email, new("akua@example.com"), "the session: email")
	expect.Same(t, made.Phone, new("+233241000009"), "the session: phone")
	narrow := s.Caller
	narrow.Permissions = noCustomers{}
	testkit.WantParam(t, "a narrow key", testkit.Err(s.Checkout.Create(t.Context(), narrow, p)), api.PermissionDenied, "customer")
	expect.NoError(t, s.phone(made.ID, quick), "pay")
	expect.Equal(t, *s.payments(made.ID)[0].Customer, customer.ID, "the payment's customer")
}

func TestWalletPaysSession(t *testing.T) {
	s := open(t)
	p := order()
	p.Metadata = api.Metadata{"order": "2041"}
	made := s.create(p)
	before := s.available()
	testkit.WantParam(t, "without a wallet", testkit.Err(s.Checkout.Pay(t.Context(), s.Caller, made.ID, checkout.PayParams{})), api.ParameterMissing, "phone_number")
	testkit.WantParam(t, "without a PIN", testkit.Err(s.Checkout.Pay(t.Context(), s.Caller, made.ID, checkout.PayParams{Wallet: account.WalletRef{AccountID: s.Consumer.ID}})), api.ParameterMissing, "pin")
	wrong := checkout.PayParams{Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: "9999"}
	testkit.WantCode(t, "with a wrong PIN", testkit.Err(s.Checkout.Pay(t.Context(), s.Caller, made.ID, wrong)), api.PINInvalid)
	s.is(made.ID, checkout.Open, checkout.Unpaid)

	done := must.Get(s.Checkout.Pay(t.Context(), s.Caller, made.ID, checkout.PayParams{
		Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: s.PIN, Email: new("ama@example.com"),
	}))(t)
	s.is(made.ID, checkout.Complete, checkout.Paid)
	paid := s.payments(made.ID)[0]
	expect.Equal(t, paid.ID, *done.Payment, "the payment: ID")
	expect.Equal(t, paid.Status, payment.Completed, "the payment: status")
	expect.Equal(t, paid.Amount, 3020, "the payment: amount")
	expect.Equal(t, paid.Reference, "Order 2041", "the payment: reference")
	expect.Equal(t, paid.Description, "Kente shirt and 1 more", "the payment: description")
	expect.True(t, paid.Metadata["order"] == "2041", "the payment is %+v", paid)
	expect.Equal(t, before+" "+s.available(), "1000.00 1030.20", "the balance before and after")
	expect.Equal(t, s.events(), "payment.created payment.succeeded checkout.session.completed", "events")
	testkit.WantCode(t, "once more", testkit.Err(s.wallet(made.ID)), api.CheckoutNotOpen)
	s.Verified()
	var told []string
	for _, m := range must.Get(s.Messages.List(t.Context(), s.Caller, message.ListParams{}))(t).Data {
		told = append(told, m.To+": "+m.Subject)
	}
	expect.Equal(t, len(told), 3, "told: number")
	expect.True(t, slices.ContainsFunc(told, func(m string) bool {
		return strings.HasPrefix(m, "ama@example.com: Receipt for Order 2041 from ")
	}), "told %q", told)
}

// A payment from a phone holds the session until it ends. Its success completes the session.
func TestPhonePaysSession(t *testing.T) {
	s := open(t)
	made := s.create(order())
	expect.NoError(t, s.phone(made.ID, never), "pay")
	s.is(made.ID, checkout.Open, checkout.Unpaid)
	for name, err := range map[string]error{
		"another phone": s.phone(made.ID, quick), "a wallet": testkit.Err(s.wallet(made.ID)),
		"expire": testkit.Err(s.Checkout.Expire(t.Context(), s.Caller, made.ID)),
	} {
		testkit.WantCode(t, name, err, api.PaymentInProgress)
	}
	s.settle(made.ID, 0, provider.Refused)
	s.is(made.ID, checkout.Open, checkout.Unpaid)
	expect.NoError(t, s.phone(made.ID, quick), "pay again")
	s.is(made.ID, checkout.Complete, checkout.Paid)
	expect.Equal(t, *s.get(made.ID).Payment, s.payments(made.ID)[1].ID, "the payment")
	expect.Equal(t, s.events(), "payment.created payment.pending payment.processing payment.failed "+
		"payment.created payment.pending payment.processing payment.succeeded checkout.session.completed", "events")
	testkit.WantCode(t, "expire a complete one", testkit.Err(s.Checkout.Expire(t.Context(), s.Caller, made.ID)), api.CheckoutNotOpen)
	s.Verified()
}

// A payer who approves after the hold completes what is still open. Money for which there is nothing
// left to pay is given back.
func TestLateApproval(t *testing.T) {
	s := open(t)
	made := s.create(order())
	expect.NoError(t, s.phone(made.ID, never), "pay")
	s.after(11 * time.Minute)
	expect.NoError(t, s.phone(made.ID, "0261230903"), "another phone pays")
	s.settle(made.ID, 0, provider.Paid)
	s.is(made.ID, checkout.Complete, checkout.Paid)
	expect.Equal(t, *s.get(made.ID).Payment, s.payments(made.ID)[0].ID, "the payment")
	s.settle(made.ID, 1, provider.Paid)
	back := must.Get(s.Refunds.List(t.Context(), s.Caller, refund.ListParams{}))(t).Data
	must.True(t, len(back) == 1, "refunds %+v", back)
	expect.Equal(t, back[0].Payment, s.payments(made.ID)[1].ID, "the refund: payment")
	expect.Same(t, back[0].Reason, new("Paid twice"), "the refund: reason")
	expect.Equal(t, s.available(), "1030.20", "balance")
	s.Verified()
}

// A session expires by the clock, but not while a payment holds it.
func TestSessionExpires(t *testing.T) {
	s := open(t)
	plain, held := s.create(order()), s.create(order())
	s.after(24*time.Hour - 5*time.Minute)
	expect.NoError(t, s.phone(held.ID, "0261230903"), "pay")
	must.Do(t, s.Payments.Leave(t.Context(), s.Caller, s.payments(held.ID)[0].ID)) // the worker sees it when the next payment holds
	expect.NoError(t, s.phone(held.ID, never), "pay again")
	s.after(5 * time.Minute)
	s.is(plain.ID, checkout.Expired, checkout.Unpaid)
	testkit.WantCode(t, "pay an expired one", s.phone(plain.ID, quick), api.CheckoutNotOpen)
	s.is(held.ID, checkout.Open, checkout.Unpaid)
	s.after(5 * time.Minute)
	s.is(held.ID, checkout.Expired, checkout.Unpaid)
	s.settle(held.ID, 1, provider.Paid)
	expect.Equal(t, len(must.Get(s.Refunds.List(t.Context(), s.Caller, refund.ListParams{}))(t).Data), 1, "refunds")
	s.is(held.ID, checkout.Expired, checkout.Unpaid)

	// The clock closes a session before the worker does.
	last := s.create(order())
	s.Pass(24 * time.Hour)
	testkit.WantCode(t, "pay in time's absence", testkit.Err(s.wallet(last.ID)), api.CheckoutNotOpen)
	s.work()
	expect.Equal(t, strings.Count(s.events(), "checkout.session.expired"), 3, "sessions that have expired")
}

// The events of an expiry name the call that made the session.
func TestExpiryNamesItsRequest(t *testing.T) {
	s := open(t)
	by := s.Caller
	by.RequestID, by.IdempotencyKey = "req_1", "k1"
	made := must.Get(s.Checkout.Create(t.Context(), by, order()))(t)
	s.after(24 * time.Hour)
	e := must.Get(s.Events.List(t.Context(), s.Caller, event.ListParams{Type: event.CheckoutSessionExpired}))(t).Data[0]
	var shown checkout.Session
	must.Do(t, json.Unmarshal(e.Data.Object, &shown))
	expect.Same(t, e.Request.ID, new("req_1"), "ID of the request")
	expect.Same(t, e.Request.IdempotencyKey, new("k1"), "idempotency key of the request")
	expect.Equal(t, shown.ID, made.ID, "ID")
	expect.Equal(t, shown.Status, checkout.Expired, "status")
	expect.True(t, shown.URL == nil, "URL is set")
}

// A session whose time is over ends as expired, whether its worker or its payer comes first.
func TestTimeEndsSessionBeforeWorker(t *testing.T) {
	s := open(t)
	made := s.create(order())
	expect.NoError(t, s.phone(made.ID, never), "pay")
	s.Pass(25 * time.Hour)
	testkit.WantCode(t, "expire", testkit.Err(s.Checkout.Expire(t.Context(), s.Caller, made.ID)), api.CheckoutNotOpen)
	must.Do(t, s.Providers.Settle(t.Context(), s.Caller, s.payments(made.ID)[0].ID, provider.Result{Outcome: provider.Paid}))
	s.work()
	s.is(made.ID, checkout.Expired, checkout.Unpaid)
	expect.Equal(t, len(must.Get(s.Refunds.List(t.Context(), s.Caller, refund.ListParams{}))(t).Data), 1, "refunds")

	held := s.create(order())
	s.after(24*time.Hour - 5*time.Minute)
	expect.NoError(t, s.phone(held.ID, "0261230903"), "pay shortly before the end")
	s.Pass(6 * time.Minute)
	testkit.WantCode(t, "expire a held one", testkit.Err(s.Checkout.Expire(t.Context(), s.Caller, held.ID)), api.PaymentInProgress)
	must.Do(t, s.Providers.Settle(t.Context(), s.Caller, s.payments(held.ID)[0].ID, provider.Result{Outcome: provider.Paid}))
	s.work()
	s.is(held.ID, checkout.Complete, checkout.Paid)
	s.Verified()
}

// What a payer enters is the session's once this payer has paid. An attempt that fails changes nothing.
func TestEntriesCountWithPayment(t *testing.T) {
	s := open(t)
	p := order()
	p.Email, p.Name = "ama@example.com", "Ama"
	made := s.create(p)
	attempt := func(number, email string) {
		t.Helper()
		from := checkout.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: number}, Email: &email, Name: new("Somebody")}
		must.Get(s.Checkout.Pay(t.Context(), s.Caller, made.ID, from))(t)
		s.work()
	}
	attempt(declines, "stranger@example.com")
	attempt(never, "late@example.com")
	is := s.get(made.ID)
	expect.Same(t, is.Email, new("ama@example.com"), "email")
	expect.Same(t, is.Name, new("Ama"), "name")
	s.after(11 * time.Minute)
	attempt("0261230903", "stranger@example.com")
	s.settle(made.ID, 1, provider.Paid)
	is = s.get(made.ID)
	expect.Same(t, is.Email, new("ama@example.com"), "email")
	expect.Same(t, is.Name, new("Ama"), "name")

	made = s.create(p)
	attempt(quick, "esi@example.com")
	is = s.get(made.ID)
	expect.Same(t, is.Email, new("esi@example.com"), "email")
	expect.Same(t, is.Name, new("Somebody"), "name")
}

// The receipt of an order for which nothing was due says so little as its total.
func TestReceiptOfNothing(t *testing.T) {
	s := open(t)
	p := order()
	p.Coupon = s.coupon(catalog.CreateCouponParams{PercentOff: new(decimal.NewFromInt(100))})
	must.Get(s.Checkout.Pay(t.Context(), s.Caller, s.create(p).ID, checkout.PayParams{Email: new("ama@example.com")}))(t)
	sent := must.Get(s.Messages.List(t.Context(), s.Caller, message.ListParams{}))(t).Data
	must.True(t, len(sent) == 1, "%d messages", len(sent))
	expect.Equal(t, sent[0].To, "ama@example.com", "to of the first")
	expect.True(t, strings.Contains(sent[0].Text, "GHS 0.00"), "the receipt is %s", sent[0].Text)
	expect.True(t, !strings.Contains(sent[0].Text, "Payment"), "the receipt is %s", sent[0].Text)
}

func TestExpireEndsSession(t *testing.T) {
	s := open(t)
	made := s.create(order())
	ended := must.Get(s.Checkout.Expire(t.Context(), s.Caller, made.ID))(t)
	expect.Equal(t, ended.Status, checkout.Expired, "status")
	testkit.WantCode(t, "once more", testkit.Err(s.Checkout.Expire(t.Context(), s.Caller, made.ID)), api.CheckoutNotOpen)
	testkit.WantCode(t, "pay", testkit.Err(s.wallet(made.ID)), api.CheckoutNotOpen)
	s.after(25 * time.Hour)
	expect.Equal(t, s.events(), "checkout.session.expired", "events")
}

// Nothing to pay needs no payment.
func TestSessionOfNothing(t *testing.T) {
	s := open(t)
	p := order()
	p.Coupon = s.coupon(catalog.CreateCouponParams{PercentOff: new(decimal.NewFromInt(100)), MaxRedemptions: new(int64(2))})
	first, second, third := s.create(p), s.create(p), s.create(p)
	must.Get(s.Checkout.Pay(t.Context(), s.Caller, first.ID, checkout.PayParams{}))(t)
	s.is(first.ID, checkout.Complete, checkout.NoPaymentRequired)
	expect.NoError(t, s.phone(second.ID, quick), "press with a number")
	s.is(second.ID, checkout.Complete, checkout.NoPaymentRequired)
	expect.Equal(t, len(s.payments(second.ID)), 0, "payments")
	expect.Equal(t, s.redeemed(p.Coupon), 2, "redeemed")
	testkit.WantParam(t, "a third", testkit.Err(s.Checkout.Pay(t.Context(), s.Caller, third.ID, checkout.PayParams{})), api.CouponNotRedeemable, "coupon")
	expect.Equal(t, s.events(), "checkout.session.completed checkout.session.completed", "events")
}

// keepsRedemption fails unless a session has the only redemption of its coupon. err is of what was done before.
func (s *shop) keepsRedemption(session string, err error) {
	s.t.Helper()
	must.Do(s.t, err)
	s.work()
	expect.Equal(s.t, s.redeemed(*s.get(session).Coupon), 1, "redeemed while the payment may be approved")
}

// The redemption of a coupon is taken with the hold. It is given back once each payment of the session has an
// outcome or has passed its deadline.
func TestCouponIsHeldWithSession(t *testing.T) {
	for name, end := range map[string]func(s *shop, session string){
		"declined": func(s *shop, id string) { s.settle(id, 0, provider.Refused) },
		"deadline": func(s *shop, _ string) { s.after(10 * time.Minute) },
		"another way, then declined": func(s *shop, id string) {
			s.keepsRedemption(id, s.Payments.Leave(s.t.Context(), s.Caller, s.payments(id)[0].ID))
			s.settle(id, 0, provider.Refused)
		},
		"released, then the deadline": func(s *shop, id string) {
			s.after(time.Minute)
			s.keepsRedemption(id, testkit.Err(s.Payments.Release(s.t.Context(), s.Caller, s.payments(id)[0].ID)))
			s.after(9 * time.Minute)
		},
		"another number, both declined": func(s *shop, id string) {
			s.keepsRedemption(id, s.Payments.Leave(s.t.Context(), s.Caller, s.payments(id)[0].ID))
			expect.NoError(s.t, s.phone(id, "0261230903"), "another number")
			s.settle(id, 1, provider.Refused)
			s.keepsRedemption(id, nil)
			s.settle(id, 0, provider.Refused)
		},
		"another number, the first declined, then the deadline": func(s *shop, id string) {
			s.keepsRedemption(id, s.Payments.Leave(s.t.Context(), s.Caller, s.payments(id)[0].ID))
			s.after(5 * time.Minute)
			expect.NoError(s.t, s.phone(id, "0261230903"), "another number")
			s.settle(id, 0, provider.Refused)
			s.keepsRedemption(id, s.Payments.Leave(s.t.Context(), s.Caller, s.payments(id)[1].ID))
			s.after(10*time.Minute - time.Second)
			s.keepsRedemption(id, nil)
			s.after(time.Second)
		},
		"expired": func(s *shop, id string) {
			s.keepsRedemption(id, s.Payments.Leave(s.t.Context(), s.Caller, s.payments(id)[0].ID))
			must.Get(s.Checkout.Expire(s.t.Context(), s.Caller, id))(s.t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			p := order()
			p.Coupon = s.coupon(catalog.CreateCouponParams{AmountOff: new(int64(100)), MaxRedemptions: new(int64(1))})
			first, second := s.create(p), s.create(p)
			expect.NoError(t, s.phone(first.ID, never), "pay")
			expect.Equal(t, s.redeemed(p.Coupon), 1, "redeemed with the hold")
			testkit.WantParam(t, "none is left", s.phone(second.ID, quick), api.CouponNotRedeemable, "coupon")
			testkit.WantParam(t, "none is left for a wallet", testkit.Err(s.wallet(second.ID)), api.CouponNotRedeemable, "coupon")
			expect.Equal(t, len(s.payments(second.ID)), 0, "payers who were asked")
			end(s, first.ID)
			expect.Equal(t, s.redeemed(p.Coupon), 0, "given back with the hold")
			expect.NoError(t, s.phone(second.ID, quick), "the second pays")
			expect.Equal(t, s.redeemed(p.Coupon), 1, "redeemed for good")
			s.is(second.ID, checkout.Complete, checkout.Paid)
			s.after(25 * time.Hour)
			s.is(first.ID, checkout.Expired, checkout.Unpaid)
			expect.Equal(t, s.redeemed(p.Coupon), 1, "redeemed in the end")
			s.Verified()
		})
	}
}

// A payment that is cancelled before it was submitted gives the redemption back.
func TestCancelledPaymentGivesCouponBack(t *testing.T) {
	s := open(t)
	p := order()
	p.Coupon = s.coupon(catalog.CreateCouponParams{AmountOff: new(int64(100))})
	made := s.create(p)
	expect.NoError(t, s.phone(made.ID, late), "pay")
	expect.Equal(t, s.redeemed(p.Coupon), 1, "redeemed")
	must.Get(s.Payments.Cancel(t.Context(), s.Caller, s.payments(made.ID)[0].ID))(t)
	s.work()
	expect.Equal(t, s.redeemed(p.Coupon), 0, "given back")
	must.Get(s.wallet(made.ID))(t)
	expect.Equal(t, s.redeemed(p.Coupon), 1, "redeemed")
}

// An attempt after a hold that the worker has not looked at yet takes one redemption, not two. If none is
// left, it is refused.
func TestNextAttemptTakesOneRedemption(t *testing.T) {
	s := open(t)
	p := order()
	p.Coupon = s.coupon(catalog.CreateCouponParams{AmountOff: new(int64(100)), MaxRedemptions: new(int64(1))})
	made := s.create(p)
	expect.NoError(t, s.phone(made.ID, never), "pay")
	s.Pass(11 * time.Minute)
	must.Get(s.Coupons.Update(t.Context(), s.Caller, p.Coupon, catalog.UpdateCouponParams{Active: new(false)}))(t)
	testkit.WantParam(t, "with an inactive coupon", testkit.Err(s.wallet(made.ID)), api.CouponNotRedeemable, "coupon")
	must.Get(s.Coupons.Update(t.Context(), s.Caller, p.Coupon, catalog.UpdateCouponParams{Active: new(true)}))(t)
	expect.NoError(t, s.phone(made.ID, quick), "pay again")
	s.is(made.ID, checkout.Complete, checkout.Paid)
	expect.Equal(t, s.redeemed(p.Coupon), 1, "redeemed")
	s.settle(made.ID, 0, provider.Refused)
	expect.Equal(t, s.redeemed(p.Coupon), 1, "after the first has failed")
}

// givenBack returns the reason for which a payment was refunded by itself; "" if it was not.
func (s *shop) givenBack(id string) string {
	s.t.Helper()
	back := must.Get(s.Refunds.List(s.t.Context(), s.Caller, refund.ListParams{Payment: id}))(s.t).Data
	if len(back) == 0 {
		return ""
	}
	expect.Equal(s.t, len(back), 1, "refunds")
	return *back[0].Reason
}

// A late success beyond the limit of the coupon is given back. One within it counts.
func TestLateApprovalKeepsCouponLimit(t *testing.T) {
	s := open(t)
	p := order()
	p.Coupon = s.coupon(catalog.CreateCouponParams{AmountOff: new(int64(100)), MaxRedemptions: new(int64(2))})
	first, second, third := s.create(p), s.create(p), s.create(p)
	expect.NoError(t, s.phone(first.ID, never), "pay")
	expect.NoError(t, s.phone(second.ID, "0261230903"), "pay")
	s.after(11 * time.Minute)
	expect.Equal(t, s.redeemed(p.Coupon), 0, "given back")
	expect.NoError(t, s.phone(third.ID, quick), "the third pays")
	s.settle(first.ID, 0, provider.Paid)
	s.is(first.ID, checkout.Complete, checkout.Paid)
	s.settle(second.ID, 0, provider.Paid)
	s.is(second.ID, checkout.Open, checkout.Unpaid)
	expect.Equal(t, s.givenBack(s.payments(first.ID)[0].ID), "", "given back of the first")
	expect.Equal(t, s.givenBack(s.payments(second.ID)[0].ID), collect.CouponUsedUp, "given back of the second")
	expect.Equal(t, s.redeemed(p.Coupon), 2, "redeemed")
	s.Verified()
}

// Five phones pay with a coupon that may be redeemed once, in one session or in five: one session completes.
func TestFivePhonesRedeemOneCoupon(t *testing.T) {
	for name, sessions := range map[string]int{"one session": 1, "five sessions": 5} {
		for _, after := range []time.Duration{time.Second, 11 * time.Minute} {
			t.Run(fmt.Sprint(name, ", each after ", after), func(t *testing.T) {
				s := open(t)
				p := order()
				p.Coupon = s.coupon(catalog.CreateCouponParams{AmountOff: new(int64(100)), MaxRedemptions: new(int64(1))})
				var made []string
				for range sessions {
					made = append(made, s.create(p).ID)
				}
				asked := 0
				for n := range 5 {
					id := made[n%sessions]
					err := s.phone(id, fmt.Sprintf("02412%d0903", n))
					if sessions > 1 && n > 0 && after < time.Minute {
						testkit.WantCode(t, "while another session has the redemption", err, api.CouponNotRedeemable)
						continue
					}
					must.Do(t, err)
					asked++
					must.Do(t, s.Payments.Leave(t.Context(), s.Caller, s.payments(id)[len(s.payments(id))-1].ID))
					s.after(after)
				}
				expect.True(t, s.redeemed(p.Coupon) <= 1, "redeemed %d times", s.redeemed(p.Coupon))
				kept, back := 0, map[string]int{}
				for _, id := range made {
					for n := range s.payments(id) {
						s.settle(id, n, provider.Paid)
						if why := s.givenBack(s.payments(id)[n].ID); why != "" {
							back[why]++
						} else {
							kept++
						}
					}
				}
				expect.Equal(t, kept, 1, "payments that are kept")
				why := collect.PaidTwice
				if sessions > 1 {
					why = collect.CouponUsedUp
				}
				expect.Equal(t, back[why], asked-1, "given back: %v", back)
				expect.Equal(t, s.redeemed(p.Coupon), 1, "redeemed")
				s.Verified()
			})
		}
	}
}

// The reason of the refund says what has become of the session.
func TestReasonOfLateApproval(t *testing.T) {
	s := open(t)
	ended := s.create(order())
	expect.NoError(t, s.phone(ended.ID, never), "pay")
	must.Get(s.Payments.Release(t.Context(), s.Caller, s.payments(ended.ID)[0].ID))(t)
	must.Get(s.Checkout.Expire(t.Context(), s.Caller, ended.ID))(t)
	s.settle(ended.ID, 0, provider.Paid)
	expect.Equal(t, s.givenBack(s.payments(ended.ID)[0].ID), collect.SessionExpired, "of a session that was expired")
	over := s.create(order())
	expect.NoError(t, s.phone(over.ID, never), "pay")
	s.after(25 * time.Hour)
	s.settle(over.ID, 0, provider.Paid)
	expect.Equal(t, s.givenBack(s.payments(over.ID)[0].ID), collect.SessionExpired, "of a session whose time is over")
}

// A coupon that was deleted during the hold completes all the same.
func TestDeletedCouponOfLateApproval(t *testing.T) {
	s := open(t)
	p := order()
	p.Coupon = s.coupon(catalog.CreateCouponParams{AmountOff: new(int64(100))})
	made := s.create(p)
	expect.NoError(t, s.phone(made.ID, never), "pay")
	must.Get(s.Coupons.Delete(t.Context(), s.Caller, p.Coupon))(t)
	s.after(11 * time.Minute)
	testkit.WantParam(t, "another attempt", s.phone(made.ID, quick), api.CouponNotRedeemable, "coupon")
	s.settle(made.ID, 0, provider.Paid)
	s.is(made.ID, checkout.Complete, checkout.Paid)
}

func TestListsFilter(t *testing.T) {
	s := open(t)
	customer := must.Get(s.Accounts.CreateCustomer(t.Context(), s.Caller, account.CreateCustomerParams{}))(t)
	p := order()
	opened := s.create(p)
	p.Customer = customer.ID
	paid := s.create(p)
	done := must.Get(s.wallet(paid.ID))(t)
	for name, test := range map[string]struct {
		p    checkout.ListParams
		want string
	}{
		"all":             {checkout.ListParams{}, paid.ID + " " + opened.ID},
		"open":            {checkout.ListParams{Status: checkout.Open}, opened.ID},
		"of the customer": {checkout.ListParams{Customer: customer.ID}, paid.ID},
		"of the payment":  {checkout.ListParams{Payment: *done.Payment}, paid.ID},
		"of none":         {checkout.ListParams{Subscription: "sub_1"}, ""},
		"of tomorrow":     {checkout.ListParams{Created: api.Times{From: s.Now().Add(time.Hour)}}, ""},
	} {
		var got []string
		for _, v := range must.Get(s.Checkout.List(t.Context(), s.Caller, test.p))(t).Data {
			got = append(got, v.ID)
		}
		expect.Equal(t, strings.Join(got, " "), test.want, "%s", name)
	}
}

// Events carry the first ten lines.
func TestEventsCarryTenLines(t *testing.T) {
	s := open(t)
	p := order()
	for len(p.Lines) < 12 {
		p.Lines = append(p.Lines, p.Lines[1])
	}
	must.Get(s.wallet(s.create(p).ID))(t)
	e := must.Get(s.Events.List(t.Context(), s.Caller, event.ListParams{Type: event.CheckoutSessionCompleted}))(t).Data[0]
	var shown checkout.Session
	must.Do(t, json.Unmarshal(e.Data.Object, &shown))
	expect.Equal(t, len(shown.Lines.Data), 10, "the event shows: number of lines")
	expect.Equal(t, shown.Lines.HasMore, true, "Lines.HasMore")
}

// The address to return to is the merchant's website, as it was given.
func TestReturnAddresses(t *testing.T) {
	s := open(t)
	live := s.Caller
	live.Live = true
	for address, want := range map[string][2]bool{ // in test mode, in live mode
		"https://shop.example": {true, true},
		"https://shop.example:8443/a?b=c&d={CHECKOUT_SESSION_ID}#e":           {true, true},
		"https://shop.example/{CHECKOUT_SESSION_ID}":                          {true, true},
		"https://[2001:db8::1]:8443/":                                         {false, false},
		"https://shop.example/akwaaba-ɛ":                                      {true, true},
		"http://localhost:3000/thanks":                                        {true, false},
		"https://user@shop.example/":                                          {false, false},
		"https://user:secret@shop.example/":                                   {false, false},
		"https://shop.example;script-src/":                                    {false, false},
		"https://shop.example,evil.example/":                                  {false, false},
		"https://*/":                                                          {false, false},
		"https://shop.example:99999/":                                         {false, false},
		"https://shop.example/a b":                                            {false, false},
		"https://shop.example\\@evil.example/":                                {false, false},
		"https://shop.example/\nSet-Cookie: a=b":                              {false, false},
		"//shop.example/":                                                     {false, false},
		"/thanks":                                                             {false, false},
		"https:shop.example":                                                  {false, false},
		"ftp://shop.example/":                                                 {false, false},
		"data:text/html,x":                                                    {false, false},
		"https://sho_p.example/":                                              {false, false},
		"https://-shop.example/":                                              {false, false},
		"https://shop..example/":                                              {false, false},
		"https://./":                                                          {false, false},
		"https://shop.example:/":                                              {false, false},
		"https://shop.example:080/":                                           {false, false},
		"https://bücher.example/":                                             {false, false},
		"https://xn--bcher-kva.example/":                                      {true, true},
		"https://" + strings.Repeat("a", 64) + ".example/":                    {false, false},
		"https://" + strings.Repeat("a.", 127) + "example/":                   {false, false},
		"https://shop.example/" + strings.Repeat("ɛ", 400):                    {false, false},
		"https://shop.example/" + strings.Repeat("ɛ", 330):                    {true, true},
		"https://shop.example/" + strings.Repeat(`{CHECKOUT_SESSION_ID}`, 82): {false, false},
		"https://{CHECKOUT_SESSION_ID}.example/":                              {false, false},
		"https://shop.example/" + strings.Repeat("a", 2048):                   {false, false},
	} {
		p := order()
		p.SuccessURL = address
		for i, caller := range []api.Caller{s.Caller, live} {
			_, err := s.Checkout.Create(t.Context(), caller, p)
			if want[i] {
				expect.NoError(t, err, "%q, live %t", address, caller.Live)
			} else {
				testkit.WantParam(t, address, err, api.ParameterInvalid, "success_url")
			}
		}
	}
	made := s.create(order())
	expect.Equal(t, made.Destination(), "https://shop.example/thanks?session="+made.ID, "destination")
	expect.Equal(t, made.Origin(), "https://shop.example", "origin")
}
