package inspector_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/inspector"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
	"github.com/seed-7082ffec/payments/webhook"
)

// site is a shop with an inspector under /look.
type site struct {
	*paymentstest.Shop
	t testing.TB
	// address is of the inspector, without a slash at its end.
	address string
	client  *http.Client
}

// onEachStore runs a test on a site over each kind of store.
func onEachStore(t *testing.T, test func(*testing.T, *site)) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) { test(t, openOn(t, store, inspector.Config{})) })
}

func open(t *testing.T, c inspector.Config) *site {
	t.Helper()
	return openOn(t, memory.New(), c)
}

func openOn(t testing.TB, store storage.Store, c inspector.Config) *site {
	t.Helper()
	return openWith(t, store, c, payments.Config{})
}

// openWith opens a site whose service has a configuration of its own.
func openWith(t testing.TB, store storage.Store, c inspector.Config, service payments.Config) *site {
	t.Helper()
	service.WebhookAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	s := &site{Shop: paymentstest.NewWithStore(t, store, service), t: t}
	look := inspector.New(s.Service, c)
	mux := http.NewServeMux()
	mux.Handle("/look/", http.StripPrefix("/look", look))
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		look.Close()
		server.Close()
	})
	s.address = server.URL + "/look"
	s.client = server.Client()
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s
}

func (s *site) check(err error) {
	s.t.Helper()
	must.Do(s.t, err)
}

// at is the address of a page of the shop's.
func (s *site) at(path string) string { return s.address + "/" + s.Caller.Merchant + "/" + path }

// get reads a page.
func (s *site) get(address string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, address, nil)
	s.check(err)
	return s.send(r)
}

func (s *site) send(r *http.Request) (*http.Response, string) {
	s.t.Helper()
	answer, err := s.client.Do(r)
	s.check(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	s.check(err)
	return answer, string(body)
}

// page reads a page that is there.
func (s *site) page(path string) string {
	s.t.Helper()
	answer, body := s.get(s.at(path))
	must.True(s.t, answer.StatusCode == http.StatusOK, "%s: %s\n%s", path, answer.Status, body)
	return body
}

var tokens = regexp.MustCompile(`name="token" value="([^"]+)"`)

// token returns what the forms of the merchant's pages carry.
func (s *site) token() string {
	s.t.Helper()
	found := tokens.FindStringSubmatch(s.page("?form=add-money"))
	must.True(s.t, found != nil, "the form has no token")
	return found[1]
}

// post sends a form with fields in pairs, as a browser does.
func (s *site) post(path, token, form string, fields ...string) (*http.Response, string) {
	s.t.Helper()
	values := url.Values{"token": {token}, "do": {form}}
	for i := 0; i+1 < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.at(path), strings.NewReader(values.Encode()))
	s.check(err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return s.send(r)
}

// do does what a form does, and returns the page that it leads to.
func (s *site) do(path, form string, fields ...string) (at, body string) {
	s.t.Helper()
	answer, body := s.post(path, s.token(), form, fields...)
	must.True(s.t, answer.StatusCode == http.StatusSeeOther, "%s of %s: %s\n%s", form, path, answer.Status, body)
	to, err := answer.Location()
	s.check(err)
	answer, body = s.get(to.String())
	must.True(s.t, answer.StatusCode == http.StatusOK, "%s of %s leads to %s: %s", form, path, to, answer.Status)
	return to.Path, body
}

// everything is one of each, by what it is.
func (s *site) everything() map[string]string {
	s.t.Helper()
	ctx := s.t.Context()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"received":true}`)
	}))
	s.t.Cleanup(receiver.Close)
	endpoint, err := s.Webhooks.Create(ctx, s.Caller, webhook.CreateParams{URL: receiver.URL, Events: []event.Type{"*"}})
	s.check(err)
	code, err := s.QRCodes.Create(ctx, s.Caller, qrcode.CreateParams{Name: "Till 1", Description: "Fresh juice and snacks, every day from seven", Reference: "till-1"})
	s.check(err)
	once, err := s.QRCodes.Create(ctx, s.Caller, qrcode.CreateParams{Type: qrcode.Dynamic, Amount: new(int64(1250)), Name: "Order 1001"})
	s.check(err)
	paid := s.Pay(once.ID, 0)
	_, err = s.Payouts.RequestOTP(ctx, s.Caller, payout.ForPayout)
	s.check(err)
	otp := s.lastCode()
	_, err = s.Payouts.VerifyOTP(ctx, s.Caller, payout.OTPParams{Purpose: payout.ForPayout, Code: otp})
	s.check(err)
	out, err := s.Payouts.Create(ctx, s.Caller, payout.CreateParams{
		Amount: decimal.NewFromInt(150), OTPCode: otp, Description: "Supplier",
		Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241230903", AccountName: "Yaw Darko"},
	})
	s.check(err)
	sent, err := s.Disbursements.Create(ctx, s.Caller, disbursement.CreateParams{
		Amount: decimal.NewFromInt(20), Destination: payout.DestinationParams{Type: payout.ServiceWallet, AccountID: s.Consumer.ID}, Reference: "salary",
	})
	s.check(err)
	made := map[string]string{
		"consumers": s.Consumer.ID,
		"webhooks":  endpoint.ID, "qr-codes": code.ID, "once": once.ID, "payments": paid.ID, "payouts": out.ID, "disbursements": sent.ID, "otp": otp,
	}
	for status, final := range map[string]bool{"draft": false, "open": true} {
		v, err := s.Invoices.Create(ctx, s.Caller, invoice.CreateParams{AutoFinalize: final, Fields: invoice.Fields{
			Name: new("Akosua Addo"), Email: new("akosua@example.com"), Memo: new("Regular customer"),
			Lines: []invoice.LineParams{{Description: "Catering for the outdooring", Quantity: new(decimal.New(15, -1)), UnitAmount: new(int64(12500)), Taxable: new(true), TaxPercent: new(decimal.NewFromInt(20))}},
		}})
		s.check(err)
		made[status] = v.ID
	}
	made["invoices"] = made["open"]
	s.more(made, paid.ID)
	s.check(s.Drain(ctx))
	// Deliveries that waited for their endpoint are due, too.
	_, err = s.MoveClock(ctx, s.Caller, payments.ClockParams{By: time.Minute})
	s.check(err)
	events, err := s.Events.List(ctx, s.Caller, event.ListParams{Type: event.PaymentSucceeded})
	s.check(err)
	made["events"] = events.Data[0].ID
	list, err := s.Messages.List(ctx, s.Caller, message.ListParams{Kind: message.KindEmail})
	s.check(err)
	made["messages"] = list.Data[0].ID
	texts, err := s.Messages.List(ctx, s.Caller, message.ListParams{Kind: message.KindSMS})
	s.check(err)
	made["sms"] = texts.Data[0].ID
	return made
}

// more adds a refund, a customer and a batch of which one row is refused.
func (s *site) more(made map[string]string, paid string) {
	s.t.Helper()
	ctx := s.t.Context()
	back, err := s.Refunds.Create(ctx, s.Caller, refund.CreateParams{Payment: paid, Amount: new(int64(250)), Reason: "The juice was warm"})
	s.check(err)
	customer, err := s.Accounts.CreateCustomer(ctx, s.Caller, account.CreateCustomerParams{Name: "Esi Owusu", Email: "esi@example.com", Phone: "0241234568", Address: "12 Oxford Street\nOsu, Accra"})
	s.check(err)
	_, err = s.Invoices.Create(ctx, s.Caller, invoice.CreateParams{Fields: invoice.Fields{
		Customer: &customer.ID, Lines: []invoice.LineParams{{Description: "Sobolo", UnitAmount: new(int64(900))}},
	}})
	s.check(err)
	rows, err := disbursement.ReadRows(strings.NewReader(batchCSV))
	s.check(err)
	batch, err := s.Disbursements.CreateBatch(ctx, s.Caller, disbursement.CreateBatchParams{Rows: rows, Description: "Salaries of November"})
	s.check(err)
	made["refunds"], made["customers"], made["batches"] = back.ID, customer.ID, batch.ID
	product, err := s.Products.Create(ctx, s.Caller, catalog.CreateProductParams{Name: "Sobolo 50 cl", Description: "Hibiscus, ginger and cloves", UnitAmount: new(int64(1500)), Taxable: new(true)})
	s.check(err)
	coupon, err := s.Coupons.Create(ctx, s.Caller, catalog.CreateCouponParams{Name: "Welcome", PercentOff: new(decimal.NewFromInt(10)), MaxRedemptions: new(int64(100)), RedeemBy: time.Date(2999, 12, 31, 0, 0, 0, 0, time.UTC)})
	s.check(err)
	plan, err := s.Plans.Create(ctx, s.Caller, catalog.CreatePlanParams{Name: "Juice every week", Amount: 4500, Interval: catalog.Week, TrialPeriodDays: new(int64(7)), Product: product.ID})
	s.check(err)
	made["products"], made["coupons"], made["plans"] = product.ID, coupon.ID, plan.ID
	session, err := s.Checkout.Create(ctx, s.Caller, checkout.CreateParams{
		Lines: []invoice.LineParams{{Description: "Two smoothies", UnitAmount: new(int64(2500))}}, SuccessURL: "https://shop.example.com/thanks", Email: "akosua@example.com",
	})
	s.check(err)
	member, err := s.Subscriptions.Create(ctx, s.Caller, subscription.CreateParams{Customer: customer.ID, Plan: plan.ID})
	s.check(err)
	made["checkouts"], made["subscriptions"] = session.ID, member.ID
	for _, state := range []struct{ name, number string }{{"waiting", "0241230907"}, {"declined", "0241230910"}, {"undecided", "0201230903"}} {
		p, err := s.Payments.Create(ctx, s.Caller, payment.CreateParams{
			Amount: 1250, MobileMoney: payment.MobileMoney{PhoneNumber: state.number}, Description: "Two smoothies", Reference: "order-7", Customer: customer.ID,
		})
		s.check(err)
		made[state.name] = p.ID
	}
}

// batchCSV is a batch whose second row the balance does not suffice for.
const batchCSV = "amount,type,phone_number,account_name,reference\n10.50,mobile_money,0241234567,Yaw Darko,yaw\n19999,mobile_money,0551234567,Esi Owusu,esi\n"

var sixDigits = regexp.MustCompile(`\b[0-9]{6}\b`)

// lastCode reads the one-time code from the newest SMS.
func (s *site) lastCode() string {
	s.t.Helper()
	list, err := s.Messages.List(s.t.Context(), s.Caller, message.ListParams{Kind: message.KindSMS})
	s.check(err)
	return sixDigits.FindString(list.Data[0].Text)
}

// paths are all pages, each with something on it.
func paths(made map[string]string) []string {
	all := []string{"", "ledger", "clock", "consumers", "consumers/" + made["consumers"], "search?q=036"}
	for _, noun := range []string{"qr-codes", "payments", "refunds", "payouts", "disbursements", "batches", "invoices", "checkouts", "subscriptions", "products", "coupons", "plans", "customers", "messages", "events", "webhooks"} {
		all = append(all, noun, noun+"/"+made[noun])
	}
	return append(all, "invoices/"+made["draft"], "messages/"+made["sms"], "qr-codes/"+made["once"], "payments/"+made["waiting"], "payments/"+made["declined"])
}
