package payments_test

import (
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// Now shows a merchant's test clock, and to all others the real time.
func TestNow(t *testing.T) {
	real := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	svc := testkit.New(t, memory.New(), payments.Config{Sandbox: true, Clock: func() time.Time { return real }})
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	caller := api.Caller{Merchant: m.ID}
	must.Get(svc.MoveClock(t.Context(), caller, payments.ClockParams{By: time.Hour}))(t)
	for name, c := range map[string]struct {
		caller api.Caller
		ahead  time.Duration
	}{"the merchant": {caller, time.Hour}, "live mode": {api.Caller{Merchant: m.ID, Live: true}, 0}, "another": {api.Caller{Merchant: "mer_other"}, 0}} {
		if now, err := svc.Now(t.Context(), c.caller); err != nil || now.Sub(real) != c.ahead {
			t.Errorf("%s: %s, %v", name, now, err)
		}
	}
}
