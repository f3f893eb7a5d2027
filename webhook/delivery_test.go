package webhook_test

import (
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/qrcode"
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
				expect.True(t, d.Event == e.ID && d.Status == webhook.Delivered && len(d.Attempts) == 1, "delivery %+v of %s", d, e.ID)
				told[d.Endpoint]++
			}
			expect.True(t, len(list.Data) == 2 && !list.HasMore, "%s: %d deliveries", e.ID, len(list.Data))
		}
		expect.True(t, len(events.Data) == 2 && len(told) == 2, "%d events, told %v", len(events.Data), told)
		live := s.Caller
		live.Live = true
		for name, c := range map[string]api.Caller{"another mode": live, "another merchant": {Merchant: "mer_other"}} {
			testkit.WantCode(t, name, testkit.Err(s.Webhooks.ListDeliveries(t.Context(), c, webhook.ListDeliveriesParams{Event: events.Data[0].ID})), api.ResourceMissing)
		}
	})
}

// A repetition has no secret, whether the caller asks about repetitions or not.
func TestReplayedCallRevealsNoSecret(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *shop) {
		caller := s.Caller
		for i := range 2 {
			caller.IdempotencyKey = "create"
			made := must.Get(s.Webhooks.Create(t.Context(), caller, webhook.CreateParams{URL: "http://127.0.0.1:9/", Events: []event.Type{"*"}}))(t)
			caller.IdempotencyKey = "rotate"
			turned := must.Get(s.Webhooks.RotateSecret(t.Context(), caller, made.ID))(t)
			expect.True(t, (made.Secret == "") == (i == 1) && (turned.Secret == "") == (i == 1), "call %d: secrets %q and %q", i, made.Secret, turned.Secret)
		}
	})
}
