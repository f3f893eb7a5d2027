package faults_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
)

// cutOff is one process's way to a store that others use, too.
type cutOff struct {
	storage.Store
	down atomic.Bool
}

func (c *cutOff) Update(ctx context.Context, fn func(storage.Tx) error) error {
	if c.down.Load() {
		return storage.ErrUnavailable
	}
	return c.Store.Update(ctx, fn)
}

func (c *cutOff) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	if c.down.Load() {
		return storage.ErrUnavailable
	}
	return c.Store.View(ctx, fn)
}

// lingering is a rail that takes its time for each submission.
type lingering struct {
	submit           func()
	submitted, asked atomic.Int64
}

func (r *lingering) Submit(context.Context, provider.Transfer) (provider.Result, error) {
	r.submitted.Add(1)
	r.submit()
	return provider.Result{Outcome: provider.Paid}, nil
}

func (r *lingering) Status(context.Context, provider.Transfer) (provider.Result, error) {
	r.asked.Add(1)
	return provider.Result{Outcome: provider.Paid}, nil
}

// sent has one of two processes make a disbursement, and returns when the rail was
// called for it.
func sent(t *testing.T, first *cutOff, rail *lingering, called <-chan struct{}) (svc *payments.Service, caller api.Caller, id string) {
	t.Helper()
	svc = testkit.New(t, first, payments.Config{Live: payments.Providers{Rail: rail}})
	other := testkit.New(t, first.Store, payments.Config{Live: payments.Providers{Rail: rail}})
	t.Cleanup(func() { must.Do(t, svc.Stop(context.Background())); must.Do(t, other.Stop(context.Background())) })
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	caller = api.Caller{Merchant: m.ID, Live: true}
	must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{Live: true}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(9), Source: "bank"}))
	made := must.Get(svc.Disbursements.Create(t.Context(), caller, disbursement.CreateParams{
		Amount: decimal.NewFromInt(1), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234567"},
	}))(t)
	svc.Start(t.Context())
	<-called
	other.Start(t.Context())
	return other, caller, made.ID
}

// A process that loses its database while a rail is being asked leaves the transfer to
// another one, within seconds.
func TestTransferCaughtInAFailoverIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called := make(chan struct{}, 1)
		first := &cutOff{Store: memory.New()}
		rail := &lingering{submit: func() {
			first.down.Store(true)
			called <- struct{}{}
		}}
		svc, caller, id := sent(t, first, rail, called)
		lost := time.Now()
		for {
			is := must.Get(svc.Disbursements.Get(t.Context(), caller, id))(t)
			if is.Status == payout.Completed {
				break
			}
			must.True(t, time.Since(lost) <= 5*time.Minute, "it stays open")
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(lost); took > 20*time.Second {
			t.Errorf("it was taken over after %s", took)
		}
		expect.Equal(t, rail.submitted.Load(), 1, "times submitted")
		expect.Equal(t, rail.asked.Load(), 1, "times asked about")
		first.down.Store(false)
	})
}

// A rail that takes longer than an order is left alone for is not asked by another
// worker meanwhile.
func TestSlowRailIsAskedByOneWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called := make(chan struct{}, 1)
		rail := &lingering{submit: func() {
			called <- struct{}{}
			time.Sleep(29 * time.Second)
		}}
		svc, caller, id := sent(t, &cutOff{Store: memory.New()}, rail, called)
		time.Sleep(40 * time.Second)
		is := must.Get(svc.Disbursements.Get(t.Context(), caller, id))(t)
		expect.Equal(t, is.Status, payout.Completed, "the status")
		expect.Equal(t, rail.submitted.Load(), 1, "times submitted")
		expect.Equal(t, rail.asked.Load(), 0, "times asked about")
	})
}

// While the store fails at each operation of the work in turn, or loses the answer of each commit, each
// period of a subscription has one invoice, which is charged once, and each event is written once.
func TestPeriodsAreBilledOnceWhileTheStoreFails(t *testing.T) {
	oneGoroutine(t)
	for name, arm := range map[string]func(*faultstore.Store, int){"fails": (*faultstore.Store).FailAt, "loses answers": (*faultstore.Store).LoseAt} {
		t.Run(name, func(t *testing.T) {
			store, ctx := faultstore.New(memory.New()), t.Context()
			s := openBooth(t, store)
			const amount, day = 500, 24 * time.Hour
			plan := must.Get(s.Plans.Create(ctx, s.caller, catalog.CreatePlanParams{Name: "Juice", Amount: amount, Interval: catalog.Day}))(t)
			customer := must.Get(s.Accounts.CreateCustomer(ctx, s.caller, account.CreateCustomerParams{Name: "Abena", Phone: "0241000008"}))(t)
			made := must.Get(s.Subscriptions.Create(ctx, s.caller, subscription.CreateParams{Customer: customer.ID, Plan: plan.ID, CollectionMethod: invoice.ChargeAutomatically}))(t)
			s.pass(t, 0)
			start, k := s.now, 1
			for hit := true; hit; k++ {
				must.True(t, k <= 1000, "the work has no end")
				s.now = start.Add(time.Duration(k) * day)
				arm(store, k)
				err := s.Drain(ctx)
				if hit = store.Heal(); err != nil && !errors.Is(err, faultstore.Err) {
					t.Fatal(err)
				}
				s.pass(t, 2*time.Minute)
			}
			is := must.Get(s.Subscriptions.Get(ctx, s.caller, made.ID))(t)
			expect.Equal(t, is.Status, subscription.Active, "after %d days: status", k-1)
			expect.Equal(t, is.CurrentPeriodStart, start.Add(time.Duration(k-1)*day).Unix(), "after %d days: start of the period", k-1)
			from := is.CurrentPeriodStart
			for v, err := range api.All(ctx, s.caller, invoice.ListParams{Subscription: is.ID}, s.Invoices.List) { // the newest first
				must.Do(t, err)
				period := v.Lines.Data[0].Period
				must.True(t, v.Status == invoice.Paid && period.Start == from && s.charger.taken[*v.Payment] == amount, "the invoice of %d is %+v", from, v)
				from -= int64(day / time.Second)
			}
			expect.Equal(t, from, start.Add(-day).Unix(), "the first period")
			expect.Equal(t, len(s.charger.taken), k, "charges")
			balance := must.Get(s.Accounts.Balance(ctx, s.caller))(t)
			expect.Equal(t, balance.Available.Shift(2).IntPart(), int64(k*amount), "balance")
			told := map[event.Type]int{}
			for e, err := range api.All(ctx, s.caller, event.ListParams{}, s.Events.List) {
				must.Do(t, err)
				told[e.Type]++
			}
			for what, want := range map[event.Type]int{
				event.SubscriptionCreated: 1, event.SubscriptionUpdated: k - 1, event.SubscriptionPaymentSucceeded: k,
				event.InvoiceFinalized: k, event.InvoicePaid: k, event.PaymentSucceeded: k,
			} {
				expect.Equal(t, told[what], want, "%s", what)
			}
			expect.True(t, k > 10, "%d faults", k)
			t.Logf("%d faults", k)
		})
	}
}
