package retention_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/webhook"
)

const day = 24 * time.Hour

// Retention removes records that are older than the host's limit, from every merchant and both
// modes, including records from before the setting. Younger records stay.
func TestRetentionAppliesToExistingRecords(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		config := payments.Config{Clock: func() time.Time { return now }}
		svc := testkit.New(t, store, config)
		var callers []api.Caller
		for range 3 {
			m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
			callers = append(callers, api.Caller{Merchant: m.ID}, api.Caller{Merchant: m.ID, Live: true})
		}
		record := func(n int) {
			t.Helper()
			var all sync.WaitGroup
			for _, c := range callers[1:] { // one merchant has no records
				all.Go(func() { // beside the others, to share commits with them
					for range n {
						expect.NoError(t, testkit.Err(svc.Events.Record(t.Context(), c, event.RecordParams{Type: "plan.created", Object: struct{}{}})), "Record")
					}
				})
			}
			all.Wait()
		}
		kept := func(c api.Caller) (n int) {
			t.Helper()
			p := event.ListParams{Page: api.Page{Limit: 100}}
			for {
				list := must.Get(svc.Events.List(t.Context(), c, p))(t)
				if n += len(list.Data); !list.HasMore {
					return n
				}
				p.StartingAfter = list.Data[99].ID
			}
		}
		want := func(what string, n int) {
			t.Helper()
			for i, c := range callers {
				got := kept(c)
				expect.True(t, i <= 0 || got == n, "%s: of %+v %d are kept, want %d", what, c, got, n)
				expect.True(t, i != 0 || got == 0, "%s: of %+v %d are kept, want %d", what, c, got, n)
			}
		}
		record(230)
		must.Do(t, svc.Drain(t.Context()))
		now = now.Add(20 * day)
		record(3)
		must.Do(t, svc.Drain(t.Context()))
		now = now.Add(20 * day)
		record(2)
		must.Do(t, svc.Drain(t.Context()))
		want("nothing is removed", 235)

		// The host switches it on, shortens it and lengthens it again.
		for _, step := range []struct {
			keep time.Duration
			left int
		}{{30 * day, 5}, {10 * day, 2}, {60 * day, 2}} {
			config.EventRetention = step.keep
			svc = testkit.New(t, store, config)
			now = now.Add(time.Hour + time.Minute)
			must.Do(t, svc.Drain(t.Context()))
			want(step.keep.String(), step.left)
		}
		config.EventRetention = 0
		svc = testkit.New(t, store, config)
		now = now.Add(1000 * day)
		must.Do(t, svc.Drain(t.Context()))
		want("kept for good", 2)
	})
}

// An ended delivery goes before its event, also one from before the setting. A delivery that is
// under way stays.
func TestRetentionOfDeliveries(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		config := payments.Config{Clock: func() time.Time { return now }, WebhookAllow: paymentstest.Loopback()}
		svc := testkit.New(t, store, config)
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		caller := api.Caller{Merchant: m.ID}
		e := must.Get(svc.Webhooks.Create(t.Context(), caller, webhook.CreateParams{URL: "http://127.0.0.1:1/", Events: []event.Type{"plan.created"}}))(t)
		record := func() {
			t.Helper()
			must.Get(svc.Events.Record(t.Context(), caller, event.RecordParams{Type: "plan.created", Object: struct{}{}}))(t)
			must.Do(t, svc.Drain(t.Context()))
		}
		wait := func(d time.Duration) {
			t.Helper()
			for end := now.Add(d); now.Before(end); now = now.Add(6 * time.Hour) {
				must.Do(t, svc.Drain(t.Context()))
			}
		}
		counts := func() (deliveries, events int) {
			t.Helper()
			list := must.Get(svc.Webhooks.ListDeliveries(t.Context(), caller, webhook.ListDeliveriesParams{Endpoint: e.ID, Page: api.Page{Limit: 100}}))(t)
			all := must.Get(svc.Events.List(t.Context(), caller, event.ListParams{}))(t)
			return len(list.Data), len(all.Data)
		}
		for range 3 {
			record()
		}
		wait(4 * day) // the service gives them up
		record()
		config.DeliveryRetention, config.EventRetention = time.Hour, 30*day
		svc = testkit.New(t, store, config)
		wait(day)
		if d, e := counts(); d != 1 || e != 4 {
			t.Errorf("%d deliveries and %d events are kept, want the one under way and 4", d, e)
		}
		wait(4 * day)
		now = now.Add(28 * day)
		wait(day / 2)
		if d, e := counts(); d != 0 || e != 0 {
			t.Errorf("%d deliveries and %d events are kept, want none", d, e)
		}
	})
}

// The service refuses a time that a store cannot keep, or that would break a promise.
func TestRetentionIsChecked(t *testing.T) {
	for want, c := range map[string]payments.Config{
		"EventRetention is -1ns":        {EventRetention: -1},
		"DeliveryRetention is 59m0s":    {DeliveryRetention: 59 * time.Minute},
		"MessageRetention is -1s":       {MessageRetention: -time.Second},
		"IdempotencyRetention is 719h0": {IdempotencyRetention: 30*day - time.Hour},
	} {
		if _, err := payments.New(t.Context(), memory.New(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The service keeps a key for as long as the host says.
func TestKeyRetentionFollowsConfig(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	svc := testkit.New(t, memory.New(), payments.Config{Clock: func() time.Time { return now }, IdempotencyRetention: 90 * day})
	caller := api.Caller{Merchant: "mer_1", IdempotencyKey: "k"}
	record := func() string {
		t.Helper()
		must.Do(t, svc.Drain(t.Context()))
		e := must.Get(svc.Events.Record(t.Context(), caller, event.RecordParams{Type: "plan.created", Object: struct{}{}}))(t)
		return e.ID
	}
	first := record()
	now = now.Add(90*day - time.Millisecond)
	expect.Equal(t, record(), first, "the key was forgotten before its time")
	now = now.Add(time.Millisecond)
	expect.True(t, record() != first, "the key stands beyond its time")
}

// Test mode keeps messages for as long as the host says, including messages from before the
// setting.
func TestMessageRetentionFollowsConfig(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	store, config := memory.New(), payments.Config{Clock: func() time.Time { return now }}
	svc := testkit.New(t, store, config)
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: "0241234567"}))(t)
	caller := api.Caller{Merchant: m.ID}
	say := func() {
		t.Helper()
		must.Get(svc.Payouts.RequestOTP(t.Context(), caller, payout.ForPayout))(t)
	}
	want := func(what string, n int) {
		t.Helper()
		must.Do(t, svc.Drain(t.Context()))
		list := must.Get(svc.Messages.List(t.Context(), caller, message.ListParams{}))(t)
		expect.Equal(t, len(list.Data), n, "%s: %d are there, want %d", what, len(list.Data), n)
	}
	say()
	now = now.Add(5 * day)
	say()
	want("30 days when the host says nothing", 2)
	config.MessageRetention = 4 * day
	svc = testkit.New(t, store, config)
	now = now.Add(time.Hour + time.Minute)
	want("shortened", 1)
	config.MessageRetention = 60 * day
	svc = testkit.New(t, store, config)
	now = now.Add(59 * day)
	want("set longer", 1)
	now = now.Add(day)
	want("its time is over", 0)
}

// A number of a transfer that ended after the passes had gone by it is removed, although the host had
// lengthened the time, for good or for a while, or switched it off when the transfer ended.
func TestRetentionRemovesNumbersAfterChanges(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		var svc *payments.Service
		keep := func(d time.Duration) {
			svc = testkit.New(t, store, payments.Config{NumberRetention: d, Clock: func() time.Time { return now }})
		}
		pass := func(d time.Duration) {
			t.Helper()
			now = now.Add(d)
			must.Do(t, svc.Drain(t.Context()))
		}
		ctx := t.Context()
		keep(30 * day)
		m := must.Get(svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		must.Do(t, svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(100), Source: "bank"}))
		caller := api.Caller{Merchant: m.ID}
		send := func() string { // it has no outcome
			return must.Get(svc.Disbursements.Create(ctx, caller, disbursement.CreateParams{
				Amount: decimal.NewFromInt(1), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241230903"},
			}))(t).ID
		}
		settle := func(id string) {
			t.Helper()
			must.Do(t, svc.Providers.Settle(ctx, caller, id, provider.Result{Outcome: provider.Paid}))
		}
		number := func(id string) string {
			t.Helper()
			return must.Get(svc.Disbursements.RecipientNumber(ctx, caller, id))(t)
		}
		first, second, third := send(), send(), send()
		pass(40 * day)

		keep(90 * day)
		pass(2 * time.Hour)
		settle(third)
		keep(30 * day)
		pass(2 * time.Hour)
		expect.Equal(t, number(third), "", "the number of what ended while the time was longer for two hours")

		keep(90 * day)
		settle(first)
		expect.Equal(t, number(first), "+233241230903", "the number after 40 days of 90")
		pass(40 * day)
		expect.Equal(t, number(first), "+233241230903", "the number after 80 days of 90")
		pass(20 * day)
		expect.Equal(t, number(first), "", "the number after 100 days of 90")

		keep(0)
		settle(second)
		keep(90 * day)
		pass(time.Hour)
		expect.Equal(t, number(second), "", "the number after the rule is on again")

		// Processes restart one after another: one without the rule is still there.
		keep(0)
		fourth := send()
		pass(10 * day)
		former := svc
		keep(30 * day)
		pass(30 * day)
		now, svc = now.Add(time.Hour), former
		settle(fourth)
		keep(30 * day)
		pass(2 * time.Hour)
		expect.Equal(t, number(fourth), "", "the number of what ended in the former process, after a pass of the new one")
	})
}
