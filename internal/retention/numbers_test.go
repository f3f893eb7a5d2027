package retention_test

import (
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
)

// Retention removes the payer's number and e-mail from ended payments, refunds and top-ups after the
// host's time, also from those of before the setting, and from what ends later. The masked number
// stays.
func TestRetentionRemovesNumbersOfPayers(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		config := payments.Config{
			Clock: func() time.Time { return now }, MessageRetention: day,
			WalletTiers: &account.WalletTiers{Minimum: account.TierLimits{Balance: decimal.NewFromInt(20)}},
		}
		svc := testkit.New(t, store, config)
		ctx := t.Context()
		m := must.Get(svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		must.Do(t, svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(1000), Source: "bank"}))
		caller := api.Caller{Merchant: m.ID}
		customer := must.Get(svc.Accounts.CreateCustomer(ctx, caller, account.CreateCustomerParams{Name: "Ama", Email: "ama@example.com"}))(t)
		pay := func(number string) *payment.Payment {
			t.Helper()
			p := must.Get(svc.Payments.Create(ctx, caller, payment.CreateParams{Amount: 500, MobileMoney: payment.MobileMoney{PhoneNumber: number}, Customer: customer.ID}))(t)
			must.Do(t, svc.Drain(ctx))
			return p
		}
		back := func(p *payment.Payment) *refund.Refund {
			t.Helper()
			r := must.Get(svc.Refunds.Create(ctx, caller, refund.CreateParams{Payment: p.ID}))(t)
			must.Do(t, svc.Drain(ctx))
			return r
		}
		topUp := func(number string) *payment.TopUp {
			t.Helper()
			c := must.Get(svc.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Esi", Phone: number}))(t)
			made := must.Get(svc.Payments.TopUp(ctx, caller, payment.TopUpParams{Account: c.ID, Amount: 1500}))(t)
			must.Do(t, svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: c.ID, Amount: decimal.NewFromInt(10), Source: "bank"}))
			return made
		}
		settle := func(id string) {
			t.Helper()
			must.Do(t, svc.Providers.Settle(ctx, caller, id, provider.Result{Outcome: provider.Paid}))
			must.Do(t, svc.Drain(ctx))
		}
		pass := func(d time.Duration) {
			t.Helper()
			now = now.Add(d)
			must.Do(t, svc.Drain(ctx))
		}
		kept := func(kind, word string) (n int) {
			t.Helper()
			for where, text := range testkit.Contents(t, store, m.ID) {
				if strings.HasPrefix(where, kind) && strings.Contains(text, word) {
					n++
				}
			}
			return n
		}
		want := func(what string, payments, refunds, topUps, topUpRefunds int) {
			t.Helper()
			for kind, n := range map[string]int{"payments": payments, "refunds": refunds, "top_ups": topUps, "top_up_refunds": topUpRefunds} {
				expect.Equal(t, kept(kind, "+23324"), n, "%s: numbers in %s", what, kind)
			}
			expect.Equal(t, kept("payments", "ama@example.com"), payments, "%s: e-mails in payments", what)
		}
		first := pay("0241110001")
		back(first)
		open, slow := pay("0241110903"), back(pay("0241110912"))
		topUp("0241110002")
		late := topUp("0241120903")
		early := topUp("0241130903")
		settle(early.ID)
		want("at first", 3, 2, 3, 1)

		config.NumberRetention = 30 * day
		svc = testkit.New(t, store, config)
		pass(10 * day)
		young := pay("0241110004")
		want("before its time", 4, 2, 3, 1)
		pass(21 * day)
		want("after its time", 2, 1, 1, 0)
		pass(2 * time.Hour)
		settle(open.ID)
		settle(slow.ID)
		settle(late.ID)
		want("what ends late", 1, 0, 0, 1) // the refund of the top-up is new
		pass(20 * day)
		want("later", 0, 0, 0, 1)
		pass(11 * day)
		want("in the end", 0, 0, 0, 0)
		expect.Equal(t, *must.Get(svc.Payments.Get(ctx, caller, first.ID))(t).PhoneNumber, "024****001", "the masked number")
		again := back(young)
		expect.Equal(t, must.Get(svc.Refunds.Get(ctx, caller, again.ID))(t).Status, refund.Succeeded, "a refund without the number")
	})
}
