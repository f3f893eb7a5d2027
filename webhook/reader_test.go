package webhook_test

import (
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/webhook"
)

// readsSubscriptions are the permissions of a key that may write all but subscriptions.
type readsSubscriptions struct{}

func (readsSubscriptions) Allows(resource string, write bool) bool {
	return !write || resource != "subscriptions"
}

// A caller who may only read subscriptions has no manage_url sent to an address of theirs, neither to a new
// endpoint nor to an old one.
func TestReadersAreSentNoManageURL(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *shop) {
		hook, ctx, reader := listen(t), t.Context(), s.Caller
		reader.Permissions = readsSubscriptions{}
		params := webhook.CreateParams{URL: hook.URL, Events: []event.Type{"subscription.updated"}}
		both := map[string]api.Caller{"reader": reader, "writer": s.Caller}
		made := map[string]*webhook.Endpoint{}
		for name, caller := range both {
			made[name] = must.Get(s.Webhooks.Create(ctx, caller, params))(t)
		}
		// told records an event and returns how many of the deliveries have the address.
		told := func() (n int) {
			t.Helper()
			was := hook.count()
			must.Get(s.Events.Record(ctx, s.Caller, event.RecordParams{Type: "subscription.updated", Object: map[string]string{
				"id": "sub_1", "object": "subscription", "manage_url": "https://pay.example.com/subscription/secret",
			}}))(t)
			must.Do(t, s.Drain(ctx))
			hook.mu.Lock()
			defer hook.mu.Unlock()
			must.True(t, len(hook.bodies) == was+2, "%d deliveries", len(hook.bodies)-was)
			for _, body := range hook.bodies[was:] {
				if text := string(body); strings.Contains(text, "/subscription/secret") {
					n++
				} else {
					expect.True(t, strings.Contains(text, `"data":{"object":{"id":"sub_1","manage_url":null,"object":"subscription"}}`), "delivered %s", text)
				}
			}
			return n
		}
		expect.Equal(t, told(), 1, "deliveries with the address")
		must.Get(s.Webhooks.Update(ctx, reader, made["writer"].ID, webhook.UpdateParams{URL: new(hook.URL + "/mine")}))(t)
		expect.Equal(t, told(), 0, "after a reader has moved the other endpoint")
		must.Get(s.Webhooks.Update(ctx, reader, made["reader"].ID, webhook.UpdateParams{Events: []event.Type{"*"}}))(t)
		must.Get(s.Webhooks.Update(ctx, s.Caller, made["writer"].ID, webhook.UpdateParams{URL: new(hook.URL + "/ours")}))(t)
		expect.Equal(t, told(), 1, "after a writer has moved it back")
	})
}
