package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
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
		c := newCourier(t, store, loopback)
		listener := pipes{make(chan net.Conn), make(chan struct{})}
		c.dial(listener.dial)
		var posts atomic.Int64
		var down atomic.Bool // the database fails when the next event is here
		server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			posts.Add(1)
			store.on.Store(down.Swap(false))
		})}
		go func() { _ = server.Serve(listener) }()
		defer server.Close()

		endpoint := c.endpoint("http://127.0.0.1/")
		c.runner.Start(t.Context())
		tell := func() *event.Event {
			e := c.record()
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
		must.Do(t, c.runner.Stop(t.Context()))
		list := must.Get(c.ListDeliveries(t.Context(), c.caller, webhook.ListDeliveriesParams{Event: e.ID}))(t)
		if len(list.Data) != 1 || list.Data[0].Status != webhook.Delivered || list.Data[0].Endpoint != endpoint.ID || posts.Load() != 3 {
			t.Errorf("%d posts, %+v", posts.Load(), list.Data)
		}
		is, err := c.events.Get(t.Context(), c.caller, e.ID)
		must.Do(t, err)
		expect.Equal(t, is.PendingWebhooks, 0, "pending webhooks")
	})
}

// A process that starts a delivery right after the commit has its lease: no other process
// attempts it meanwhile.
func TestLeasedDeliveryIsMadeOnce(t *testing.T) {
	store := memory.New()
	var processes [2]*payments.Service
	for i := range processes {
		svc := must.Get(payments.New(t.Context(), store, payments.Config{WebhookAllow: loopback, Logger: slog.New(slog.DiscardHandler)}))(t)
		processes[i] = svc
	}
	first, second := processes[0], processes[1]
	m := must.Get(first.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	caller := api.Caller{Merchant: m.ID}
	r := listen(t)
	begun, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	r.answer = func(http.ResponseWriter) {
		slow := false
		once.Do(func() { slow = true })
		if slow {
			close(begun)
			<-release
		}
	}
	e := must.Get(first.Webhooks.Create(t.Context(), caller, webhook.CreateParams{URL: r.URL, Events: []event.Type{"*"}}))(t)
	first.Start(t.Context())
	must.Get(first.Events.Record(t.Context(), caller, event.RecordParams{Type: "plan.created", Object: struct{}{}}))(t)
	<-begun
	must.Do(t, second.Drain(t.Context()))
	expect.Equal(t, r.count(), 1, "attempts while another process works")
	close(release)
	must.Do(t, first.Stop(t.Context())) // which waits for what is under way
	must.Do(t, second.Drain(t.Context()))
	list := must.Get(second.Webhooks.ListDeliveries(t.Context(), caller, webhook.ListDeliveriesParams{Endpoint: e.ID}))(t)
	if len(list.Data) != 1 || list.Data[0].Status != webhook.Delivered || len(list.Data[0].Attempts) != 1 || r.count() != 1 {
		t.Errorf("%d attempts; %+v", r.count(), list.Data)
	}
}

// endings are the deliveries whose work has ended, for the test to wait for.
type endings chan string

func (endings) BeginWork(ctx context.Context, _ payments.Work) context.Context { return ctx }

func (e endings) EndWork(_ context.Context, w payments.Work) {
	if w.Queue == "webhook_deliveries" {
		e <- w.ID
	}
}

// The first outcome stores a delivery to a healthy endpoint. Until then the process leases
// the event: the delivery counts as pending, and no other process attempts it. When the
// process sleeps for too long, another takes over the deliveries that are not stored, and
// its outcome stands.
func TestPartlyStoredEventStaysPendingUntilDelivered(t *testing.T) {
	store := memory.New()
	var mu sync.Mutex
	now := time.Now()
	var log bytes.Buffer // of the first alone
	ended := make(endings, 100)
	process := func(c payments.Config) *payments.Service {
		c.WebhookAllow = loopback
		c.Clock = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
		return must.Get(payments.New(t.Context(), store, c))(t)
	}
	first := process(payments.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Observer: ended})
	second := process(payments.Config{Logger: slog.New(slog.DiscardHandler)})
	m := must.Get(first.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	caller := api.Caller{Merchant: m.ID}
	awake, r := listen(t), listen(t)
	endpoint := func(url string) string {
		e := must.Get(first.Webhooks.Create(t.Context(), caller, webhook.CreateParams{URL: url, Events: []event.Type{"*"}}))(t)
		return e.ID
	}
	quick, slow := endpoint(awake.URL), endpoint(r.URL)
	must.Get(first.Events.Record(t.Context(), caller, event.RecordParams{Type: "plan.created", Object: struct{}{}}))(t)
	must.Do(t, first.Drain(t.Context())) // now they are known to answer
	for len(ended) > 0 {
		<-ended
	}

	begun, release := make(chan struct{}), make(chan struct{})
	asleep := make(chan struct{}, 1)
	asleep <- struct{}{}
	r.mu.Lock()
	r.answer = func(http.ResponseWriter) {
		select {
		case <-asleep:
			close(begun)
			<-release
		default:
		}
	}
	r.mu.Unlock()
	told := must.Get(first.Events.Record(t.Context(), caller, event.RecordParams{Type: "plan.created", Object: struct{}{}}))(t)
	var drained sync.WaitGroup
	drained.Go(func() { must.Do(t, first.Drain(t.Context())) })
	<-begun
	<-ended // the quick one
	state := func() (pending int, made []webhook.Delivery) {
		t.Helper()
		is := must.Get(second.Events.Get(t.Context(), caller, told.ID))(t)
		list := must.Get(second.Webhooks.ListDeliveries(t.Context(), caller, webhook.ListDeliveriesParams{Event: told.ID}))(t)
		return is.PendingWebhooks, list.Data
	}
	must.Do(t, second.Drain(t.Context()))
	if pending, made := state(); pending != 1 || len(made) != 1 || made[0].Endpoint != quick || awake.count() != 2 || r.count() != 2 {
		t.Errorf("while it is held: %d pending, %d and %d posts, %+v", pending, awake.count(), r.count(), made)
	}
	mu.Lock()
	now = now.Add(time.Minute)
	mu.Unlock()
	must.Do(t, second.Drain(t.Context()))
	_, by := state()
	expect.Equal(t, awake.count(), 2, "taken over: count")
	expect.Equal(t, r.count(), 3, "taken over: number of posts")
	close(release)
	drained.Wait()
	pending, made := state()
	if pending != 0 || len(made) != 2 || awake.count() != 2 || r.count() != 3 {
		t.Errorf("in the end: %d pending, %d and %d posts, %+v", pending, awake.count(), r.count(), made)
	}
	for _, d := range made {
		expect.Equal(t, d.Status, webhook.Delivered, "status")
		expect.Equal(t, len(d.Attempts), 1, "number of attempts")
		expect.True(t, d.Endpoint == quick || d.Endpoint == slow, "made %+v", d)
	}
	expect.Same(t, made, by, "who came too late has changed it")
	expect.True(t, !strings.Contains(log.String(), "level=ERROR"), "who came too late complains: %s", log.String())
	list, err := second.Webhooks.ListDeliveries(t.Context(), caller, webhook.ListDeliveriesParams{Endpoint: slow})
	must.Do(t, err)
	expect.Equal(t, len(list.Data), 2, "number of deliveries")
}
