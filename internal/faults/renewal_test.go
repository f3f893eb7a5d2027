package faults_test

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/faultstore"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
)

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
			expect.True(t, is.Status == subscription.Active && is.CurrentPeriodStart == start.Add(time.Duration(k-1)*day).Unix(), "after %d days it is %+v", k-1, is)
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
