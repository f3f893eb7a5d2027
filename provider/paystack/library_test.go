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
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/paystack"
	"github.com/seed-7082ffec/payments/provider/paystack/paystacktest"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// shop is a merchant of a service that moves its money through a fake.
type shop struct {
	*payments.Service
	fake   *paystacktest.Fake
	caller api.Caller
	log    bytes.Buffer
	now    time.Time
	events http.Handler
}

func newShop(t *testing.T) *shop {
	t.Helper()
	fake, client := fakeAndClient(t, 1)
	must.Do(t, client.LoadBanks(t.Context()))
	s := &shop{fake: fake, now: time.Now()}
	s.Service = must.Get(payments.New(t.Context(), memory.New(), payments.Config{
		Live: payments.Providers{Rail: client, Charger: client}, Banks: client, Logger: slog.New(slog.NewTextHandler(&s.log, nil)),
		Clock: func() time.Time { return s.now }, Serial: true,
	}))(t)
	m := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: "0301000000"}))(t)
	s.caller = api.Caller{Merchant: m.ID, Live: true}
	s.events = client.WebhookHandler(s.Providers.Notify)
	return s
}

// pass moves the clock, and delivers the events.
func (s *shop) pass(t *testing.T) {
	t.Helper()
	s.now = s.now.Add(15 * time.Minute)
	must.Do(t, s.Drain(t.Context()))
	for _, e := range s.fake.Callbacks() {
		r := must.Get(e.Request(t.Context(), "/webhooks/paystack"))(t)
		w := httptest.NewRecorder()
		s.events.ServeHTTP(w, r)
		expect.Equal(t, w.Code, http.StatusOK, "%s", e.Body)
	}
}

// Behind the library: a payment by phone with Telecel's code, its refund with a lost answer, and
// disbursements to a phone and a bank, reported by webhooks.
func TestBehindTheLibrary(t *testing.T) {
	svc := newShop(t)
	fake, caller, before := svc.fake, svc.caller, svc.fake.Float()
	paid := must.Get(svc.Payments.Create(t.Context(), caller, payment.CreateParams{
		Amount: 5000, MobileMoney: payment.MobileMoney{PhoneNumber: "0201234503"},
	}))(t)
	must.Do(t, svc.Drain(t.Context()))
	paid = must.Get(svc.Payments.Get(t.Context(), caller, paid.ID))(t)
	must.True(t, paid.NextAction != nil && strings.Contains(paid.NextAction.Message, "*110#"), "the payment asks for no code: %+v", paid)
	must.Get(svc.Payments.Confirm(t.Context(), caller, paid.ID, payment.ConfirmParams{Code: paystacktest.Code}))(t)
	svc.pass(t)
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
		svc.pass(t)
	}
	given = must.Get(svc.Refunds.Get(t.Context(), caller, given.ID))(t)
	expect.Equal(t, given.Status, refund.Succeeded, "the refund: status")
	expect.Equal(t, fake.Moved(given.ID), 1, "the refund: moved")
	for i, want := range []payout.Status{payout.Completed, payout.Completed, payout.Failed} {
		d := must.Get(svc.Disbursements.Get(t.Context(), caller, sent[i]))(t)
		expect.Equal(t, d.Status, want, "status")
		expect.Equal(t, fake.Moved(d.ID), map[payout.Status]int{payout.Completed: 1}[want], "moved")
	}
	verified := must.Get(svc.Accounts.Verify(t.Context()))(t)
	expect.Equal(t, len(verified.Problems), 0, "%v", verified.Problems)
	position := must.Get(svc.Providers.Position(t.Context(), api.Caller{Live: true}, provider.PositionParams{Route: paystack.Route}))(t)
	expect.Equal(t, position.Booked, fake.Float()-before, "what lies with Paystack by the books, less its fees")
	for _, secret := range []string{"1234567", "1234503", paystacktest.SecretKey} {
		expect.True(t, !strings.Contains(svc.log.String(), secret), "the log tells too much")
	}
}

// A payment whose dispute is lost becomes a refund that the merchant did not make. One that lost a part
// is listed for a person.
func TestDisputedPayments(t *testing.T) {
	s := newShop(t)
	before := s.fake.Float()
	var ids []string
	for range 3 {
		p := must.Get(s.Payments.Create(t.Context(), s.caller, payment.CreateParams{
			Amount: 5000, MobileMoney: payment.MobileMoney{PhoneNumber: "0241234567"},
		}))(t)
		must.Do(t, s.Drain(t.Context()))
		s.pass(t)
		ids = append(ids, p.ID)
	}
	for i, end := range []struct {
		pesewas    int64
		resolution string
	}{{5000, paystacktest.AutoAccepted}, {2000, paystacktest.MerchantAccepted}, {5000, paystacktest.Declined}} {
		must.True(t, s.fake.Dispute(ids[i], end.pesewas), "no dispute")
		s.pass(t)
		s.fake.ResolveDispute(ids[i], end.resolution)
		s.pass(t)
	}
	refunds := must.Get(s.Refunds.List(t.Context(), s.caller, refund.ListParams{}))(t).Data
	must.True(t, len(refunds) == 1, "refunds: %+v", refunds)
	is := refunds[0]
	expect.Equal(t, is.Payment, ids[0], "the refund: payment")
	expect.Equal(t, is.Amount, 5000, "the refund: amount")
	expect.Equal(t, is.Status, refund.Succeeded, "the refund: status")
	expect.Same(t, is.Reason, new("Reversed by the provider"), "the refund: reason")
	listed := must.Get(s.Providers.List(t.Context(), api.Caller{Live: true}, provider.ListParams{}))(t).Data
	must.True(t, len(listed) == 1, "listed: %+v", listed)
	expect.Equal(t, listed[0].ID+" "+listed[0].Contradiction, ids[1]+" completed, and now 3000 pesewas of 5000", "listed")
	position := must.Get(s.Providers.Position(t.Context(), api.Caller{Live: true}, provider.PositionParams{Route: paystack.Route}))(t)
	expect.Equal(t, position.Booked-(s.fake.Float()-before), 2000, "what the books have too much, which the person books")
}
