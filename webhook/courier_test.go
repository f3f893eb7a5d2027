package webhook_test

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/notify/delivering"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/webhook"
)

// courier is the package alone, with the events that it delivers, by the real time.
type courier struct {
	*delivering.Service
	events event.Service
	runner *work.Runner
	t      *testing.T
	caller api.Caller
}

func newCourier(t *testing.T, store storage.Store, allow []netip.Prefix) *courier {
	t.Helper()
	for _, kinds := range [][]*storage.Kind{engine.Kinds(), recording.Kinds(), delivering.Kinds()} {
		must.Do(t, store.Define(t.Context(), kinds...))
	}
	log := slog.New(slog.DiscardHandler)
	c := &courier{t: t, caller: api.Caller{Merchant: "mer_1"}, runner: &work.Runner{Store: store, Clock: time.Now, Log: log, Poll: time.Second}}
	e := &engine.Engine{Store: store, Clock: time.Now, NewID: ids.New(time.Now, nil).Make, Log: log, Runner: c.runner}
	events := recording.New(e)
	c.events = events
	c.Service = delivering.New(e, delivering.Config{Events: events, Allow: allow})
	c.runner.Add(c.Jobs()...)
	return c
}

// endpoint makes an endpoint for every event.
func (c *courier) endpoint(url string) *webhook.Endpoint {
	c.t.Helper()
	return must.Get(c.Create(c.t.Context(), c.caller, webhook.CreateParams{URL: url, Events: []event.Type{"*"}}))(c.t)
}

// attempt posts an event to an address once.
func (c *courier) attempt(url string) webhook.Attempt {
	c.t.Helper()
	return must.Get(c.Ping(c.t.Context(), c.caller, c.endpoint(url).ID))(c.t).Attempts[0]
}

// dial sets how the deliveries of test mode connect.
func (c *courier) dial(dial func(context.Context, string, string) (net.Conn, error)) {
	c.Transport(false).DialContext = dial
}

func (c *courier) record() *event.Event {
	c.t.Helper()
	return must.Get(c.events.Record(c.t.Context(), c.caller, event.RecordParams{Type: "plan.created", Object: struct{}{}}))(c.t)
}
