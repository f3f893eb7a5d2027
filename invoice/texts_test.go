package invoice_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// outbox counts what is sent to each number and address.
type outbox struct {
	mu   sync.Mutex
	sent map[string]int
}

func (o *outbox) count(to string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sent == nil {
		o.sent = map[string]int{}
	}
	o.sent[to]++
	return nil
}

func (o *outbox) SendSMS(_ context.Context, m message.SMS) error     { return o.count(m.To) }
func (o *outbox) SendEmail(_ context.Context, e message.Email) error { return o.count(e.To) }

// A phone gets few SMS about invoices and receipts in an hour and in a day, whichever merchants cause them.
// The others wait, and e-mails do not.
func TestTextsToOnePhoneAreBounded(t *testing.T) {
	out := &outbox{}
	s := testkit.OpenShop(t, memory.New(), payments.Config{Live: payments.Providers{Texter: out, Mailer: out}})
	second := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Second"}))(t)
	callers := []api.Caller{{Merchant: s.Caller.Merchant, Live: true}, {Merchant: second.ID, Live: true}}
	const number, email = "+233241234567", "ama@example.com"
	send := func(caller api.Caller, number string) string {
		t.Helper()
		v := must.Get(s.Invoices.Create(t.Context(), caller, invoice.CreateParams{Fields: invoice.Fields{
			Phone: new(number), Email: new(email), Lines: []invoice.LineParams{{Description: "Tea", UnitAmount: new(int64(500))}},
		}}))(t)
		must.Get(s.Invoices.Finalize(t.Context(), caller, v.ID))(t)
		return v.ID
	}
	want := func(what string, texts, emails int) {
		t.Helper()
		must.Do(t, s.Drain(t.Context()))
		expect.Equal(t, out.sent[number], texts, "%s: SMS", what)
		expect.Equal(t, out.sent[email], emails, "%s: e-mails", what)
	}
	for i := range 16 {
		send(callers[i%2], number)
	}
	want("16 invoices", 10, 16)
	s.Pass(time.Hour - time.Second)
	want("before the hour is over", 10, 16)
	s.Pass(time.Second)
	want("after an hour", 16, 16)

	// A receipt counts as well, though the merchant says that it was paid in cash.
	for range 12 {
		id := send(callers[0], number)
		must.Get(s.Invoices.Pay(t.Context(), callers[0], id, invoice.PayParams{PaidOutOfBand: true}))(t)
	}
	want("12 more, paid in cash", 20, 40)
	s.Pass(time.Hour)
	want("an hour later", 30, 40)
	s.Pass(20 * time.Hour)
	want("on the same day", 30, 40)
	s.Pass(3 * time.Hour)
	want("a day later", 40, 40)

	// A phone that is flooded gets no more for months, and another is not touched.
	for range 150 {
		send(callers[1], number)
	}
	s.Pass(20 * 24 * time.Hour)
	must.Do(t, s.Drain(t.Context()))
	expect.True(t, out.sent[number] > 100 && out.sent[number] < 160, "%d SMS of 190 went out", out.sent[number])
	send(callers[1], "+233551234567")
	must.Do(t, s.Drain(t.Context()))
	expect.Equal(t, out.sent["+233551234567"], 1, "SMS to another phone")
}
