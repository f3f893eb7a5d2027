package retention_test

import (
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
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

// Retention removes checkout sessions that have ended, after the host's time. The rule for their numbers goes
// on beside it. An open one stays, and so do the payments.
func TestRetentionRemovesSessions(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		svc := testkit.New(t, store, payments.Config{
			Sandbox: true, NumberRetention: 2 * time.Hour, CheckoutRetention: 6 * time.Hour, Clock: func() time.Time { return now },
		})
		ctx := t.Context()
		m := must.Get(svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		caller := api.Caller{Merchant: m.ID}
		sell := func() string {
			return must.Get(svc.Checkout.Create(ctx, caller, checkout.CreateParams{
				SuccessURL: "https://shop.example/", Email: "ama@example.com", Lines: []invoice.LineParams{{Description: "a", UnitAmount: new(int64(100))}},
			}))(t).ID
		}
		pay := func(id, number string) {
			t.Helper()
			must.Get(svc.Checkout.Pay(ctx, caller, id, checkout.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: number}}))(t)
			must.Do(t, svc.Drain(ctx))
		}
		pass := func(d time.Duration) {
			t.Helper()
			now = now.Add(d)
			must.Do(t, svc.Drain(ctx))
		}
		paid, expired, open := sell(), sell(), sell()
		pay(paid, "0241110001")
		pay(expired, "0241230903") // without an outcome
		pass(11 * time.Minute)
		must.Get(svc.Checkout.Expire(ctx, caller, expired))(t)
		pass(4 * time.Hour)
		expect.True(t, must.Get(svc.Checkout.Get(ctx, caller, paid))(t).Email == nil, "the e-mail is kept")
		pass(4 * time.Hour)
		pass(time.Hour)
		for id, want := range map[string]api.Code{paid: api.ResourceMissing, expired: api.ResourceMissing, open: ""} {
			testkit.WantCode(t, "a session after its time", testkit.Err(svc.Checkout.Get(ctx, caller, id)), want)
		}
		all := must.Get(svc.Payments.List(ctx, caller, payment.ListParams{}))(t).Data
		must.True(t, len(all) == 2, "%d payments", len(all))
		must.Do(t, svc.Providers.Settle(ctx, caller, all[0].ID, provider.Result{Outcome: provider.Paid}))
		must.Do(t, svc.Drain(ctx))
		late := must.Get(svc.Payments.Get(ctx, caller, all[0].ID))(t)
		expect.Equal(t, late.Status, payment.Completed, "status")
		expect.Equal(t, late.AmountRefunded, 100, "amount refunded")
	})
}

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
