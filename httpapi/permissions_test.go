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
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// A key for events and webhooks does not see, and has nobody told, what it may not read.
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
		expect.True(t, field(t, data, "error.code") == c.code && (c.code == "" || response.StatusCode == 403), "%s: %d %s", c.what, response.StatusCode, data)
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
