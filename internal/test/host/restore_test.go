package host_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
)

// counting counts the orders that it gets.
type counting struct {
	provider.Simulated
	transfers, charges atomic.Int64
}

func (c *counting) Submit(ctx context.Context, t provider.Transfer) (provider.Result, error) {
	c.transfers.Add(1)
	return c.Simulated.Submit(ctx, t)
}

func (c *counting) Charge(ctx context.Context, p provider.Charge) (provider.Result, error) {
	c.charges.Add(1)
	return c.Simulated.Charge(ctx, p)
}

// A restored database does again what has no order in it, such as a row of a batch and a renewal. The steps
// of docs/guide/backup.md prevent that.
func TestRestoredWorkIsDoneOnce(t *testing.T) {
	ctx, now := t.Context(), time.Now()
	provider := &counting{}
	open := func(store storage.Store) *payments.Service {
		t.Cleanup(func() { must.Do(t, store.Close()) })
		return must.Get(payments.New(ctx, store, payments.Config{
			Key: make([]byte, 32), Test: payments.Providers{Rail: provider, Charger: provider}, Clock: func() time.Time { return now },
		}))(t)
	}
	orders := func(want [2]int64, when string) {
		t.Helper()
		expect.Equal(t, [2]int64{provider.transfers.Load(), provider.charges.Load()}, want, "%s", when)
	}

	original, careless, careful := memory.New(), memory.New(), memory.New()
	svc := open(original)
	merchant := must.Get(svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar"}))(t)
	caller := api.Caller{Merchant: merchant.ID}
	must.Do(t, svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: merchant.ID, Amount: decimal.NewFromInt(1000), Source: "bank"}))
	customer := must.Get(svc.Accounts.CreateCustomer(ctx, caller, account.CreateCustomerParams{Name: "Ama", Phone: "0241234567"}))(t)
	weekly := must.Get(svc.Plans.Create(ctx, caller, catalog.CreatePlanParams{Name: "Juice", Amount: 45_00, Interval: catalog.Week}))(t)
	member := must.Get(svc.Subscriptions.Create(ctx, caller, subscription.CreateParams{
		Customer: customer.ID, Plan: weekly.ID, CollectionMethod: invoice.ChargeAutomatically,
	}))(t)
	must.Do(t, svc.Drain(ctx))
	orders([2]int64{0, 1}, "before the backup")
	batch := must.Get(svc.Disbursements.CreateBatch(ctx, caller, disbursement.CreateBatchParams{Rows: []disbursement.RowParams{{CreateParams: disbursement.CreateParams{
		Amount: decimal.NewFromInt(20), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234567"},
	}}}}))(t)
	for _, backup := range []storage.Store{careless, careful} {
		must.Do(t, storage.Copy(ctx, backup, original, payments.Kinds(), nil))
	}
	now = now.Add(8 * 24 * time.Hour)
	must.Do(t, svc.Drain(ctx))
	orders([2]int64{1, 2}, "after the backup")

	must.Do(t, open(careless).Drain(ctx))
	orders([2]int64{2, 3}, "restored without the steps")

	svc = open(careful)
	queued := must.Get(svc.Disbursements.ListRows(ctx, caller, batch.ID, disbursement.ListRowsParams{Status: disbursement.RowQueued}))(t)
	expect.Equal(t, len(queued.Data), 1, "queued rows")
	for _, row := range queued.Data {
		paid := caller
		paid.IdempotencyKey = row.IdempotencyKey
		must.Get(payments.Once(ctx, svc, paid, "acme.paid_before_restore", row.ID, func() (*string, error) { return &row.ID, nil }))(t)
	}
	must.Get(svc.Subscriptions.Update(ctx, caller, member.ID, subscription.UpdateParams{Metadata: api.Metadata{"restored": true}}))(t)
	due := must.Get(svc.Invoices.List(ctx, caller, invoice.ListParams{Status: invoice.Open}))(t)
	expect.Equal(t, len(due.Data), 1, "open invoices")
	for _, inv := range due.Data {
		expect.True(t, inv.NextPaymentAttempt != nil, "the charge of %s is planned", inv.ID)
		must.Get(svc.Invoices.Pay(ctx, caller, inv.ID, invoice.PayParams{PaymentMethod: "mobile_money", PaidOutOfBand: true}))(t)
	}
	must.Do(t, svc.Drain(ctx))
	orders([2]int64{2, 3}, "restored with the steps")
	refused := must.Get(svc.Disbursements.ListRows(ctx, caller, batch.ID, disbursement.ListRowsParams{Status: disbursement.RowRefused}))(t)
	must.True(t, len(refused.Data) == 1, "refused rows: %+v, want one", refused.Data)
	expect.Equal(t, refused.Data[0].Error.Code, api.IdempotencyKeyReused, "error code of the refused row")
	is := must.Get(svc.Subscriptions.Get(ctx, caller, member.ID))(t)
	expect.Equal(t, is.Status, subscription.Active, "the subscription")
}
