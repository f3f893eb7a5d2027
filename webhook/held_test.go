package webhook_test

import (
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/webhook"
)

// A delivery that a process begins with as soon as it is committed is held: nobody
// else makes it meanwhile.
func TestAHeldDeliveryIsMadeOnce(t *testing.T) {
	store := memory.New()
	var processes [2]*payments.Service
	for i := range processes {
		svc, err := payments.New(t.Context(), store, payments.Config{WebhookAllow: loopback, Logger: slog.New(slog.DiscardHandler)})
		check(t, err)
		processes[i] = svc
	}
	first, second := processes[0], processes[1]
	m, err := first.Accounts.CreateMerchant(t.Context(), account.MerchantParams{Name: "M"})
	check(t, err)
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
	e, err := first.Webhooks.Create(t.Context(), caller, webhook.CreateParams{URL: r.URL, Events: []event.Type{"*"}})
	check(t, err)
	first.Start(t.Context())
	_, err = first.Events.Record(t.Context(), caller, "plan.created", struct{}{})
	check(t, err)
	<-begun
	check(t, second.Drain(t.Context()))
	if n := r.count(); n != 1 {
		t.Errorf("another process made it meanwhile: %d attempts", n)
	}
	close(release)
	check(t, first.Stop(t.Context())) // which waits for what is under way
	check(t, second.Drain(t.Context()))
	list, err := second.Webhooks.Deliveries(t.Context(), caller, e.ID, api.Page{})
	check(t, err)
	if len(list.Data) != 1 || list.Data[0].Status != webhook.Delivered || len(list.Data[0].Attempts) != 1 || r.count() != 1 {
		t.Errorf("%d attempts; %+v", r.count(), list.Data)
	}
}

// The first delivery to an endpoint that answers well is written with its outcome. Until
// then the event is held: it is pending, nobody else tells of it, and when the process
// that does is asleep for too long, another takes it over, whose outcome stands.
func TestAnEventIsHeldUntilItIsTold(t *testing.T) {
	store := memory.New()
	var mu sync.Mutex
	now := time.Now()
	var processes [2]*payments.Service
	for i := range processes {
		svc, err := payments.New(t.Context(), store, payments.Config{
			WebhookAllow: loopback, Logger: slog.New(slog.DiscardHandler),
			Clock: func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				return now
			},
		})
		check(t, err)
		processes[i] = svc
	}
	first, second := processes[0], processes[1]
	m, err := first.Accounts.CreateMerchant(t.Context(), account.MerchantParams{Name: "M"})
	check(t, err)
	caller := api.Caller{Merchant: m.ID}
	r := listen(t)
	e, err := first.Webhooks.Create(t.Context(), caller, webhook.CreateParams{URL: r.URL, Events: []event.Type{"*"}})
	check(t, err)
	_, err = first.Events.Record(t.Context(), caller, "plan.created", struct{}{})
	check(t, err)
	check(t, first.Drain(t.Context())) // now it is known to answer

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
	told, err := first.Events.Record(t.Context(), caller, "plan.created", struct{}{})
	check(t, err)
	var drained sync.WaitGroup
	drained.Go(func() { check(t, first.Drain(t.Context())) })
	<-begun
	state := func() (pending int, made []webhook.Delivery) {
		t.Helper()
		is, err := second.Events.Get(t.Context(), caller, told.ID)
		check(t, err)
		list, err := second.Webhooks.EventDeliveries(t.Context(), caller, told.ID, api.Page{})
		check(t, err)
		return is.PendingWebhooks, list.Data
	}
	check(t, second.Drain(t.Context()))
	if pending, made := state(); pending != 1 || len(made) != 0 || r.count() != 2 {
		t.Errorf("while it is held: %d pending, %d posts, %+v", pending, r.count(), made)
	}
	mu.Lock()
	now = now.Add(time.Minute)
	mu.Unlock()
	check(t, second.Drain(t.Context()))
	_, by := state()
	close(release)
	drained.Wait()
	pending, made := state()
	if pending != 0 || len(made) != 1 || made[0].Status != webhook.Delivered || len(made[0].Attempts) != 1 || r.count() != 3 {
		t.Errorf("in the end: %d pending, %d posts, %+v", pending, r.count(), made)
	}
	if diff := cmp.Diff(by, made); diff != "" {
		t.Errorf("who came too late has changed it\n%s", diff)
	}
	list, err := second.Webhooks.Deliveries(t.Context(), caller, e.ID, api.Page{})
	if err != nil || len(list.Data) != 2 {
		t.Errorf("%d deliveries to the endpoint, %v", len(list.Data), err)
	}
}
