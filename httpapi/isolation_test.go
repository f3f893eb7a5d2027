package httpapi_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/must"
)

// as returns the shop seen with another key.
func as(t *testing.T, s *paymentstest.Shop, caller api.Caller, p account.CreateKeyParams) (*paymentstest.Shop, *account.Key) {
	t.Helper()
	key := must.Get(s.Accounts.CreateKey(t.Context(), caller, p))(t)
	other := *s
	other.Key = key.Secret
	return &other, key
}

var requestID = regexp.MustCompile(`req_[0-9A-Za-z]+`)

// What belongs to another merchant or the other mode is, byte for byte, what
// does not exist.
func TestIsolation(t *testing.T) {
	s := paymentstest.New(t)
	code := newCode(t, s, `{"amount":100}`)
	paid := s.Pay(code, 0)
	_, events := s.Do("GET", "/v1/events?limit=1", nil)
	event := field(t, events, "data.0.id")

	merchant := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Other"}))(t)
	stranger, _ := as(t, s, api.Caller{Merchant: merchant.ID}, account.CreateKeyParams{})
	live, _ := as(t, s, api.Caller{Merchant: s.Caller.Merchant, Live: true}, account.CreateKeyParams{})

	out := `{"amount":1,"destination":{"type":"mobile_money","phone_number":"0241230903"}}`
	_, disbursed := s.Do("POST", "/v1/disbursements", out)
	transfer := field(t, disbursed, "id")

	invoice, _ := newInvoice(t, s, `{`+oneLine+`}`)

	returned := s.Refund(paid.ID, 1).ID
	_, bought := s.Do("POST", "/v1/customers", `{"name":"Akua"}`)
	customer := field(t, bought, "id")
	_, batched := s.Do("POST", "/v1/disbursements/batch", `{"rows":[`+out+`]}`)
	batch := field(t, batched, "id")

	_, hooked := s.Do("POST", "/v1/webhooks", `{"url":"https://example.com/h","events":["*"]}`)
	hook := field(t, hooked, "id")

	pay := `{"account_id":"` + s.Consumer.ID + `","pin":"1234"}`
	for _, route := range []struct{ method, path, id, body string }{
		{"GET", "/v1/qr_codes/{id}", code, ""},
		{"POST", "/v1/qr_codes/{id}", code, `{"name":"mine"}`},
		{"DELETE", "/v1/qr_codes/{id}", code, ""},
		{"GET", "/v1/qr_codes/{id}/payments", code, ""},
		{"GET", "/v1/qr_codes/{id}/download", code, ""},
		{"GET", "/v1/payments/{id}", paid.ID, ""},
		{"GET", "/v1/events/{id}", event, ""},
		{"GET", "/v1/qr_codes?starting_after={id}", code, ""},
		{"GET", "/v1/payments?ending_before={id}", paid.ID, ""},
		{"GET", "/v1/events?starting_after={id}", event, ""},
		{"GET", "/v1/balance/entries?starting_after={id}", "txn_0VbZaxcl001kOOiAEr1tPH", ""},
		{"POST", "/v1/test_helpers/qr_codes/{id}/pay", code, pay},
		{"GET", "/v1/webhooks/{id}", hook, ""},
		{"PATCH", "/v1/webhooks/{id}", hook, `{"is_active":false}`},
		{"DELETE", "/v1/webhooks/{id}", hook, ""},
		{"POST", "/v1/webhooks/{id}/rotate_secret", hook, ""},
		{"POST", "/v1/webhooks/{id}/ping", hook, ""},
		{"GET", "/v1/webhooks/{id}/deliveries", hook, ""},
		{"GET", "/v1/webhooks?starting_after={id}", hook, ""},
		{"POST", "/v1/events/{id}/resend", event, ""},
		{"GET", "/v1/invoices/{id}", invoice, ""},
		{"POST", "/v1/invoices/{id}", invoice, `{"memo":"mine"}`},
		{"DELETE", "/v1/invoices/{id}", invoice, ""},
		{"GET", "/v1/invoices/{id}/lines", invoice, ""},
		{"POST", "/v1/invoices/{id}/lines", invoice, `{"description":"x","unit_amount":1}`},
		{"POST", "/v1/invoices/{id}/finalize", invoice, ""},
		{"POST", "/v1/invoices/{id}/pay", invoice, ""},
		{"POST", "/v1/invoices/{id}/void", invoice, ""},
		{"POST", "/v1/invoices/{id}/send", invoice, ""},
		{"POST", "/v1/invoices/{id}/mark_uncollectible", invoice, ""},
		{"GET", "/v1/invoices/{id}/pdf", invoice, ""},
		{"GET", "/v1/invoices?starting_after={id}", invoice, ""},
		{"POST", "/v1/invoices/{id}/duplicate", invoice, ""},
		{"GET", "/v1/refunds/{id}", returned, ""},
		{"GET", "/v1/refunds/{id}/credit_note", returned, ""},
		{"GET", "/v1/refunds?starting_after={id}", returned, ""},
		{"POST", "/v1/test_helpers/refunds/{id}/settle", returned, `{"outcome":"failed"}`},
		{"GET", "/v1/customers/{id}", customer, ""},
		{"POST", "/v1/customers/{id}", customer, `{"name":"mine"}`},
		{"DELETE", "/v1/customers/{id}", customer, ""},
		{"GET", "/v1/customers?starting_after={id}", customer, ""},
		{"GET", "/v1/disbursements/batch/{id}", batch, ""},
		{"GET", "/v1/disbursements/batch/{id}/rows", batch, ""},
		{"GET", "/v1/disbursements/batch?ending_before={id}", batch, ""},
		{"GET", "/v1/disbursements/{id}", transfer, ""},
		{"GET", "/v1/payouts/{id}", transfer, ""},
		{"POST", "/v1/disbursements/{id}/cancel", transfer, ""},
		{"POST", "/v1/payouts/{id}/cancel", transfer, ""},
		{"GET", "/v1/disbursements?starting_after={id}", transfer, ""},
		{"GET", "/v1/payouts?starting_after={id}", transfer, ""},
		{"POST", "/v1/test_helpers/disbursements/{id}/settle", transfer, `{"outcome":"failed"}`},
		{"POST", "/v1/test_helpers/payouts/{id}/settle", transfer, `{"outcome":"failed"}`},
	} {
		var body any
		if route.body != "" {
			body = route.body
		}
		ask := func(s *paymentstest.Shop, id string) string {
			response, data := s.Do(route.method, strings.Replace(route.path, "{id}", id, 1), body)
			if response.StatusCode != 404 && response.StatusCode != 400 && response.StatusCode != 403 {
				t.Errorf("%s %s: %d %s", route.method, route.path, response.StatusCode, data)
			}
			return requestID.ReplaceAllString(string(data), "req")
		}
		unknown := route.id[:len(route.id)-3] + "zzz"
		for name, other := range map[string]*paymentstest.Shop{"stranger": stranger, "live": live} {
			if theirs, nobodys := ask(other, route.id), ask(other, unknown); theirs != nobodys {
				t.Errorf("%s %s as %s: %s, but what does not exist is %s", route.method, route.path, name, theirs, nobodys)
			}
		}
	}
	for _, path := range []string{"/v1/qr_codes", "/v1/payments", "/v1/refunds", "/v1/events", "/v1/balance/entries", "/v1/customers", "/v1/disbursements/batch"} {
		_, data := stranger.Do("GET", path, nil)
		if field(t, data, "data.0.id") != "" {
			t.Errorf("%s shows another merchant's %s", path, data)
		}
	}
	if response, data := s.Do("GET", "/v1/qr_codes/"+code, nil); response.StatusCode != 200 || field(t, data, "name") != "" {
		t.Errorf("the code was touched: %s", data)
	}
}

func TestKeys(t *testing.T) {
	s := paymentstest.New(t)
	live, _ := as(t, s, api.Caller{Merchant: s.Caller.Merchant, Live: true}, account.CreateKeyParams{})
	reader, _ := as(t, s, s.Caller, account.CreateKeyParams{ReadOnly: true})
	narrow, _ := as(t, s, s.Caller, account.CreateKeyParams{Resources: []string{"payments"}})
	revoked, key := as(t, s, s.Caller, account.CreateKeyParams{})
	must.Do(t, s.Accounts.RevokeKey(t.Context(), s.Caller, key.ID))

	response, data := live.Do("POST", "/v1/test_helpers/balance", `{"amount":5}`)
	wants(t, "test helper with a live key", response, data, 403, "permission_denied", "")
	response, data = live.Do("POST", "/v1/qr_codes", `{}`)
	if field(t, data, "livemode") != "true" || response.StatusCode != 200 {
		t.Errorf("live code: %s", data)
	}
	response, data = reader.Do("POST", "/v1/qr_codes", `{}`)
	wants(t, "a read-only key that writes", response, data, 403, "permission_denied", "")
	if response, data = reader.Do("GET", "/v1/qr_codes", nil); response.StatusCode != 200 {
		t.Errorf("a read-only key that reads: %s", data)
	}
	response, data = narrow.Do("GET", "/v1/qr_codes", nil)
	wants(t, "a key for payments", response, data, 403, "permission_denied", "")
	if response, data = narrow.Do("GET", "/v1/payments", nil); response.StatusCode != 200 {
		t.Errorf("a key for payments on payments: %s", data)
	}

	var first string
	for _, bad := range []string{revoked.Key, "sk_test_nonsense", s.Key + "x", s.Key[:len(s.Key)-1] + "_", "x"} {
		other := *s
		other.Key = bad
		response, data := other.Do("GET", "/v1/balance", nil)
		wants(t, "a bad key", response, data, 401, "api_key_invalid", "")
		if got := response.Header.Get("WWW-Authenticate"); got != "Bearer" {
			t.Errorf("WWW-Authenticate %q", got)
		}
		text := requestID.ReplaceAllString(string(data), "req")
		if first == "" {
			first = text
		}
		if text != first {
			t.Errorf("bad keys are told apart: %s and %s", first, text)
		}
	}
	response = must.Get(http.Get(s.Server.URL + "/v1/balance?api_key=" + s.Key))(t)
	response.Body.Close()
	if response.StatusCode != 401 {
		t.Errorf("a key in the query: %d", response.StatusCode)
	}
}

// The whole works under a prefix of a host's mux.
func TestPrefix(t *testing.T) {
	s := paymentstest.New(t)
	mux := http.NewServeMux()
	mux.Handle("/shop/pay/", http.StripPrefix("/shop/pay",
		described(t).Handler(t, httpapi.New(s.Service, httpapi.Config{Logger: slog.New(slog.DiscardHandler)}))))
	host := httptest.NewServer(mux)
	defer host.Close()
	code := newCode(t, s, `{"amount":100}`)

	under := *s
	under.Server = host
	if response, data := under.Do("GET", "/shop/pay/v1/qr_codes/"+code, nil); response.StatusCode != 200 {
		t.Errorf("/v1: %s", data)
	}
	response, data := under.Do("GET", "/shop/pay/v1/nothing", nil)
	wants(t, "unknown path", response, data, 404, "not_found", "")
	page := host.URL + "/shop/pay/pay/" + code
	form := url.Values{"wallet": {"0241000001"}, "pin": {"1234"}, "token": {strings.Repeat("a", 22)}}
	answer, err := http.PostForm(page, form) // follows the redirect to the receipt
	must.Do(t, err)
	defer answer.Body.Close()
	if answer.StatusCode != 200 || !strings.HasPrefix(answer.Request.URL.Path, "/shop/pay/pay/"+code+"/receipt/pay_") {
		t.Errorf("paid: %d at %s", answer.StatusCode, answer.Request.URL)
	}
}

func TestEventFilters(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		code := newCode(t, s, `{"amount":100}`)
		s.Do("POST", "/v1/test_helpers/qr_codes/"+code+"/pay", payBody(s.Consumer.ID, "1234"), "Idempotency-Key", "evt")
		s.Do("DELETE", "/v1/qr_codes/"+code, nil)
		types := func(query string) string {
			response, data := s.Do("GET", "/v1/events?"+query, nil)
			if response.StatusCode != 200 {
				t.Fatalf("%s: %s", query, data)
			}
			var list []string
			for i := 0; ; i++ {
				name := field(t, data, "data."+string(rune('0'+i))+".type")
				if name == "" {
					return strings.Join(list, " ")
				}
				list = append(list, name)
			}
		}
		all := "qr_code.deleted payment.succeeded payment.created qr_code.created"
		_, data := s.Do("GET", "/v1/events", nil)
		at := url.QueryEscape(field(t, data, "data.0.created_at"))
		for query, want := range map[string]string{
			"":                             all,
			"type=payment.succeeded":       "payment.succeeded",
			"type=payment.completed":       "payment.completed",
			"type=refund.completed":        "",
			"created[gte]=2026-01-01":      all,
			"created[lt]=2026-01-01":       "",
			"created=2026-01-01..":         all,
			"created=..2026-01-01":         "",
			"created[gt]=4102444800":       "",
			"limit=1&created[lte]=" + at:   "qr_code.deleted",
			"limit=1&created[gte]=" + at:   "qr_code.deleted",
			"type=qr_code.deleted&limit=5": "qr_code.deleted",
		} {
			if got := types(query); got != want {
				t.Errorf("%s: got %q, want %q", query, got, want)
			}
		}
		if got := field(t, data, "data.1.request.idempotency_key"); got != "evt" {
			t.Errorf("idempotency key %q", got)
		}
		if got := field(t, data, "data.1.request.id"); !strings.HasPrefix(got, "req_") {
			t.Errorf("request id %q", got)
		}
		for query, param := range map[string]string{"created[foo]=1": "created[foo]", "created=yesterday": "created"} {
			response, data := s.Do("GET", "/v1/events?"+query, nil)
			wants(t, query, response, data, 400, "parameter_invalid", param)
		}
		response, data := s.Do("GET", "/v1/events?type=payment.lost", nil)
		wants(t, "unknown type", response, data, 400, "event_type_unknown", "type")
	})
}
