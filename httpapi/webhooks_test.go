package httpapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func TestWebhookBodies(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{WebhookAllow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = described(t).CheckDelivery(r, body)
		}
		if err != nil {
			t.Errorf("a delivery of %s: %v", body, err)
		}
		_, _ = io.WriteString(w, `{"received":true}`)
	}))
	defer receiver.Close()
	step := func(name, method, path string, body any, headers ...string) []byte {
		t.Helper()
		response, data := s.Do(method, path, body, headers...)
		golden(t, name, response, data)
		return data
	}
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

func TestWebhookRefusals(t *testing.T) {
	s := paymentstest.New(t)
	live, _ := as(t, s, api.Caller{Merchant: s.Caller.Merchant, Live: true}, account.CreateKeyParams{})
	for _, c := range []struct {
		what        string
		shop        *paymentstest.Shop
		body        string
		code, param string
	}{
		{"nothing", s, `{}`, "parameter_missing", "url"},
		{"no events", s, `{"url":"https://example.com"}`, "parameter_missing", "events"},
		{"an empty list", s, `{"url":"https://example.com","events":[]}`, "parameter_missing", "events"},
		{"an unknown type", s, `{"url":"https://example.com","events":["*","payment.exploded"]}`, "event_type_unknown", "events[1]"},
		{"a type that is no text", s, `{"url":"https://example.com","events":[5]}`, "parameter_invalid", "events[0]"},
		{"no address", s, `{"url":"example","events":["*"]}`, "webhook_url_invalid", "url"},
		{"a password", s, `{"url":"https://a:b@example.com","events":["*"]}`, "webhook_url_invalid", "url"},
		{"http in live mode", live, `{"url":"http://example.com","events":["*"]}`, "webhook_url_invalid", "url"},
		{"inside in live mode", live, `{"url":"https://127.1","events":["*"]}`, "webhook_url_invalid", "url"},
	} {
		response, data := c.shop.Do("POST", "/v1/webhooks", c.body)
		wants(t, c.what, response, data, 400, c.code, c.param)
	}
	response, data := s.Do("POST", "/v1/webhooks", `{"url":"http://example.com","events":["*"]}`)
	wants(t, "http in test mode", response, data, 200, "", "")
	id := field(t, data, "id")
	response, data = s.Do("PATCH", "/v1/webhooks/"+id, `{"events":["nothing"]}`)
	wants(t, "an update to an unknown type", response, data, 400, "event_type_unknown", "events[0]")
	response, data = s.Do("PATCH", "/v1/webhooks/"+id, `{"url":"ftp://example.com"}`)
	wants(t, "an update to no address", response, data, 400, "webhook_url_invalid", "url")
	response, data = s.Do("POST", "/v1/webhooks/"+id, `{}`)
	if response.StatusCode != 405 || !strings.Contains(response.Header.Get("Allow"), "PATCH") {
		t.Errorf("POST: %d %s", response.StatusCode, data)
	}
}
