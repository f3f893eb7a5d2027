package payment_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// receipts counts the receipts to a number.
func (s *shop) receipts(t *testing.T, number, payment string) (n int) {
	t.Helper()
	for _, m := range must.Get(s.Messages.List(t.Context(), s.caller, message.ListParams{To: number}))(t).Data {
		if strings.HasPrefix(m.Text, "You paid GHS ") && strings.HasSuffix(m.Text, " to Adom Juice Bar. Payment "+payment+".") {
			n++
		}
	}
	return n
}

// The receipt goes to the phone or to the wallet's holder, a few times an hour, until the number is erased.
func TestSendReceipt(t *testing.T) {
	s, phoned, scanned := searchShop(t, memory.New(), payments.Config{})
	testkit.WantCode(t, "before it is completed", testkit.Err(s.Payments.SendReceipt(t.Context(), s.caller, s.create(t, "0241230906").ID)), api.ParameterInvalid)
	for number, id := range map[string]string{"+233241234567": phoned.ID, "+233200009113": scanned.ID} {
		expect.Equal(t, s.receipts(t, number, id), 1, "receipts at first, to %s", number)
		keyed := s.caller
		for i := range 5 {
			keyed.IdempotencyKey = id + string(rune('a'+i))
			for range 2 {
				expect.Equal(t, must.Get(s.Payments.SendReceipt(t.Context(), keyed, id))(t).ID, id, "payment")
			}
		}
		expect.Equal(t, s.receipts(t, number, id), 6, "receipts after five, each asked for twice, to %s", number)
		testkit.WantCode(t, "the sixth", testkit.Err(s.Payments.SendReceipt(t.Context(), s.caller, id)), api.RateLimited)
	}
	s.after(t, time.Hour)
	must.Get(s.Payments.SendReceipt(t.Context(), s.caller, phoned.ID))(t)
	other := s.caller
	other.Merchant = "mer_other"
	testkit.WantCode(t, "another merchant's", testkit.Err(s.Payments.SendReceipt(t.Context(), other, phoned.ID)), api.ResourceMissing)
	must.Do(t, s.ErasePayee(t.Context(), s.caller, payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234567"}))
	testkit.WantCode(t, "after an erasure", testkit.Err(s.Payments.SendReceipt(t.Context(), s.caller, phoned.ID)), api.ParameterInvalid)
}

// A payment that came too late is not what has paid, so no receipt contradicts what its payer was told.
func TestNoReceiptOfALatePayment(t *testing.T) {
	s := newShop(t, payments.Config{Test: payments.Providers{Charger: onlyCharges{provider.Simulated{}}}})
	late := s.paidLate(t)
	testkit.WantCode(t, "a receipt", testkit.Err(s.Payments.SendReceipt(t.Context(), s.caller, late.ID)), api.ParameterInvalid)
}
