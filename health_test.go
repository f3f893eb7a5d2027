package payments_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// undecided is a rail that never decides.
type undecided struct{}

func (undecided) Submit(context.Context, provider.Transfer) (provider.Result, error) {
	return provider.Result{Outcome: provider.InProgress}, nil
}

func (undecided) Status(context.Context, provider.Transfer) (provider.Result, error) {
	return provider.Result{Outcome: provider.InProgress}, nil
}

func TestHealth(t *testing.T) {
	t.Run("memory", func(t *testing.T) { testHealth(t, memory.New()) })
	t.Run("sqlite", func(t *testing.T) {
		store := must.Get(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "payments.db"), sqlite.Config{}))(t)
		testHealth(t, store)
	})
}

// solvent is a rail that tells its balance.
type solvent struct{ undecided }

func (solvent) Balance(context.Context, bool) (provider.Balance, error) {
	return provider.Balance{Available: 12_50}, nil
}

func TestHealthShowsProviderBalances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := testkit.New(t, memory.New(), payments.Config{Live: payments.Providers{Rail: solvent{}}, Test: payments.Providers{Rail: solvent{}}})
		shown := func() string {
			t.Helper()
			h := must.Get(svc.Health(t.Context()))(t)
			return string(must.Get(json.Marshal(h.ProviderBalances))(t))
		}
		expect.Equal(t, shown(), `[{"provider":"rail","available":null,"at":null}]`, "before the provider has answered")
		synctest.Wait()
		expect.Equal(t, shown(), `[{"provider":"rail","available":12.5,"at":"2000-01-01T00:00:00.000Z"}]`, "afterwards")
	})
}

func testHealth(t *testing.T, store storage.Store) {
	begin := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	now := begin
	svc := testkit.New(t, store, payments.Config{
		Live: payments.Providers{Rail: undecided{}}, Test: payments.Providers{Rail: undecided{}}, StuckAfter: time.Hour, Sandbox: true, Clock: func() time.Time { return now },
	})
	merchant := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	send := func(live bool, n int) {
		t.Helper()
		must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{Live: live}, account.DepositParams{To: merchant.ID, Amount: decimal.NewFromInt(int64(2 * n)), Source: "bank"}))
		for range n {
			must.Get(svc.Disbursements.Create(t.Context(), api.Caller{Merchant: merchant.ID, Live: live}, disbursement.CreateParams{
				Amount: decimal.NewFromInt(1), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234567"},
			}))(t)
		}
	}
	health := func() *payments.Health {
		t.Helper()
		return must.Get(svc.Health(t.Context()))(t)
	}
	queue := func(h *payments.Health, name string) payments.Queue {
		t.Helper()
		for _, q := range h.Queues {
			if q.Name == name {
				return q
			}
		}
		t.Fatalf("no queue %s in %+v", name, h)
		return payments.Queue{}
	}

	h := health()
	expect.True(t, !h.Running, "at first: the workers run")
	expect.Equal(t, h.Lag(), 0, "at first: the lag")
	expect.True(t, h.OldestDue == nil, "at first: work is due since %v", h.OldestDue)
	expect.Equal(t, h.StuckLive, 0, "at first: stuck live orders")
	expect.Equal(t, h.StuckTest, 0, "at first: stuck test orders")
	expect.True(t, h.At.Equal(begin), "at first: it is %s, want %s", h.At, begin)
	expect.True(t, len(h.Queues) >= 7, "at first: queues %+v, want seven or more", h.Queues)
	expect.True(t, h.OldestUnsealed == nil, "with nothing booked: entries since %v have no seal", h.OldestUnsealed)
	expect.Equal(t, h.SealLag(), 0, "with nothing booked: the lag of the seals")
	for _, q := range h.Queues {
		expect.Equal(t, q.Due, 0, "at first: due in %s", q.Name)
		expect.True(t, q.OldestDue == nil, "at first: work is due in %s since %v", q.Name, q.OldestDue)
	}

	// More than a page of them, live; a few of test mode.
	send(true, 205)
	send(false, 3)
	now = begin.Add(10 * time.Minute)
	h = health()
	if q := queue(h, "disbursements"); q.Due != 208 || !q.OldestDue.Equal(begin) || h.Lag() != 10*time.Minute || h.StuckLive != 0 {
		t.Errorf("before it is worked on: %+v, lag %s", h, h.Lag())
	}
	if q := queue(h, "payouts"); q.Due != 0 {
		t.Errorf("payouts: %+v", q)
	}
	must.Do(t, svc.Drain(t.Context()))
	expect.True(t, h.SealLag() == 10*time.Minute, "before a worker has sealed anything: %s", h.SealLag())
	h = health()
	expect.Equal(t, queue(h, "disbursements").Due, 0, "when it was worked on: disbursements due")
	expect.Equal(t, h.Lag(), 0, "when it was worked on: the lag")
	must.True(t, h.OldestUnsealed != nil, "when it was worked on: no time of the seals in %+v", h)
	expect.True(t, h.OldestUnsealed.Equal(now), "when it was worked on: entries have seals until %s, want %s", h.OldestUnsealed, now)

	now = begin.Add(30 * time.Minute)
	send(true, 2) // younger than what is stuck
	send(false, 1)
	must.Do(t, svc.Drain(t.Context()))
	now = begin.Add(time.Hour - time.Millisecond)
	h = health()
	expect.Equal(t, h.StuckLive, 0, "just before: stuck live orders")
	expect.Equal(t, h.StuckTest, 0, "just before: stuck test orders")
	now = begin.Add(time.Hour)
	stuck := func(live bool) []provider.OrderInfo {
		return testkit.All(api.All(t.Context(), api.Caller{Live: live}, provider.ListParams{}, svc.Providers.List))
	}
	list, inTest := stuck(true), stuck(false)
	if h = health(); h.StuckLive != 205 || h.StuckTest != 3 || len(list) != 205 || len(inTest) != 3 {
		t.Errorf("then: %d live, %d test, %d are listed", h.StuckLive, h.StuckTest, len(list))
	}
	// The test clock makes those of its merchant older.
	must.Get(svc.MoveClock(t.Context(), api.Caller{Merchant: merchant.ID}, payments.ClockParams{By: 30 * time.Minute}))(t)
	h = health()
	expect.Equal(t, h.StuckLive, 205, "by the test clock: stuck live orders")
	expect.Equal(t, h.StuckTest, 4, "by the test clock: stuck test orders")
	must.Do(t, svc.Providers.Notify(t.Context(), list[0].ID, provider.Result{Outcome: provider.Paid}))
	h = health()
	expect.True(t, h.StuckLive == 204, "when one was paid: %d live", h.StuckLive)

	svc.Start(t.Context())
	expect.True(t, health().Running, "it does not run when it was started")
	must.Do(t, svc.Stop(t.Context()))
	expect.True(t, !health().Running, "it runs when it was stopped")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	expect.ErrorIs(t, testkit.Err(svc.Health(ended)), context.Canceled, "in an ended context")
	must.Do(t, store.Close())
	expect.ErrorIs(t, testkit.Err(svc.Health(t.Context())), storage.ErrClosed, "of a closed store")
}
