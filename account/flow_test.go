package account_test

import (
	"fmt"
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
	"github.com/seed-7082ffec/payments/storage/memory"
)

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
