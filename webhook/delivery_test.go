package webhook_test

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/sqlite"
	"github.com/seed-7082ffec/payments/webhook"
)

func TestDeliveriesOfOneEventAreListed(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *shop) {
		r := listen(t)
		for range 2 {
			must.Get(s.Webhooks.Create(t.Context(), s.Caller, webhook.CreateParams{URL: r.URL, Events: []event.Type{"qr_code.created"}}))(t)
		}
		for range 2 {
			must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{}))(t)
		}
		must.Do(t, s.Drain(t.Context()))
		s.pass(time.Minute) // for those that waited for their endpoint
		s.pass(time.Minute)
		events := must.Get(s.Events.List(t.Context(), s.Caller, event.ListParams{}))(t)
		told := map[string]int{}
		for _, e := range events.Data {
			list := must.Get(s.Webhooks.ListDeliveries(t.Context(), s.Caller, webhook.ListDeliveriesParams{Event: e.ID}))(t)
			for _, d := range list.Data {
				expect.Equal(t, d.Event, e.ID, "delivery: event")
				expect.Equal(t, d.Status, webhook.Delivered, "delivery: status")
				expect.Equal(t, len(d.Attempts), 1, "delivery: number of attempts")
				told[d.Endpoint]++
			}
			expect.Equal(t, len(list.Data), 2, "%s: number of deliveries", e.ID)
			expect.Equal(t, list.HasMore, false, "%s: HasMore", e.ID)
		}
		expect.Equal(t, len(events.Data), 2, "number of events")
		expect.Equal(t, len(told), 2, "told: number")
		live := s.Caller
		live.Live = true
		for name, c := range map[string]api.Caller{"another mode": live, "another merchant": {Merchant: "mer_other"}} {
			testkit.WantCode(t, name, testkit.Err(s.Webhooks.ListDeliveries(t.Context(), c, webhook.ListDeliveriesParams{Event: events.Data[0].ID})),
				api.ResourceMissing)
		}
	})
}

// A repetition has no secret, whether the caller asks about repetitions or not.
func TestReplayedCallRevealsNoSecret(t *testing.T) {
	s := open(t, memory.New())
	caller := s.Caller
	for i := range 2 {
		caller.IdempotencyKey = "create"
		made := must.Get(s.Webhooks.Create(t.Context(), caller, webhook.CreateParams{URL: "http://127.0.0.1:9/", Events: []event.Type{"*"}}))(t)
		caller.IdempotencyKey = "rotate"
		turned := must.Get(s.Webhooks.RotateSecret(t.Context(), caller, made.ID))(t)
		expect.True(t, (made.Secret == "") == (i == 1), "call %d: secrets %q and %q", i, made.Secret, turned.Secret)
		expect.True(t, (turned.Secret == "") == (i == 1), "call %d: secrets %q and %q", i, made.Secret, turned.Secret)
	}
}

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

// ResendSince goes on when the retention removes the events that it has come to.
func TestResendBesideRetention(t *testing.T) {
	now, store := time.Now(), faultstore.New(memory.New())
	s := paymentstest.NewWithStore(t, store, payments.Config{
		WebhookAllow: loopback, EventRetention: 10 * 24 * time.Hour, Clock: func() time.Time { return now },
	})
	for range api.MaxLimit + 1 {
		must.Get(s.Events.Record(t.Context(), s.Caller, event.RecordParams{Type: "plan.created", Object: map[string]int{"a": 1}}))(t)
	}
	e := must.Get(s.Webhooks.Create(t.Context(), s.Caller, webhook.CreateParams{URL: listen(t).URL, Events: []event.Type{"*"}}))(t)
	must.Do(t, s.Drain(t.Context()))
	store.BetweenAt(api.MaxLimit/2, func() { // on the first page
		now = now.Add(11 * 24 * time.Hour)
		must.Do(t, s.Drain(t.Context()))
	})
	n := must.Get(s.Webhooks.ResendSince(t.Context(), s.Caller, e.ID, api.Times{}))(t)
	expect.True(t, store.Heal(), "%d events were sent again, also those that are gone", n)
	expect.True(t, n < api.MaxLimit/2, "%d events were sent again, also those that are gone", n)
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

// A delivery counts once, when it has ended, on the day on which it was made.
func TestDeliveriesCountByHowLongTheyTook(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *shop) {
		noon := time.Now().UTC().Truncate(24 * time.Hour).Add(36 * time.Hour)
		s.pass(noon.Sub(s.now))
		r := listen(t)
		s.endpoint(r.URL, "qr_code.created")
		days := api.Times{From: noon.AddDate(0, 0, -1), Until: noon.AddDate(0, 0, 1)}
		counted := func(what string, delivered [5]int64, failed int64) {
			t.Helper()
			got := must.Get(s.Webhooks.DailyLatencies(t.Context(), s.Caller, days))(t)
			expect.Equal(t, len(got), 3, "%s: days", what)
			expect.Equal(t, got[1], webhook.DayLatency{Day: noon.Truncate(24 * time.Hour), Delivered: delivered, Failed: failed}, "%s", what)
		}
		s.happen()
		s.pass(0)
		counted("at once", [5]int64{1}, 0)
		r.answers(http.StatusInternalServerError)
		s.happen()
		s.pass(0)
		counted("under way", [5]int64{1}, 0)
		r.answers(http.StatusOK)
		s.pass(10 * time.Minute)
		counted("within an hour", [5]int64{1, 0, 0, 1}, 0)
		r.answers(http.StatusInternalServerError)
		s.happen()
		s.pass(0)
		r.answers(http.StatusOK)
		s.pass(13 * time.Hour)
		counted("the next day", [5]int64{1, 0, 0, 1, 1}, 0)
		r.answers(http.StatusGone)
		s.happen()
		s.pass(0)
		got := must.Get(s.Webhooks.DailyLatencies(t.Context(), s.Caller, days))(t)
		expect.Equal(t, got[2], webhook.DayLatency{Day: got[2].Day, Failed: 1}, "given up")
		live := s.Caller
		live.Live = true
		expect.Equal(t, must.Get(s.Webhooks.DailyLatencies(t.Context(), live, days))(t)[1].Delivered, [5]int64{}, "the other mode")
		for _, period := range []api.Times{{}, {From: noon, Until: noon.AddDate(0, 0, -1)}, {From: noon, Until: noon.AddDate(2, 0, 0)}} {
			testkit.WantParam(t, "a wrong period", testkit.Err(s.Webhooks.DailyLatencies(t.Context(), s.Caller, period)), api.ParameterInvalid, "period")
		}
	})
}
