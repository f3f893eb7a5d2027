package erasure_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/webhook"
)

// The answer of an endpoint may quote its event. The erasure of the event's customer removes the
// answer, too.
func TestErasureRemovesEndpointAnswers(t *testing.T) {
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		must.Get(io.Copy(w, r.Body))(t)
	}))
	t.Cleanup(echo.Close)
	store := memory.New()
	svc := testkit.New(t, store, payments.Config{WebhookAllow: paymentstest.Loopback()})
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	caller := api.Caller{Merchant: m.ID}
	must.Get(svc.Webhooks.Create(t.Context(), caller, webhook.CreateParams{URL: echo.URL, Events: []event.Type{"*"}}))(t)
	c := must.Get(svc.Accounts.CreateCustomer(t.Context(), caller, account.CreateCustomerParams{Name: "Zenobia"}))(t)
	must.Do(t, svc.Drain(t.Context()))
	quoted := func() bool {
		for where, text := range testkit.Contents(t, store, m.ID) {
			if strings.HasPrefix(where, "webhook_deliveries") && strings.Contains(text, "Zenobia") {
				return true
			}
		}
		return false
	}
	must.True(t, quoted(), "no delivery quotes the customer")
	must.Get(svc.Accounts.DeleteCustomer(t.Context(), caller, c.ID))(t)
	must.Do(t, svc.Drain(t.Context()))
	expect.True(t, !quoted(), "a delivery still quotes the customer")
}

// An endpoint may answer only after the erasure of the event's customer.
func TestErasureReachesLateAnswers(t *testing.T) {
	asked, answer := make(chan bool, 1), make(chan bool)
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := must.Get(io.ReadAll(r.Body))(t)
		if strings.Contains(string(body), "customer.created") {
			asked <- true
			<-answer
		}
		must.Get(w.Write(body))(t)
	}))
	t.Cleanup(echo.Close)
	store := memory.New()
	svc := testkit.New(t, store, payments.Config{WebhookAllow: paymentstest.Loopback(), Poll: 10 * time.Millisecond})
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	caller := api.Caller{Merchant: m.ID}
	must.Get(svc.Webhooks.Create(t.Context(), caller, webhook.CreateParams{URL: echo.URL, Events: []event.Type{"*"}}))(t)
	svc.Start(t.Context())
	c := must.Get(svc.Accounts.CreateCustomer(t.Context(), caller, account.CreateCustomerParams{Name: "Zenobia"}))(t)
	<-asked
	must.Get(svc.Accounts.DeleteCustomer(t.Context(), caller, c.ID))(t)
	found := func(word string) bool {
		for _, text := range testkit.Contents(t, store, m.ID) {
			if strings.Contains(text, word) {
				return true
			}
		}
		return false
	}
	for found("Zenobia") {
		time.Sleep(time.Millisecond)
	}
	close(answer)
	must.Do(t, svc.Stop(t.Context()))
	must.Do(t, svc.Drain(t.Context()))
	expect.True(t, found("customer.created"), "there is no event")
	expect.True(t, !found("Zenobia"), "the answer still quotes the customer")
}
