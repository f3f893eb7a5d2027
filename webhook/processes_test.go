package webhook_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/sqlite"
	"github.com/seed-7082ffec/payments/webhook"
)

// With a retention, events and their deliveries are removed within the
// hour after their time.
func TestEventsAndDeliveriesAreRemovedTogether(t *testing.T) {
	now := time.Now()
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{
		WebhookAllow: loopback, EventRetention: 10 * 24 * time.Hour, Clock: func() time.Time { return now },
	})
	r := listen(t)
	record := func() {
		t.Helper()
		must.Get(s.Events.Record(t.Context(), s.Caller, event.RecordParams{Type: "plan.created", Object: map[string]int{"a": 1}}))(t)
	}
	record() // no endpoint gets it
	e := must.Get(s.Webhooks.Create(t.Context(), s.Caller, webhook.CreateParams{URL: r.URL, Events: []event.Type{"*"}}))(t)
	now = now.Add(2 * time.Hour)
	record()
	count := func() (events, deliveries int) {
		t.Helper()
		must.Do(t, s.Drain(t.Context()))
		list := must.Get(s.Events.List(t.Context(), s.Caller, event.ListParams{Type: "plan.created"}))(t)
		told := must.Get(s.Webhooks.ListDeliveries(t.Context(), s.Caller, webhook.ListDeliveriesParams{Endpoint: e.ID}))(t)
		return len(list.Data), len(told.Data)
	}
	for _, c := range []struct {
		pass               time.Duration
		events, deliveries int
	}{
		{0, 2, 1},
		{10*24*time.Hour - 2*time.Hour - time.Second, 2, 1},
		{time.Hour + time.Second, 1, 1},
		{2 * time.Hour, 0, 0},
	} {
		now = now.Add(c.pass)
		if events, deliveries := count(); events != c.events || deliveries != c.deliveries {
			t.Errorf("after %s: %d events and %d deliveries, want %d and %d", c.pass, events, deliveries, c.events, c.deliveries)
		}
	}
	expect.True(t, r.count() == 1, "%d were told", r.count())
}

// Two processes over one store share the work, and no delivery is made twice.
func TestTwoProcessesDeliverOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "two.db")
	var shops []*payments.Service
	for range 2 {
		store := must.Get(sqlite.Open(context.Background(), path, sqlite.Config{}))(t)
		t.Cleanup(func() { must.Do(t, store.Close()) })
		svc := must.Get(payments.New(t.Context(), store, payments.Config{WebhookAllow: loopback, Logger: slog.New(slog.DiscardHandler)}))(t)
		shops = append(shops, svc)
	}
	m := must.Get(shops[0].Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	caller := api.Caller{Merchant: m.ID}
	r := listen(t)
	for range 3 {
		must.Get(shops[0].Webhooks.Create(t.Context(), caller, webhook.CreateParams{URL: r.URL, Events: []event.Type{"*"}}))(t)
	}
	const events = 60
	for i := range events {
		must.Get(shops[i%2].Events.Record(t.Context(), caller, event.RecordParams{Type: "plan.created", Object: map[string]int{"n": i}}))(t)
	}
	for r.count() < 3*events {
		var both sync.WaitGroup
		for _, svc := range shops {
			both.Go(func() { expect.NoError(t, svc.Drain(t.Context()), "Drain") })
		}
		both.Wait()
	}
	told := map[string]int{}
	for _, q := range r.got {
		told[q.Header.Get("Webhook-Id")]++
	}
	for id, n := range told {
		expect.Equal(t, n, 3, "%s was told %d times, want once to each of three", id, n)
	}
	expect.Equal(t, len(told), events, "%d events were told", len(told))
}
