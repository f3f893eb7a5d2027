package payment_test

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
)

// What the payer is to do is known from the provider's first answer on: a call without one, or one that has not
// come back, asks nothing of the payer.
func TestNextActionComesWithTheFirstAnswer(t *testing.T) {
	charger := &ailing{err: errors.New("lost")}
	s, _, _, pass := ailingShop(t, charger)
	p := s.create(t, "0244000001")
	action := func(when string, want payment.ActionType) {
		t.Helper()
		got := s.get(t, p.ID)
		must.True(t, got.Status == payment.Processing, "%s: %s", when, got.Status)
		if want == "" {
			expect.True(t, got.NextAction == nil, "%s: it asks for %+v", when, got.NextAction)
			return
		}
		must.True(t, got.NextAction != nil, "%s: it asks for nothing, want %s", when, want)
		expect.Equal(t, got.NextAction.Type, want, "%s: what it asks for", when)
	}
	pass(0)
	action("without an answer", "")
	charger.err, charger.result = nil, provider.Result{Outcome: provider.InProgress}
	pass(time.Minute)
	action("after the first", payment.Approve)
	charger.result.NeedsCode = true
	pass(time.Minute)
	action("after another", payment.EnterCode)
	charger.err = errors.New("lost")
	pass(time.Minute)
	action("after one that was lost", payment.EnterCode)
}
