package account_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/storage"
)

// Over each store, the worker seals more accounts than one page holds, and more seals as accounts
// grow.
func TestSealsOfManyAccounts(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		svc := testkit.New(t, store, payments.Config{Key: make([]byte, 32), Clock: func() time.Time { return now }})
		n := 0
		post := func(wallets int) {
			t.Helper()
			must.Do(t, store.Update(t.Context(), func(tx storage.Tx) error {
				for i := range wallets {
					n++
					err := tx.Post(storage.Posting{
						ID: fmt.Sprintf("txn_%09d", n), Type: "test", At: now,
						Moves: []storage.Move{
							ledger.Wallet(fmt.Sprintf("acc_%d", i), i%2 == 0).Move(1), ledger.Clearing("test", i%2 == 0).Move(-1),
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
			v := must.Get(svc.Accounts.Verify(t.Context()))(t)
			expect.True(t, v.Sealed == want && len(v.Problems) == 0, "%d entries have seals, want %d: %q", v.Sealed, want, v.Problems)
		}
		post(1200)
		verify(0)
		sealed := must.Get(svc.Accounts.Seal(t.Context()))(t)
		expect.Equal(t, sealed, 2400, "%d entries were sealed", sealed)
		for _, wallets := range []int{1, 700, 130} {
			post(wallets)
			verify(sealed)
			now = now.Add(account.SealWithin)
			must.Do(t, svc.Drain(t.Context()))
			sealed += 2 * int64(wallets)
			verify(sealed)
		}
		h := must.Get(svc.Health(t.Context()))(t)
		expect.True(t, h.SealLag() == 0, "the seals lag %s", h.SealLag())
	})
}

// Concurrent transfers between few wallets neither lose nor create money.
func TestMoneyIsConserved(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		svc := testkit.New(t, store, payments.Config{})
		const wallets, begin, clients, moves = 10, 100, 32, 60
		var ids []string
		for i := range wallets {
			c := must.Get(svc.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "C", Phone: fmt.Sprintf("024000000%d", i)}))(t)
			must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: c.ID, Amount: decimal.NewFromInt(begin), Source: "test"}))
			ids = append(ids, c.ID)
		}
		var all sync.WaitGroup
		for client := range clients {
			all.Go(func() {
				random := rand.New(rand.NewPCG(7, uint64(client)))
				for n := range moves {
					from := random.IntN(wallets)
					to := (from + 1 + random.IntN(wallets-1)) % wallets
					amount := 1 + random.Int64N(150_00)
					err := store.Update(t.Context(), func(tx storage.Tx) error {
						return tx.Post(storage.Posting{
							ID: fmt.Sprintf("txn_%d_%d", client, n), Type: "test", At: time.Now(),
							Moves: []storage.Move{ledger.Wallet(ids[from], false).Move(-amount), ledger.Wallet(ids[to], false).Move(amount)},
						})
					})
					expect.True(t, err == nil || errors.Is(err, storage.ErrInsufficient), "%v", err)
				}
			})
		}
		all.Wait()
		total := decimal.Zero
		for _, id := range ids {
			b, err := svc.Accounts.WalletBalance(t.Context(), api.Caller{}, id)
			expect.True(t, err == nil && !b.IsNegative(), "%s has %s, %v", id, b, err)
			total = total.Add(b.Decimal)
		}
		expect.True(t, total.Equal(decimal.NewFromInt(wallets*begin)), "all wallets have %s", total)
		v, err := svc.Accounts.Verify(t.Context())
		expect.True(t, err == nil && len(v.Problems) == 0 && v.Postings >= wallets, "Verify: %+v, %v", v, err)
	})
}
