package webhook_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/webhook"
)

// pipes is a listener without a network.
type pipes struct {
	come  chan net.Conn
	ended chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.come:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.ended); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	p.come <- there
	return here, nil
}

// failing is a store that can be made to write nothing.
type failing struct {
	storage.Store
	on atomic.Bool
}

func (f *failing) Update(ctx context.Context, fn func(storage.Tx) error) error {
	if f.on.Load() {
		return errors.New("no database")
	}
	return f.Store.Update(ctx, fn)
}

// A worker delivers an event again when the outcome of a delivery could not be written,
// although the process with the lease lives on.
func TestLostOutcomeIsDeliveredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &failing{Store: memory.New()}
		svc := must.Get(payments.New(t.Context(), store, payments.Config{WebhookAllow: loopback, Logger: slog.New(slog.DiscardHandler)}))(t)
		listener := pipes{make(chan net.Conn), make(chan struct{})}
		svc.Webhooks.DialTest(listener.dial)
		var posts atomic.Int64
		var down atomic.Bool // the database fails when the next event is here
		server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			posts.Add(1)
			store.on.Store(down.Swap(false))
		})}
		go func() { _ = server.Serve(listener) }()
		defer server.Close()

		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		caller := api.Caller{Merchant: m.ID}
		endpoint := must.Get(svc.Webhooks.Create(t.Context(), caller, webhook.CreateParams{URL: "http://127.0.0.1/", Events: []event.Type{"*"}}))(t)
		svc.Start(t.Context())
		tell := func() *event.Event {
			e := must.Get(svc.Events.Record(t.Context(), caller, event.RecordParams{Type: "plan.created", Object: struct{}{}}))(t)
			time.Sleep(2 * time.Second)
			return e
		}
		tell() // now the endpoint is known to answer well
		down.Store(true)
		e := tell()
		n := posts.Load()
		must.True(t, n == 2 && store.on.Load(), "%d posts", n)
		store.on.Store(false)
		time.Sleep(time.Minute)
		must.Do(t, svc.Stop(t.Context()))
		list := must.Get(svc.Webhooks.ListDeliveries(t.Context(), caller, webhook.ListDeliveriesParams{Event: e.ID}))(t)
		if len(list.Data) != 1 || list.Data[0].Status != webhook.Delivered || list.Data[0].Endpoint != endpoint.ID || posts.Load() != 3 {
			t.Errorf("%d posts, %+v", posts.Load(), list.Data)
		}
		is, err := svc.Events.Get(t.Context(), caller, e.ID)
		expect.True(t, err == nil && is.PendingWebhooks == 0, "%+v, %v", is, err)
	})
}
