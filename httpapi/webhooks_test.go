package httpapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func TestWebhookBodies(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{WebhookAllow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = described(t).CheckDelivery(r, body)
		}
		expect.NoError(t, err, "a delivery of %s", body)
		_, _ = io.WriteString(w, `{"received":true}`)
	}))
	defer receiver.Close()
	step := steps(t, s)
	create := `{"url":"` + receiver.URL + `","events":["qr_code.created","payment.completed","qr_code.created"]}`
	id := field(t, step("webhook_create", "POST", "/v1/webhooks", create, "X-Idempotency-Key", "k"), "id")
	step("webhook_create_replayed", "POST", "/v1/webhooks", create, "X-Idempotency-Key", "k")
	step("webhook_get", "GET", "/v1/webhooks/"+id, nil)
	step("webhook_ping", "POST", "/v1/webhooks/"+id+"/ping", nil)
	newCode(t, s, `{}`)
	drain(t, s)
	step("webhook_deliveries", "GET", "/v1/webhooks/"+id+"/deliveries", nil)
	_, events := s.Do("GET", "/v1/events?limit=1", nil)
	step("event_resend", "POST", "/v1/events/"+field(t, events, "data.0.id")+"/resend", nil)
	drain(t, s)
	step("webhook_rotate", "POST", "/v1/webhooks/"+id+"/rotate_secret", nil)
	step("webhook_update", "PATCH", "/v1/webhooks/"+id, `{"url":"https://example.com/hooks","events":["*"],"is_active":false}`)
	step("webhook_list", "GET", "/v1/webhooks", nil)
	step("webhook_delete", "DELETE", "/v1/webhooks/"+id, nil)
	step("webhook_list_none", "GET", "/v1/webhooks", nil)
}
