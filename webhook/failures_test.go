package webhook_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/webhook"
)

// Create and Update refuse an endpoint that is wrong in any way. A refusal changes nothing.
func TestInvalidEndpointsAreRefused(t *testing.T) {
	s := open(t, memory.New())
	live := api.Caller{Merchant: s.Caller.Merchant, Live: true}
	kept, err := s.Webhooks.Create(t.Context(), live, webhook.CreateParams{URL: "https://example.com/h", Events: []event.Type{"*"}})
	must.Do(t, err)
	for name, test := range map[string]struct {
		url    string
		events []event.Type
		code   api.Code
		param  string
	}{
		"no encryption":   {"http://example.com/h", []event.Type{"*"}, api.WebhookURLInvalid, "url"},
		"an unknown type": {"https://example.com/h", []event.Type{"payment.created", "payment.lost"}, api.EventTypeUnknown, "events[1]"},
		"no type":         {"https://example.com/h", []event.Type{}, api.ParameterMissing, "events"},
	} {
		_, err := s.Webhooks.Create(t.Context(), live, webhook.CreateParams{URL: test.url, Events: test.events})
		var e *api.Error
		must.True(t, errors.As(err, &e), "create with %s: got %+v", name, err)
		expect.Equal(t, e.Code, test.code, "create with %s: code", name)
		expect.Equal(t, e.Param, test.param, "create with %s: param", name)
		_, err = s.Webhooks.Update(t.Context(), live, kept.ID, webhook.UpdateParams{URL: &test.url, Events: test.events})
		must.True(t, errors.As(err, &e), "update with %s: got %+v", name, err)
		expect.Equal(t, e.Code, test.code, "update with %s: code", name)
		expect.Equal(t, e.Param, test.param, "update with %s: param", name)
	}
	testkit.WantCode(t, "no address", testkit.Err(s.Webhooks.Create(t.Context(), live, webhook.CreateParams{Events: []event.Type{"*"}})), api.ParameterMissing)
	list := must.Get(s.Webhooks.List(t.Context(), live, webhook.ListParams{}))(t)
	if len(list.Data) != 1 || list.Data[0].URL != kept.URL || !cmp.Equal(list.Data[0].Events, kept.Events) || list.Data[0].Secret != "" || list.URL != "/v1/webhooks" {
		t.Errorf("listed %+v", list)
	}
	for name, do := range map[string]func() error{
		"Get": func() error { return testkit.Err(s.Webhooks.Get(t.Context(), s.Caller, kept.ID)) },
		"Update": func() error {
			return testkit.Err(s.Webhooks.Update(t.Context(), s.Caller, kept.ID, webhook.UpdateParams{}))
		},
		"Rotate": func() error { return testkit.Err(s.Webhooks.RotateSecret(t.Context(), s.Caller, kept.ID)) },
		"Ping":   func() error { return testkit.Err(s.Webhooks.Ping(t.Context(), s.Caller, kept.ID)) },
		"Delete": func() error { return testkit.Err(s.Webhooks.Delete(t.Context(), s.Caller, kept.ID)) },
		"Deliveries": func() error {
			return testkit.Err(s.Webhooks.ListDeliveries(t.Context(), s.Caller, webhook.ListDeliveriesParams{Endpoint: kept.ID}))
		},
		"ResendSince": func() error { return testkit.Err(s.Webhooks.ResendSince(t.Context(), s.Caller, kept.ID, api.Times{})) },
		"Resend":      func() error { return testkit.Err(s.Webhooks.Resend(t.Context(), s.Caller, "evt_1")) },
	} {
		testkit.WantCode(t, name+" in the other mode", do(), api.ResourceMissing)
	}
}

// When any operation of the store fails, the call returns the error. Every event reaches the
// endpoint although the store fails at every operation of the work in turn.
func TestStoreFailuresLoseNoDelivery(t *testing.T) {
	store := faultstore.New(memory.New())
	s := open(t, store)
	r := listen(t)
	ctx, w := t.Context(), s.Webhooks
	named := func(key string) api.Caller { return api.Caller{Merchant: s.Caller.Merchant, IdempotencyKey: key} }
	var e *webhook.Endpoint
	events := []event.Type{"plan.created", "plan.updated"}
	store.Each(t, "Create", func() (err error) {
		e, err = w.Create(ctx, named("create"), webhook.CreateParams{URL: r.URL, Events: []event.Type{"plan.created"}})
		return err
	})
	store.Each(t, "Update", func() error {
		return testkit.Err(w.Update(ctx, named("update"), e.ID, webhook.UpdateParams{URL: &r.URL, Events: events}))
	})
	store.Each(t, "Get", func() error { return testkit.Err(w.Get(ctx, s.Caller, e.ID)) })
	store.Each(t, "List", func() error { return testkit.Err(w.List(ctx, s.Caller, webhook.ListParams{})) })
	store.Each(t, "Rotate", func() error { return testkit.Err(w.RotateSecret(ctx, named("rotate"), e.ID)) })
	store.Each(t, "Ping", func() error { return testkit.Err(w.Ping(ctx, s.Caller, e.ID)) })
	happened := map[string]bool{}
	for k, hit := 1, true; hit; k++ {
		told := must.Get(s.Events.Record(ctx, s.Caller, event.RecordParams{Type: "plan.updated", Object: struct{}{}}))(t)
		happened[told.ID] = true
		s.mu.Lock()
		s.now = s.now.Add(time.Hour) // past every lease and wait
		s.mu.Unlock()
		store.FailAt(k)
		err := s.Drain(ctx)
		if hit = store.Heal(); err != nil && !errors.Is(err, faultstore.Err) {
			t.Fatal(err)
		}
		must.True(t, k <= 500, "the work has no end")
	}
	s.pass(24 * time.Hour)
	for id := range happened {
		is := must.Get(s.Events.Get(ctx, s.Caller, id))(t)
		expect.Equal(t, is.PendingWebhooks, 0, "%s waits", id)
	}
	if n := r.count(); n < len(happened) {
		t.Errorf("%d deliveries of %d events", n, len(happened))
	}
	store.Each(t, "Deliveries", func() error {
		return testkit.Err(w.ListDeliveries(ctx, s.Caller, webhook.ListDeliveriesParams{Endpoint: e.ID}))
	})
	last := s.newest()
	before := r.count()
	store.Each(t, "Resend", func() error { return testkit.Err(w.Resend(ctx, named("again"), last.ID)) })
	s.pass(0)
	expect.Equal(t, r.count(), before+1, "deliveries after sending again")
	store.Each(t, "Delete", func() error { return testkit.Err(w.Delete(ctx, named("delete"), e.ID)) })
	s.happen()
	s.pass(time.Hour)
	expect.Equal(t, r.count(), before+1, "an endpoint that is gone was told")
}

// While the store fails at any operation of the work in turn, no delivery stays at hand that is not.
func TestRolledBackDeliveriesAreNotAtHand(t *testing.T) {
	store := faultstore.New(memory.New())
	c := newCourier(t, store, loopback)
	r := listen(t)
	c.endpoint(r.URL)
	for k, hit := 1, true; hit; k++ {
		c.record()
		store.FailAt(k)
		err := c.runner.Drain(t.Context())
		if hit = store.Heal(); err != nil && !errors.Is(err, faultstore.Err) {
			t.Fatal(err)
		}
		must.True(t, k <= 500, "the work has no end")
		expect.Equal(t, c.AtHand(), 0, "deliveries at hand after the work, of which operation %d failed", k)
	}
	expect.True(t, r.count() > 0, "nothing was delivered")
}

// An endpoint gets the events from its creation on, and none before, although an older event has
// not reached others yet.
func TestNewEndpointMissesEarlierEvents(t *testing.T) {
	s := open(t, memory.New())
	old, late := listen(t), listen(t)
	s.endpoint(old.URL, "*")
	s.happen() // at the same moment, and no worker runs meanwhile
	s.endpoint(late.URL, "*")
	s.pass(0)
	expect.Equal(t, old.count(), 1, "count")
	expect.Equal(t, late.count(), 0, "number of deliveries")
	s.happen()
	s.pass(0)
	expect.Equal(t, old.count(), 2, "count")
	expect.Equal(t, late.count(), 1, "number of deliveries")
}

// An endpoint does not get events that happen while it is inactive, even if it is switched on
// before the fan-out, and by a clock that stands still.
func TestDisabledEndpointMissesEvents(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *shop) {
		other, r := listen(t), listen(t)
		s.endpoint(other.URL, "*")
		e := s.endpoint(r.URL, "*")
		active := func(is bool) {
			t.Helper()
			must.Get(s.Webhooks.Update(t.Context(), s.Caller, e.ID, webhook.UpdateParams{Active: &is}))(t)
		}
		s.happen()
		s.pass(0)
		active(false)
		s.happen()
		active(true)
		active(true) // which changes nothing
		s.happen()
		newest := s.newest()
		expect.Equal(t, newest.PendingWebhooks, 2, "%d are to be told of what happened afterwards", newest.PendingWebhooks)
		s.pass(0)
		s.pass(time.Hour)
		expect.Equal(t, other.count(), 3, "count")
		expect.Equal(t, r.count(), 2, "number of deliveries")
		list := s.deliveries(e.ID)
		must.True(t, len(list) == 2, "delivered %+v", list)
		expect.Equal(t, list[0].Event, newest.ID, "delivered: event of the first")
	})
}
