package retention_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

// Retention removes the payer's number and e-mail from ended checkout sessions after the host's time, also
// from one that ends after it.
func TestRetentionRemovesNumbersOfSessions(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		svc := testkit.New(t, store, payments.Config{NumberRetention: 2 * time.Hour, Clock: func() time.Time { return now }})
		ctx := t.Context()
		m := must.Get(svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		caller := api.Caller{Merchant: m.ID}
		sell := func() string {
			return must.Get(svc.Checkout.Create(ctx, caller, checkout.CreateParams{
				SuccessURL: "https://shop.example/", Name: "Ama", Email: "ama@example.com", Phone: "0241110001",
				Lines: []invoice.LineParams{{Description: "a", UnitAmount: new(int64(0))}},
			}))(t).ID
		}
		kept := func(what string, want int) {
			t.Helper()
			n := 0
			for where, text := range testkit.Contents(t, store, m.ID) {
				if strings.HasPrefix(where, "checkout_sessions") && (strings.Contains(text, "ama@example.com") || strings.Contains(text, "+233241110001")) {
					n++
				}
			}
			expect.Equal(t, n, want, "%s: sessions with the payer's data", what)
		}
		pass := func(d time.Duration) {
			t.Helper()
			now = now.Add(d)
			must.Do(t, svc.Drain(ctx))
		}
		must.Do(t, svc.Drain(ctx))
		first, late := sell(), sell()
		must.Get(svc.Checkout.Pay(ctx, caller, first, checkout.PayParams{}))(t)
		kept("at first", 2)
		pass(4 * time.Hour)
		kept("after its time", 1)
		must.Get(svc.Checkout.Pay(ctx, caller, late, checkout.PayParams{}))(t)
		kept("what ends late", 0)
		expect.Equal(t, *must.Get(svc.Checkout.Get(ctx, caller, late))(t).Name, "Ama", "the name")
	})
}
