package payments_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// Whichever operation of the store fails while the data of a deleted customer is
// being removed: in the end none of it is left.
func TestErasureIsFinished(t *testing.T) {
	for n := 1; ; n++ {
		now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		whole := memory.New()
		store := &faulty{Store: whole}
		svc := open(t, store, payments.Config{Clock: func() time.Time { return now }})
		m, err := svc.Accounts.CreateMerchant(t.Context(), account.MerchantParams{Name: "M"})
		check(err)
		caller := api.Caller{Merchant: m.ID, IdempotencyKey: "made"}
		c, err := svc.Accounts.CreateCustomer(t.Context(), caller, account.CustomerParams{Name: "Zenobia", Email: "zenobia@example.com"})
		check(err)
		caller.IdempotencyKey = "draft"
		_, err = svc.Invoices.Create(t.Context(), caller, invoice.CreateParams{Fields: invoice.Fields{Customer: &c.ID}})
		check(err)
		check(svc.Drain(t.Context()))
		caller.IdempotencyKey = ""
		_, err = svc.Accounts.DeleteCustomer(t.Context(), caller, c.ID)
		check(err)

		store.arm(n)
		_ = svc.Drain(t.Context()) // the operation may be of the claim
		hit := store.hit
		store.arm(0)
		now = now.Add(10 * time.Minute) // the lease runs out
		check(svc.Drain(t.Context()))
		for where, text := range contents(t, whole, m.ID) {
			if strings.Contains(strings.ToLower(text), "zenobia") {
				t.Errorf("operation %d failed, and %s is left with %s", n, where, text)
			}
		}
		if !hit {
			if n < 20 {
				t.Errorf("only %d operations; the test wants more", n)
			}
			return
		}
		if n > 500 {
			t.Fatal("there is no end of it")
		}
	}
}
