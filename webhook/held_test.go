package webhook_test

import (
	"log/slog"
	"net/http"
	"sync"
	"testing"

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
