package paystack_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/paystack"
	"github.com/seed-7082ffec/payments/provider/paystack/paystacktest"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// Behind the library: a payment by phone with Telecel's code, its refund with a lost answer, and
// disbursements to a phone and a bank, reported by webhooks.
func TestBehindTheLibrary(t *testing.T) {
	fake, client := fakeAndClient(t, 1)
	before := fake.Float()
	must.Do(t, client.LoadBanks(t.Context()))
	var log bytes.Buffer
	now := time.Now()
	svc := must.Get(payments.New(t.Context(), memory.New(), payments.Config{
		Live: payments.Providers{Rail: client, Charger: client}, Banks: client, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Clock: func() time.Time { return now }, Serial: true,
	}))(t)
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: "0301000000"}))(t)
	caller := api.Caller{Merchant: m.ID, Live: true}
	handler := client.WebhookHandler(svc.Providers.Notify)
	pass := func() {
		t.Helper()
		now = now.Add(15 * time.Minute)
		must.Do(t, svc.Drain(t.Context()))
		for _, e := range fake.Events() {
			r, err := e.Request(t.Context(), "/webhooks/paystack")
			must.Do(t, err)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			expect.Equal(t, w.Code, http.StatusOK, "%s", e.Body)
		}
	}
	paid := must.Get(svc.Payments.Create(t.Context(), caller, payment.CreateParams{
		Amount: 5000, MobileMoney: payment.MobileMoney{PhoneNumber: "0201234503"},
	}))(t)
	must.Do(t, svc.Drain(t.Context()))
	paid = must.Get(svc.Payments.Get(t.Context(), caller, paid.ID))(t)
	must.True(t, paid.NextAction != nil && strings.Contains(paid.NextAction.Message, "*110#"), "the payment asks for no code: %+v", paid)
	must.Get(svc.Payments.Confirm(t.Context(), caller, paid.ID, payment.ConfirmParams{Code: paystacktest.Code}))(t)
	pass()
	paid = must.Get(svc.Payments.Get(t.Context(), caller, paid.ID))(t)
	must.True(t, paid.Status == payment.Completed, "the payment: %+v", paid)

	back := int64(2000)
	fake.LoseAnswer("POST /refund")
	given := must.Get(svc.Refunds.Create(t.Context(), caller, refund.CreateParams{Payment: paid.ID, Amount: &back}))(t)
	fake.LoseAnswer("POST /transfer")
	var sent []string
	for _, to := range []payout.DestinationParams{
		{Type: payout.MobileMoney, PhoneNumber: "0241234567"},
		{Type: payout.BankTransfer, BankCode: "040100", AccountNumber: "1010001234567", AccountName: "Ama Mensah"},
		{Type: payout.MobileMoney, PhoneNumber: "0241234501"},
	} {
		d := must.Get(svc.Disbursements.Create(t.Context(), caller, disbursement.CreateParams{Amount: api.FromPesewas(500).Decimal, Destination: to}))(t)
		sent = append(sent, d.ID)
	}
	for range 4 {
		pass()
	}
	given = must.Get(svc.Refunds.Get(t.Context(), caller, given.ID))(t)
	expect.True(t, given.Status == refund.Succeeded && fake.Moved(given.ID) == 1, "the refund: %+v", given)
	for i, want := range []payout.Status{payout.Completed, payout.Completed, payout.Failed} {
		d := must.Get(svc.Disbursements.Get(t.Context(), caller, sent[i]))(t)
		expect.True(t, d.Status == want && fake.Moved(d.ID) == map[payout.Status]int{payout.Completed: 1}[want], "%+v", d)
	}
	verified := must.Get(svc.Accounts.Verify(t.Context()))(t)
	expect.Equal(t, len(verified.Problems), 0, "%v", verified.Problems)
	position := must.Get(svc.Providers.Position(t.Context(), api.Caller{Live: true}, provider.PositionParams{Route: paystack.Route}))(t)
	expect.Equal(t, position.Booked, fake.Float()-before, "what lies with Paystack by the books, less its fees")
	for _, secret := range []string{"1234567", "1234503", paystacktest.SecretKey} {
		expect.True(t, !strings.Contains(log.String(), secret), "the log tells too much")
	}
}
