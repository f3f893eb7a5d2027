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
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
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
			expect.Equal(t, v.Sealed, want, "number of entries")
			expect.Equal(t, len(v.Problems), 0, "number of problems")
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
			expect.NoError(t, err, "%s", id)
			expect.True(t, !b.IsNegative(), "%s has %s, %v", id, b, err)
			total = total.Add(b.Decimal)
		}
		expect.True(t, total.Equal(decimal.NewFromInt(wallets*begin)), "all wallets have %s", total)
		v, err := svc.Accounts.Verify(t.Context())
		must.Do(t, err)
		expect.Equal(t, len(v.Problems), 0, "Verify: number of problems")
		expect.True(t, v.Postings >= wallets, "Verify: %+v, %v", v, err)
	})
}

var flowTime = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func TestMoneyFlowBalances(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		svc := testkit.New(t, store, payments.Config{Sandbox: true})
		operator := api.Caller{}
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), operator, account.CreateMerchantParams{Name: "Shop"}))(t)
		c := must.Get(svc.Accounts.CreateConsumer(t.Context(), operator, account.CreateHolderParams{Name: "Ama", Phone: "0241000001"}))(t)
		for to, source := range map[string]string{m.ID: "bank", c.ID: "cash"} {
			must.Do(t, svc.Accounts.Deposit(t.Context(), operator, account.DepositParams{To: to, Amount: decimal.New(100, 0), Source: source}))
		}
		must.Do(t, store.Update(t.Context(), func(tx storage.Tx) error {
			return tx.Post(storage.Posting{ID: "txn_1", Type: "test", At: flowTime, Moves: []storage.Move{
				ledger.Provider("mtn", false).Move(-5000), ledger.Bank(false).Move(-700), ledger.Owed(m.ID, false).Move(-40), ledger.ProviderFees(false).Move(-10),
				ledger.Fees(false).Move(60), ledger.Reserved(m.ID, false).Move(5000), ledger.Float("cag_1", false).Move(680), ledger.Excess(false).Move(10),
			}})
		}))
		flow := must.Get(svc.Accounts.MoneyFlow(t.Context(), operator))(t)
		expect.Same(t, flow, &api.MoneyFlow{
			Complete: true,
			Held:     []api.FlowItem{{Name: "clearing", Amount: 20000}, {Name: "mtn", Amount: 5000}, {Name: "bank", Amount: 700}, {Name: "owed", Amount: 40}},
			OwedTo:   []api.FlowItem{{Name: "merchants", Amount: 10000}, {Name: "reserved", Amount: 5000}, {Name: "wallets", Amount: 10000}, {Name: "agents", Amount: 680}, {Name: "fees", Amount: 50}, {Name: "excess", Amount: 10}},
		}, "flow")
		live := must.Get(svc.Accounts.MoneyFlow(t.Context(), api.Caller{Live: true}))(t)
		expect.Same(t, live, &api.MoneyFlow{Complete: true}, "the other mode")
		testkit.WantCode(t, "a merchant", testkit.Err(svc.Accounts.MoneyFlow(t.Context(), api.Caller{Merchant: m.ID})), api.PermissionDenied)
	})
}

// A mode with more accounts than one page may read has no flow.
func TestMoneyFlowOfManyAccounts(t *testing.T) {
	store := memory.New()
	svc := testkit.New(t, store, payments.Config{})
	must.Do(t, store.Update(t.Context(), func(tx storage.Tx) error {
		for n := range 5001 {
			move := ledger.Wallet(fmt.Sprintf("acc_%d", n), false).Move(1)
			if err := tx.Post(storage.Posting{ID: fmt.Sprintf("txn_%d", n), Type: "test", At: flowTime, Moves: []storage.Move{move, ledger.Clearing("x", false).Move(-1)}}); err != nil {
				return err
			}
		}
		return nil
	}))
	flow := must.Get(svc.Accounts.MoneyFlow(t.Context(), api.Caller{}))(t)
	expect.Same(t, flow, &api.MoneyFlow{}, "flow")
}
