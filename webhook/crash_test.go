package webhook_test

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/webhook"
)

// Every committed event arrives, and no other, whenever the process dies: between commit and
// delivery, during a delivery, or after the answer and before its outcome is stored.
func TestCommittedEventsSurviveProcessDeaths(t *testing.T) {
	r := listen(t)
	for seed := range uint64(300) {
		dice := rand.New(rand.NewPCG(seed, seed))
		kept, now := memory.New(), time.Now()
		var store *faultstore.Mortal
		var svc *payments.Service
		start := func() {
			now = now.Add(time.Millisecond)
			store = &faultstore.Mortal{Store: kept}
			svc = must.Get(payments.New(t.Context(), store, payments.Config{
				WebhookAllow: loopback, Logger: slog.New(slog.DiscardHandler), Clock: func() time.Time { return now },
			}))(t)
		}
		start()
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		caller := api.Caller{Merchant: m.ID}
		endpoints := 1 + dice.IntN(2)
		for range endpoints {
			must.Get(svc.Webhooks.Create(t.Context(), caller, webhook.CreateParams{URL: r.URL, Events: []event.Type{"*"}}))(t)
		}
		r.mu.Lock()
		before := len(r.got)
		r.mu.Unlock()
		for range 6 {
			store.DieAt(1+dice.IntN(20), dice.IntN(2) == 0)
			for range 2 { // the second delivery finds endpoints that are known to answer
				for range 1 + dice.IntN(2) {
					_, err := svc.Events.Record(t.Context(), caller, event.RecordParams{Type: "plan.created", Object: map[string]int{"a": 1}})
					must.True(t, err == nil || errors.Is(err, faultstore.ErrDead), "%v", err)
				}
				if err := svc.Drain(t.Context()); err != nil && !errors.Is(err, faultstore.ErrDead) {
					t.Fatal(err)
				}
			}
			start()
		}
		for range 4 { // leases run out, and the survivors are delivered
			now = now.Add(2 * time.Minute)
			must.Do(t, svc.Drain(t.Context()))
		}
		h := must.Get(svc.Health(t.Context()))(t)
		expect.True(t, h.OldestDue == nil, "seed %d: work is left over: %+v", seed, h.Queues)
		told := map[string]bool{}
		for _, q := range r.got[before:] {
			told[q.Header.Get("Webhook-Id")] = true
		}
		n := 0
		for e, err := range api.All(t.Context(), caller, event.ListParams{}, svc.Events.List) {
			must.Do(t, err)
			n++
			expect.True(t, told[e.ID], "seed %d: %s was lost", seed, e.ID)
			expect.Equal(t, e.PendingWebhooks, 0, "seed %d: %d are still pending", seed, e.PendingWebhooks)
			delete(told, e.ID)
			made := must.Get(svc.Webhooks.ListDeliveries(t.Context(), caller, webhook.ListDeliveriesParams{Event: e.ID}))(t)
			expect.Equal(t, len(made.Data), endpoints, "seed %d: %d deliveries of %s to %d endpoints", seed, len(made.Data), e.ID, endpoints)
			for _, d := range made.Data {
				expect.Equal(t, d.Status, webhook.Delivered, "seed %d: %+v", seed, d)
			}
		}
		expect.Equal(t, len(told), 0, "seed %d: number", seed)
		expect.True(t, n != 0, "seed %d: %d events, and %d were told that were not committed", seed, n, len(told))
		must.Do(t, kept.Close())
		if t.Failed() {
			return
		}
	}
}
