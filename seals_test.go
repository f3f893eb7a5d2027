package payments_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/internal/chart"
	"github.com/seed-7082ffec/payments/storage"
)

// More accounts than are looked at together are sealed over each store, and seals grow
// with their accounts.
func TestSealsOfManyAccounts(t *testing.T) {
	overStores(t, func(t *testing.T, store storage.Store) {
		now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		svc := open(t, store, payments.Config{Key: make([]byte, 32), Clock: func() time.Time { return now }})
		n := 0
		post := func(wallets int) {
			t.Helper()
			check(store.Update(t.Context(), func(tx storage.Tx) error {
				for i := range wallets {
					n++
					err := tx.Post(storage.Posting{
						ID: fmt.Sprintf("txn_%09d", n), Type: "test", At: now,
						Moves: []storage.Move{
							chart.Wallet(fmt.Sprintf("acc_%d", i), i%2 == 0).Move(1), chart.Clearing("test", i%2 == 0).Move(-1),
						},
					})
					if err != nil {
						return err
					}
				}
				return nil
			}))
		}
		verify := func(want int64) {
			t.Helper()
			v, err := svc.Accounts.Verify(t.Context())
			check(err)
			if v.Sealed != want || len(v.Problems) > 0 {
				t.Errorf("%d entries have seals, want %d: %q", v.Sealed, want, v.Problems)
			}
		}
		post(1200)
		verify(0)
		sealed, err := svc.Accounts.Seal(t.Context())
		check(err)
		if sealed != 2400 {
			t.Errorf("%d entries were sealed", sealed)
		}
		for _, wallets := range []int{1, 700, 130} {
			post(wallets)
			verify(sealed)
			now = now.Add(account.SealWithin)
			check(svc.Drain(t.Context()))
			sealed += 2 * int64(wallets)
			verify(sealed)
		}
		h, err := svc.Health(t.Context())
		check(err)
		if h.SealLag() != 0 {
			t.Errorf("the seals lag %s", h.SealLag())
		}
	})
}
