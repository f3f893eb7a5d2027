package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// A key for events and webhooks does not see, and sends nowhere, what it may not read.
func TestEventsAndWebhooksFollowPermissions(t *testing.T) {
	s := paymentstest.New(t)
	code := newCode(t, s, `{"name":"secret name","amount":100}`)
	_, wide := s.Do("POST", "/v1/webhooks", `{"url":"http://127.0.0.1:9/h","events":["qr_code.created","refund.created"]}`)
	wideID := field(t, wide, "id")
	narrow, _ := as(t, s, s.Caller, account.CreateKeyParams{Resources: []string{"events", "webhooks", "refunds"}})

	_, list := narrow.Do("GET", "/v1/events", nil)
	id := field(t, list, "data.0.id")
	_, one := narrow.Do("GET", "/v1/events/"+id, nil)
	response, sent := narrow.Do("POST", "/v1/events/"+id+"/resend", nil, "Idempotency-Key", "again")
	_, again := narrow.Do("POST", "/v1/events/"+id+"/resend", nil, "Idempotency-Key", "again")
	expect.Equal(t, response.StatusCode, 200, "resend: %s", sent)
	for what, data := range map[string][]byte{"list": list, "get": one, "resend": sent, "its repetition": again} {
		if text := string(data); strings.Contains(text, "secret name") || !strings.Contains(text, code) {
			t.Errorf("%s shows %s", what, text)
		}
	}
	if _, data := s.Do("GET", "/v1/events/"+id, nil); !strings.Contains(string(data), "secret name") {
		t.Errorf("a key for everything sees %s", data)
	}

	for _, c := range []struct{ what, method, path, body, code string }{
		{"an endpoint for everything", "POST", "/v1/webhooks", `{"url":"http://127.0.0.1:9/","events":["*"]}`, "permission_denied"},
		{"an endpoint for codes", "POST", "/v1/webhooks", `{"url":"http://127.0.0.1:9/","events":["refund.created","qr_code.created"]}`, "permission_denied"},
		{"an endpoint by a synonym", "POST", "/v1/webhooks", `{"url":"http://127.0.0.1:9/","events":["payment.completed"]}`, "permission_denied"},
		{"an endpoint for refunds", "POST", "/v1/webhooks", `{"url":"http://127.0.0.1:9/","events":["refund.completed"]}`, ""},
		{"another address for what it may not read", "PATCH", "/v1/webhooks/" + wideID, `{"url":"http://127.0.0.1:10/"}`, "permission_denied"},
		{"and fewer types", "PATCH", "/v1/webhooks/" + wideID, `{"url":"http://127.0.0.1:10/","events":["refund.created"]}`, "permission_denied"},
		{"a secret", "POST", "/v1/webhooks/" + wideID + "/rotate_secret", ``, "permission_denied"},
	} {
		response, data := narrow.Do(c.method, c.path, c.body)
		expect.Equal(t, field(t, data, "error.code"), c.code, "%s: error.code", c.what)
		expect.True(t, c.code == "" || response.StatusCode == 403, "%s: %d %s", c.what, response.StatusCode, data)
	}
	_, made := narrow.Do("POST", "/v1/webhooks", `{"url":"http://127.0.0.1:9/","events":["refund.created"]}`)
	if response, data := narrow.Do("PATCH", "/v1/webhooks/"+field(t, made, "id"), `{"events":["qr_code.*"]}`); response.StatusCode == 200 {
		t.Errorf("more types: %s", data)
	}
	if response, data := narrow.Do("PATCH", "/v1/webhooks/"+field(t, made, "id"), `{"events":["qr_code.created"]}`); response.StatusCode != 403 {
		t.Errorf("more types: %s", data)
	}
	codes, _ := as(t, s, s.Caller, account.CreateKeyParams{Resources: []string{"qr_codes"}})
	if response, data := codes.Do("GET", "/v1/qr_codes/"+code+"/payments", nil); response.StatusCode != 403 {
		t.Errorf("a key for codes reads payments: %s", data)
	}
}

// A key that may only read subscriptions does not get the address of a page that changes them.
func TestReadersSeeNoManageURL(t *testing.T) {
	s := paymentstest.New(t)
	matrixWorld(t, s)
	reader, _ := as(t, s, s.Caller, account.CreateKeyParams{ReadOnly: true})
	_, list := s.Do("GET", "/v1/subscriptions", nil)
	_, events := s.Do("GET", "/v1/events?type=subscription.created", nil)
	url := field(t, list, "data.0.manage_url")
	must.True(t, strings.Contains(url, "/subscription/"), "the owner's manage_url is %s", url)
	for path, at := range map[string]string{
		"/v1/subscriptions": "data.0.manage_url",
		"/v1/subscriptions/" + field(t, list, "data.0.id"): "manage_url",
		"/v1/events?type=subscription.created":             "data.0.data.object.manage_url",
		"/v1/events/" + field(t, events, "data.0.id"):      "data.object.manage_url",
	} {
		_, data := s.Do("GET", path, nil)
		_, seen := reader.Do("GET", path, nil)
		expect.True(t, !strings.Contains(string(seen), url), "%s shows a reader %s", path, seen)
		if at == "" {
			continue
		}
		expect.Equal(t, field(t, data, at), url, "%s for who may write", path)
		expect.Equal(t, requestID.ReplaceAllString(string(seen), "req"), requestID.ReplaceAllString(strings.ReplaceAll(string(data), `"`+url+`"`, "null"), "req"), "%s for a reader", path)
	}
}

// A key for invoices does not read customers by billing them.
func TestInvoicesShowNoCustomerWithoutPermission(t *testing.T) {
	s := paymentstest.New(t)
	_, made := s.Do("POST", "/v1/test_helpers/customers", `{"name":"Zenobia","email":"zenobia@example.com"}`)
	customer := field(t, made, "id")
	narrow, _ := as(t, s, s.Caller, account.CreateKeyParams{Resources: []string{"invoices"}})
	wide, _ := as(t, s, s.Caller, account.CreateKeyParams{Resources: []string{"customers", "invoices"}})
	_, draft := narrow.Do("POST", "/v1/invoices", `{"customer_name":"Akua"}`)
	for n, path := range []string{"/v1/invoices", "/v1/invoices/" + field(t, draft, "id")} {
		body, key := `{"customer":"`+customer+`"}`, fmt.Sprint("bill ", n)
		if _, data := wide.Do("POST", path, body, "Idempotency-Key", key); field(t, data, "customer_name") != "Zenobia" {
			t.Errorf("%s by a key for both: %s", path, data)
		}
		for _, key := range []string{key, "another"} {
			response, data := narrow.Do("POST", path, body, "Idempotency-Key", key)
			wants(t, path, response, data, 403, "permission_denied", "customer")
		}
		if response, data := narrow.Do("POST", path, `{"customer":""}`); response.StatusCode >= 300 {
			t.Errorf("%s of no customer: %s", path, data)
		}
	}
}

// namedInBodies are the requests that name a product, a coupon or a plan: the resource of the request, and the body
// with an id for ID. A body may need a customer, too.
var namedInBodies = []struct{ own, resource, param, path, body string }{
	{"invoices", "products", "line_items[0].product", "/v1/invoices", `{"line_items":[{"product":"ID","unit_amount":5}]}`},
	{"invoices", "products", "line_items[1].product", "/v1/invoices/$inv", `{"line_items":[{"description":"x","unit_amount":5},{"product":"ID"}]}`},
	{"invoices", "products", "product", "/v1/invoices/$inv/lines", `{"product":"ID","unit_amount":5}`},
	{"invoices", "coupons", "coupon", "/v1/invoices", `{"coupon":"ID",` + oneLine + `}`},
	{"invoices", "coupons", "coupon", "/v1/invoices/$inv", `{"coupon":"ID"}`},
	{"checkout_sessions", "products", "line_items[0].product", "/v1/checkout/sessions", `{"success_url":"https://shop.example/","line_items":[{"product":"ID","unit_amount":5}]}`},
	{"checkout_sessions", "coupons", "coupon", "/v1/checkout/sessions", `{"success_url":"https://shop.example/","coupon":"ID",` + oneLine + `}`},
	{"checkout_sessions", "plans", "plan", "/v1/checkout/sessions", `{"success_url":"https://shop.example/","mode":"subscription","plan":"ID"}`},
	{"subscriptions", "plans", "plan", "/v1/subscriptions", `{"customer":"$cus","plan":"ID"}`},
	{"subscriptions", "plans", "plan", "/v1/subscriptions/$sub", `{"plan":"ID"}`},
	{"subscriptions", "coupons", "coupon", "/v1/subscriptions", `{"customer":"$cus","plan":"$plan","coupon":"ID"}`},
	{"subscriptions", "coupons", "coupon", "/v1/subscriptions/$sub", `{"coupon":"ID"}`},
	{"plans", "products", "product", "/v1/plans", `{"name":"Juice","amount":100,"interval":"week","product":"ID"}`},
}

// A key learns nothing of what it may not read by naming it in a body: neither what it holds nor whether it
// exists, nor by repeating another key's call.
func TestBodiesNameOnlyWhatTheKeyMayRead(t *testing.T) {
	s := paymentstest.New(t)
	made := map[string]string{}
	create := func(resource, path, body string) {
		t.Helper()
		response, data := s.Do("POST", path, fillIDs(body, made))
		must.True(t, response.StatusCode == 200, "%s: %s", path, data)
		made[resource] = field(t, data, "id")
	}
	create("$cus", "/v1/customers", `{"name":"Abena","phone_number":"0241234567"}`)
	create("products", "/v1/products", `{"name":"Zinger juice","unit_amount":100}`)
	create("coupons", "/v1/coupons", `{"percent_off":10}`)
	create("plans", "/v1/plans", `{"name":"Juice","amount":100,"interval":"week"}`)
	made["$plan"] = made["plans"]
	create("$inv", "/v1/invoices", `{`+oneLine+`}`)
	create("$sub", "/v1/subscriptions", `{"customer":"$cus","plan":"$plan"}`)
	for n, c := range namedInBodies {
		other := []string{c.own, "customers"}
		for _, resource := range []string{"products", "coupons", "plans"} {
			if resource != c.resource {
				other = append(other, resource)
			}
		}
		narrow, _ := as(t, s, s.Caller, account.CreateKeyParams{Resources: other})
		wide, _ := as(t, s, s.Caller, account.CreateKeyParams{Resources: append(other, c.resource)})
		path, key := fillIDs(c.path, made), fmt.Sprint("named ", n)
		naming := func(id string) string { return fillIDs(strings.ReplaceAll(c.body, "ID", id), made) }
		known := naming(made[c.resource])
		response, data := wide.Do("POST", path, known, "Idempotency-Key", key)
		must.True(t, response.StatusCode == 200, "%s with %s by a key for it: %s", path, known, data)
		var answers []string
		for _, body := range []string{known, naming(like(made[c.resource]))} {
			for _, key := range []string{key, "another"} {
				response, data := narrow.Do("POST", path, body, "Idempotency-Key", key)
				wants(t, path, response, data, 403, "permission_denied", c.param)
				answers = append(answers, requestID.ReplaceAllString(string(data), "req"))
			}
		}
		expect.Equal(t, len(slices.Compact(answers)), 1, "different answers of %s with %s: %s", path, known, answers)
	}
	narrow, _ := as(t, s, s.Caller, account.CreateKeyParams{Resources: []string{"invoices", "subscriptions"}})
	for path, body := range map[string]string{"/v1/invoices/" + made["$inv"]: `{"coupon":""}`, "/v1/subscriptions/" + made["$sub"]: `{"coupon":"","quantity":1}`} {
		response, data := narrow.Do("POST", path, body)
		expect.Equal(t, response.StatusCode, 200, "%s with %s: %s", path, body, data)
	}
}

// fillIDs replaces the names that begin with $ in a text by their ids.
func fillIDs(text string, made map[string]string) string {
	for name, id := range made {
		if strings.HasPrefix(name, "$") {
			text = strings.ReplaceAll(text, name, id)
		}
	}
	return text
}

// sealed is a store that can be closed to writers.
type sealed struct {
	storage.Store
	closed atomic.Bool
	writes atomic.Int64
}

func (s *sealed) Update(ctx context.Context, fn func(storage.Tx) error) error {
	if s.closed.Load() {
		s.writes.Add(1)
		return errors.New("a write")
	}
	return s.Store.Update(ctx, fn)
}

// Whatever a key that may only read asks for, nothing is written, and no idempotency key
// is taken from those who may write. Lookups of account names are counted, for the quota
// of the merchant.
func TestReadOnlyKeysWriteNothing(t *testing.T) {
	store := &sealed{Store: memory.New()}
	s := paymentstest.NewWithStore(t, store, payments.Config{WebhookAllow: paymentstest.Loopback()})
	s.Server.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	matrixWorld(t, s)
	reader, _ := as(t, s, s.Caller, account.CreateKeyParams{ReadOnly: true})
	handler := httpapi.New(s.Service, httpapi.Config{TestHelpers: true, Logger: slog.New(slog.DiscardHandler)})
	table := httpapi.TableOf(handler)
	owned := idsIn(lists(t, s, table))
	reader.Do("GET", "/v1/balance", nil) // notes the use of the key

	store.closed.Store(true)
	bodies := map[string]string{
		"POST /v1/lookup/service-id": `{"service_id":"` + s.Consumer.ServiceID + `"}`,
	}
	asked := 0
	for _, row := range table {
		if !row.Private || row.Write || row.Pattern == "/v1/lookup/account-name" {
			continue
		}
		for _, ids := range slices.Collect(maps.Values(owned)) {
			for _, id := range ids {
				asked++
				var body any
				if row.Method == "POST" {
					body = bodies[row.Method+" "+row.Pattern]
				}
				path := wildcard.ReplaceAllString(row.Pattern, id)
				if response, data := reader.Do(row.Method, path, body, "Idempotency-Key", "order-1"); response.StatusCode >= 500 {
					t.Errorf("%s %s: %s", row.Method, path, data)
				}
			}
		}
	}
	if n := store.writes.Load(); n > 0 || asked == 0 {
		t.Errorf("%d writes for %d requests", n, asked)
	}
}
