package payments_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// A call of the host's own is made once for a key, and its answer kept as those of the
// library are: not that of a failure, not for another call, for thirty days.
func TestOnce(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	svc := testkit.New(t, memory.New(), payments.Config{Clock: func() time.Time { return now }})
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	var failing error
	made := 0
	replayed := false
	caller := api.Caller{Merchant: m.ID, IdempotencyKey: "k", Replayed: &replayed}
	topUp := func(name string, amount int64) (int, error) {
		replayed = false
		receipt, err := payments.Once(t.Context(), svc, caller, name, amount, func() (*struct{ Number int }, error) {
			if failing != nil {
				return nil, failing
			}
			made++
			return &struct{ Number int }{made}, svc.Accounts.Deposit(t.Context(), api.Caller{IdempotencyKey: "acme/" + caller.IdempotencyKey}, account.DepositParams{
				To: m.ID, Amount: decimal.NewFromInt(amount), Source: "bank",
			})
		})
		if err != nil {
			return 0, err
		}
		return receipt.Number, nil
	}
	failing = errors.New("planned")
	expect.ErrorIs(t, testkit.Err(topUp("acme.top_up", 5)), failing, "a failure")
	failing = nil
	for i := range 3 {
		if n, err := topUp("acme.top_up", 5); n != 1 || err != nil || replayed != (i > 0) {
			t.Errorf("call %d: %d, %v, replayed %t", i, n, err, replayed)
		}
	}
	for name, amount := range map[string]int64{"acme.top_up": 6, "acme.tip": 5} {
		if _, err := topUp(name, amount); api.CodeOf(err) != api.IdempotencyKeyReused {
			t.Errorf("%s of %d: %v", name, amount, err)
		}
	}
	caller.IdempotencyKey = "another"
	if n, err := topUp("acme.top_up", 5); n != 2 || err != nil || replayed {
		t.Errorf("another key: %d, %v", n, err)
	}
	now = now.Add(31 * 24 * time.Hour)
	if n, err := topUp("acme.top_up", 5); n != 3 || err != nil || replayed {
		t.Errorf("after a month: %d, %v", n, err)
	}
	caller.IdempotencyKey = ""
	for range 2 {
		if _, err := topUp("acme.top_up", 5); err != nil || replayed {
			t.Errorf("without a key: %v", err)
		}
	}
	expect.Equal(t, made, 5, "made %d times", made)
}

// A route of the host's tops a wallet up, once for a key.
func ExampleOnce() {
	ctx := context.Background()
	svc, err := payments.New(ctx, memory.New(), payments.Config{})
	check(err)
	ama, err := svc.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: "0241000001"})
	check(err)
	merchant, err := svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar"})
	check(err)

	type receipt struct{ Wallet, Amount string }
	topUp := func(caller api.Caller, amount decimal.Decimal) (*receipt, error) {
		params := []string{ama.ID, amount.String()}
		return payments.Once(ctx, svc, caller, "acme.top_up", params, func() (*receipt, error) {
			err := svc.Accounts.Deposit(ctx, api.Caller{IdempotencyKey: "acme.top_up/" + caller.Merchant + "/" + caller.IdempotencyKey}, account.DepositParams{
				To: ama.ID, Amount: amount, Source: "bank",
			})
			return &receipt{ama.Name, amount.String()}, err
		})
	}
	for range 2 {
		again := false
		r, err := topUp(api.Caller{Merchant: merchant.ID, IdempotencyKey: "order-7", Replayed: &again}, decimal.NewFromInt(20))
		check(err)
		fmt.Println(r.Wallet, r.Amount, again)
	}
	balance, err := svc.Accounts.WalletBalance(ctx, api.Caller{}, ama.ID)
	check(err)
	fmt.Println(balance)
	// Output:
	// Ama Mensah 20 false
	// Ama Mensah 20 true
	// 20
}
