// Package paymentstest sets up the whole library for a host's test in one line. A [Shop] has a service
// in memory, a merchant with money, a key, a consumer with a wallet, and a server for /v1 and the
// hosted pages.
//
//	shop := paymentstest.New(t)
//	code, err := shop.QRCodes.Create(t.Context(), shop.Caller, qrcode.CreateParams{})
//	shop.Pay(code.ID, 1250)
//
// Everything runs in test mode, in the process, in milliseconds. No background work runs on its own:
// [Shop.Work] does the due work, and [Shop.Advance] moves the time and does the work that became due.
// Between moves the time goes on as the real one does.
//
// Money from a phone works like this:
//
//	asked := shop.AskPhone("0241234567", 1250)
//	shop.Work()                                         // the simulated charger decides by the number
//	shop.SettlePayment(asked.ID, provider.Result{…})    // or the test does
//
// A host's webhook handler receives signed events over HTTP:
//
//	shop.Receive(func(secret string) http.Handler { return host.Webhooks(secret) }, event.PaymentSucceeded)
//	shop.Pay(code.ID, 1250)
//	shop.Work()
//
// A test without a handler reads an [Inbox]. Payouts work like this:
//
//	sent, err := shop.Payouts.Create(ctx, shop.Caller, payout.CreateParams{OTPCode: shop.OTP(), …})
//	shop.Work()                                  // the simulated rail decides by the number
//	shop.Settle(sent.ID, provider.Result{…})       // or the test does
//
// An error in a helper fails the test. Use a Shop only in the goroutine of its test. Its service
// and server are safe for concurrent use.
package paymentstest

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/internal/pin"
	"github.com/seed-7082ffec/payments/internal/test/testhook"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
)

// Shop is a merchant in a sandbox of its own.
type Shop struct {
	*payments.Service
	// Server answers /v1, the test helpers and the hosted pages.
	Server *httptest.Server
	// Handler is what Server answers with, for a host's own mux.
	Handler http.Handler
	// Caller is the merchant's caller for Go calls. Key is the merchant's API key for HTTP calls.
	Caller api.Caller
	Key    string
	// Consumer has a wallet with GHS 1,000 and the PIN 1234.
	Consumer *account.Consumer
	PIN      string

	tb           testing.TB
	webhookAllow []netip.Prefix
}

// InitialBalance is the first balance of the merchant and of the consumer, in GHS.
const InitialBalance = 1000

// New returns a shop on a new memory store. Its webhooks may go to this machine. From the call on, the
// whole process hashes PINs fast and weakly, so use it in tests only.
func New(tb testing.TB) *Shop {
	tb.Helper()
	return NewWithStore(tb, memory.New(), payments.Config{WebhookAllow: Loopback()})
}

// NewWithStore is New with an empty store and a configuration. It closes the store when the test ends.
// It sets Sandbox and BaseURL. If config has no Logger, it sets one that discards all lines. Set
// WebhookAllow to Loopback() to call Receive or Inbox. It weakens the hashes of PINs as New does.
func NewWithStore(tb testing.TB, store storage.Store, config payments.Config) *Shop {
	tb.Helper()
	pin.Weaken()
	s := &Shop{PIN: "1234", tb: tb}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.Handler.ServeHTTP(w, r) }))
	tb.Cleanup(func() {
		s.Server.Close()
		s.check(store.Close())
	})
	config.Sandbox, config.BaseURL = true, s.Server.URL
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	s.webhookAllow = config.WebhookAllow
	ctx := tb.Context()
	var err error
	s.Service, err = payments.New(ctx, store, config)
	s.check(err)
	s.Handler = httpapi.New(s.Service, httpapi.Config{TestHelpers: true, Logger: config.Logger})
	if testhook.Handler != nil {
		s.Handler = testhook.Handler(tb, s.Handler)
	}

	merchant, err := s.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: "0301000000"})
	s.check(err)
	s.Caller = api.Caller{Merchant: merchant.ID}
	key, err := s.Accounts.CreateKey(ctx, s.Caller, account.CreateKeyParams{Name: "test"})
	s.check(err)
	s.Key = key.Secret
	s.Fund(merchant.ID, InitialBalance)
	s.Consumer = s.NewConsumer("Ama Mensah", "0241000001", InitialBalance)
	return s
}

// NewConsumer makes a consumer with the shop's PIN and ghs cedis.
func (s *Shop) NewConsumer(name, phone string, ghs int64) *account.Consumer {
	s.tb.Helper()
	c, err := s.Accounts.CreateConsumer(s.tb.Context(), api.Caller{}, account.CreateHolderParams{Name: name, Phone: phone, PIN: s.PIN})
	s.check(err)
	if ghs > 0 {
		s.Fund(c.ID, ghs)
	}
	return c
}

// Fund credits a merchant, consumer or cash agent with ghs cedis.
func (s *Shop) Fund(to string, ghs int64) {
	s.tb.Helper()
	s.check(s.Accounts.Deposit(s.tb.Context(), api.Caller{}, account.DepositParams{To: to, Amount: decimal.NewFromInt(ghs), Source: "test"}))
}

// Pay pays a QR code as the shop's consumer; pesewas is 0 for a code with a
// fixed amount.
func (s *Shop) Pay(code string, pesewas int64) *payment.Payment {
	s.tb.Helper()
	p := qrcode.PayParams{Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: s.PIN}
	if pesewas > 0 {
		p.Amount = &pesewas
	}
	paid, err := s.QRCodes.Pay(s.tb.Context(), s.Caller, code, p)
	s.check(err)
	return paid
}

// AskPhone asks a phone to pay the merchant directly. The payment is pending until Work. The last
// digits of the number decide its outcome; see [provider.Simulated].
func (s *Shop) AskPhone(number string, pesewas int64) *payment.Payment {
	s.tb.Helper()
	p, err := s.Payments.Create(s.tb.Context(), s.Caller, payment.CreateParams{
		Amount: pesewas, MobileMoney: payment.MobileMoney{PhoneNumber: number},
	})
	s.check(err)
	return p
}

// Subscribe subscribes a new customer with this number to a new plan of so many pesewas a month. Their
// phone is charged as the work is done, and its last digits decide the outcomes; see
// [provider.Simulated].
func (s *Shop) Subscribe(number string, pesewas int64) *subscription.Subscription {
	s.tb.Helper()
	ctx := s.tb.Context()
	customer, err := s.Accounts.CreateCustomer(ctx, s.Caller, account.CreateCustomerParams{Name: "Esi Ofori", Phone: number})
	s.check(err)
	plan, err := s.Plans.Create(ctx, s.Caller, catalog.CreatePlanParams{Name: "Monthly", Amount: pesewas, Interval: catalog.Month})
	s.check(err)
	sub, err := s.Subscriptions.Create(ctx, s.Caller, subscription.CreateParams{
		Customer: customer.ID, Plan: plan.ID, CollectionMethod: invoice.ChargeAutomatically,
	})
	s.check(err)
	return sub
}

// Refund gives back a payment; pesewas is 0 for all that is left of it. Money from a wallet is back
// when Refund returns. Any other refund needs Work.
func (s *Shop) Refund(payment string, pesewas int64) *refund.Refund {
	s.tb.Helper()
	p := refund.CreateParams{Payment: payment}
	if pesewas > 0 {
		p.Amount = &pesewas
	}
	r, err := s.Refunds.Create(s.tb.Context(), s.Caller, p)
	s.check(err)
	return r
}

// Do sends a request with the shop's key and returns the answer with its body
// read. body is sent as JSON: a string as it is, anything else marshalled, nil
// not at all. Headers come in pairs of name and value.
func (s *Shop) Do(method, path string, body any, headers ...string) (*http.Response, []byte) {
	s.tb.Helper()
	var content io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		content = bytes.NewReader([]byte(body))
	default:
		data, err := json.Marshal(body)
		s.check(err)
		content = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(s.tb.Context(), method, s.Server.URL+path, content)
	s.check(err)
	r.Header.Set("Authorization", "Bearer "+s.Key)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := s.Server.Client().Do(r)
	s.check(err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	s.check(err)
	return answer, data
}

func (s *Shop) check(err error) {
	s.tb.Helper()
	if err != nil {
		s.tb.Fatal(err)
	}
}
