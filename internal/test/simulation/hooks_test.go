package simulation_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/webhook"
)

// hook is an endpoint of the merchant in test mode.
type hook struct {
	id, path string
	events   []event.Type
	created  time.Time
	// quiet says that the endpoint was switched off or deleted at some time, so that it
	// was not told of everything.
	quiet, gone bool
}

// wants reports whether the endpoint is told of such an event.
func (h *hook) wants(t event.Type) bool {
	return slices.Contains(h.events, "*") || slices.Contains(h.events, t)
}

// hookUp makes an endpoint.
func (g *game) hookUp(events ...event.Type) {
	s := g.sides[0]
	h := &hook{path: fmt.Sprint(g.path, "/", len(g.hooks)), events: events}
	g.receivers.begin(h.path, g.world)
	secret := ""
	id, err := g.call("create endpoint", s, func(c api.Caller) (string, error) {
		made, err := g.svc.Webhooks.Create(g.t.Context(), c, webhook.CreateParams{URL: g.receivers.URL + h.path, Events: events})
		if err != nil {
			return "", err
		}
		h.created = made.CreatedAt.Time
		if made.Secret != "" {
			secret = made.Secret
		}
		return made.ID, nil
	})
	if err != nil {
		g.t.Errorf("create endpoint: %v", err)
		return
	}
	h.id = id
	g.hooks = append(g.hooks, h)
	g.receivers.know(h.path, secret)
	if secret == "" { // its answer was lost, and a secret is told once
		g.rotate(h)
	}
}

// rotate gives an endpoint a new secret, until one is known.
func (g *game) rotate(h *hook) {
	for secret := ""; secret == "" && !g.t.Failed(); {
		_, err := g.call("rotate", g.sides[0], func(c api.Caller) (string, error) {
			e, err := g.svc.Webhooks.RotateSecret(g.t.Context(), c, h.id)
			if err == nil && e.Secret != "" {
				secret = e.Secret
			}
			return h.id, err
		})
		expect.NoError(g.t, err, "rotate")
		g.receivers.know(h.path, secret)
	}
}

// configure does something to endpoints. The first is told of everything, and stays.
func (g *game) configure() {
	ctx, s := g.t.Context(), g.sides[0]
	if len(g.hooks) < 4 && g.dice.IntN(3) == 0 {
		types := []event.Type{event.PaymentSucceeded, event.RefundSucceeded, event.InvoicePaid, event.CustomerDeleted}
		g.hookUp(types[g.dice.IntN(2)], types[2+g.dice.IntN(2)])
		return
	}
	h := g.hooks[g.dice.IntN(len(g.hooks))]
	if h.gone {
		return
	}
	switch what := g.dice.IntN(4); {
	case what == 0:
		g.rotate(h)
	case what == 1 && h != g.hooks[0]:
		_, err := g.call("delete endpoint", s, func(c api.Caller) (string, error) {
			return h.id, second(g.svc.Webhooks.Delete(ctx, c, h.id))
		})
		h.quiet, h.gone = true, err == nil
	case what == 2 && h != g.hooks[0]:
		active := g.dice.IntN(3) > 0
		h.quiet = h.quiet || !active
		g.switchHook(h, active)
	default:
		events := g.eventsOf(s.caller)
		if len(events) == 0 {
			return
		}
		e := events[g.dice.IntN(len(events))]
		g.sentAgain[e.ID] = true
		_, _ = g.call("send again", s, func(c api.Caller) (string, error) {
			return e.ID, second(g.svc.Webhooks.Resend(ctx, c, e.ID))
		})
	}
}

func (g *game) switchHook(h *hook, active bool) {
	_, _ = g.call("switch endpoint", g.sides[0], func(c api.Caller) (string, error) {
		return h.id, second(g.svc.Webhooks.Update(g.t.Context(), c, h.id, webhook.UpdateParams{Active: &active}))
	})
}

// revive switches on the first endpoint, should it have failed for so long that it
// was switched off.
func (g *game) revive() {
	h := g.hooks[0]
	e := must.Get(g.svc.Webhooks.Get(g.t.Context(), g.sides[0].caller, h.id))(g.t)
	if !e.Active {
		h.quiet = true
		g.switchHook(h, true)
	}
}

// auditHooks compares what arrived with what happened.
func (g *game) auditHooks(events []event.Event, ended bool) {
	g.t.Helper()
	happened := map[string]event.Event{}
	for _, e := range events {
		if happened[e.ID] = e; e.Type == event.WebhookEndpointDisabled {
			for _, h := range g.hooks {
				h.quiet = h.quiet || objectOf(e) == h.id
			}
		}
		expect.True(g.t, !ended || e.PendingWebhooks == 0, "%s (%s) waits for %d endpoints", e.ID, e.Type, e.PendingWebhooks)
	}
	for _, h := range g.hooks {
		got, problems := g.receivers.read(h.path)
		if ended {
			g.played["events told"] += len(got)
		}
		for _, p := range problems {
			g.t.Errorf("%s: %s", h.id, p)
		}
		for id := range got {
			e, ok := happened[id]
			// What is sent again goes to every endpoint that wants it then.
			late := e.CreatedAt.Before(h.created) && !g.sentAgain[id]
			expect.True(g.t, ok, "%s was told of %s, which did not happen", h.id, id)
			expect.True(g.t, h.wants(e.Type), "%s, for %v, was told of %s: %+v", h.id, h.events, id, e)
			expect.True(g.t, !late, "%s, made at %s, was told of %s: %+v", h.id, h.created, id, e)
		}
		if !ended || h.quiet {
			continue
		}
		for id, e := range happened {
			expect.True(g.t, !h.wants(e.Type) || !e.CreatedAt.After(h.created) || got[id] != 0, "%s was never told of %s (%s)", h.id, id, e.Type)
		}
	}
}
