package payment_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// shop is the whole library with one merchant, in a sandbox whose clock the test moves.
type shop struct {
	*payments.Service
	caller api.Caller
}

func newShop(t *testing.T, c payments.Config) *shop {
	t.Helper()
	c.Sandbox = true
	svc := testkit.New(t, memory.New(), c)
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: "0301000000"}))(t)
	return &shop{svc, api.Caller{Merchant: m.ID}}
}

func (s *shop) create(t *testing.T, number string) *payment.Payment {
	t.Helper()
	return must.Get(s.Payments.Create(t.Context(), s.caller, payment.CreateParams{
		Amount: 1250, MobileMoney: payment.MobileMoney{PhoneNumber: number},
	}))(t)
}

func (s *shop) get(t *testing.T, id string) *payment.Payment {
	t.Helper()
	return must.Get(s.Payments.Get(t.Context(), s.caller, id))(t)
}

func (s *shop) after(t *testing.T, by time.Duration) {
	t.Helper()
	must.Get(s.MoveClock(t.Context(), s.caller, payments.ClockParams{By: by}))(t)
	must.Do(t, s.Drain(t.Context()))
}

func (s *shop) eventsOf(t *testing.T) string {
	t.Helper()
	var types []string
	for _, e := range must.Get(s.Events.List(t.Context(), s.caller, event.ListParams{Page: api.Page{Limit: 100}}))(t).Data {
		types = append(types, string(e.Type))
	}
	slices.Reverse(types)
	return strings.Join(types, " ")
}

// The numbers to test with do what the table of the simulated charger says.
func TestPhonesToTestWith(t *testing.T) {
	for _, test := range []struct {
		digits string
		after  time.Duration // of the second look
		soon   payment.Status
		later  payment.Status
		reason string
	}{
		{"4567", 0, payment.Completed, payment.Completed, ""},
		{"0901", 0, payment.Failed, payment.Failed, "The payer declined."},
		{"0902", 0, payment.Failed, payment.Failed, "The payer's balance is too low."},
		{"0903", time.Hour, payment.Processing, payment.Processing, ""},
		{"0904", 25 * time.Second, payment.Processing, payment.Completed, ""},
		{"0905", time.Minute, payment.Processing, payment.Completed, ""},
		{"0906", 25 * time.Second, payment.Pending, payment.Completed, ""},
		{"0907", time.Hour, payment.Processing, payment.Processing, ""},
		{"0909", 10 * time.Minute, payment.Processing, payment.Failed, "The payer did not answer in time."},
		{"0910", time.Minute, payment.Failed, payment.Failed, "The payer declined."},
	} {
		t.Run(test.digits, func(t *testing.T) {
			s := newShop(t, payments.Config{})
			p := s.create(t, "024123"+test.digits)
			expect.Equal(t, p.Status, payment.Pending, "at first")
			must.Do(t, s.Drain(t.Context()))
			expect.Equal(t, s.get(t, p.ID).Status, test.soon, "soon")
			s.after(t, test.after)
			got := s.get(t, p.ID)
			expect.Equal(t, got.Status, test.later, "later")
			reason := ""
			if got.FailureReason != nil {
				reason = *got.FailureReason
			}
			expect.Equal(t, reason, test.reason, "reason")
			balance := must.Get(s.Accounts.Balance(t.Context(), s.caller))(t)
			want := "0.00"
			if test.later == payment.Completed {
				want = "12.50"
			}
			expect.Equal(t, balance.Available.StringFixed(2), want, "balance")
			t.Log(s.eventsOf(t))
		})
	}
}

func TestCodeTwice(t *testing.T) {
	s := newShop(t, payments.Config{})
	price := int64(500)
	code := must.Get(s.QRCodes.Create(t.Context(), s.caller, qrcode.CreateParams{Type: qrcode.Dynamic, Amount: &price}))(t)
	pay := func(number string) (*payment.Payment, error) {
		return s.QRCodes.Pay(t.Context(), s.caller, code.ID, qrcode.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: number}})
	}
	slow := must.Get(pay("0241230903"))(t)
	must.Do(t, s.Drain(t.Context()))
	_, err := pay("0241234567")
	expect.Equal(t, api.CodeOf(err), api.PaymentInProgress, "%v", err)
	s.after(t, 10*time.Minute)
	expect.True(t, s.get(t, slow.ID).HoldExpiresAt == nil, "holds after its time")
	fast := must.Get(pay("0241234567"))(t)
	must.Do(t, s.Drain(t.Context()))
	expect.Equal(t, s.get(t, fast.ID).Status, payment.Completed, "the second")
	_, err = pay("0241234567")
	expect.Equal(t, api.CodeOf(err), api.QRLimitReached, "%v", err)
}
