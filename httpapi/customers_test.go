package httpapi_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

func TestCustomerBodies(t *testing.T) {
	s := paymentstest.New(t)
	step := func(name, method, path string, body any, headers ...string) []byte {
		t.Helper()
		response, data := s.Do(method, path, body, headers...)
		golden(t, name, response, data)
		return data
	}
	full := `{"name":"Akua Donkor","email":"Akua@Example.com","phone_number":"020 111-2223","address":"12 Oxford Street\nOsu","metadata":{"tier":"gold","visits":7}}`
	akua := field(t, step("customers_create", "POST", "/v1/customers", full, "Idempotency-Key", "c-1"), "id")
	step("customers_create_empty", "POST", "/v1/customers", nil)
	if response, data := s.Do("POST", "/v1/customers", full, "Idempotency-Key", "c-1"); field(t, data, "id") != akua || response.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("repeated: %s", data)
	}
	step("customers_get", "GET", "/v1/customers/"+akua, nil)
	step("customers_update", "POST", "/v1/customers/"+akua, `{"name":"Akua Mensah","address":null,"metadata":{"tier":"","since":2026}}`)
	step("customers_list", "GET", "/v1/customers?limit=1", nil)
	step("customers_by_email", "GET", "/v1/customers?email=aKUA@example.com", nil)
	step("customers_by_phone", "GET", "/v1/customers?phone=%2B233201112223", nil)
	step("customers_none", "GET", "/v1/customers?email=nobody@example.com", nil)
	step("customers_invoice", "POST", "/v1/invoices", fmt.Sprintf(`{"customer":%q,"customer_address":"At the gate"}`, akua))
	step("customers_delete", "DELETE", "/v1/customers/"+akua, nil)
	step("customers_gone", "GET", "/v1/customers/"+akua, nil)
	step("customers_gone_twice", "DELETE", "/v1/customers/"+akua, nil)
	step("customers_gone_invoice", "POST", "/v1/invoices", fmt.Sprintf(`{"customer":%q}`, akua))
	for _, verb := range []string{"created", "updated", "deleted"} {
		step("event_customer."+verb, "GET", "/v1/events?limit=1&type=customer."+verb, nil)
	}
	for name, refused := range map[string]struct{ method, path, body, code, param string }{
		"an e-mail with a name":     {"POST", "/v1/customers", `{"email":"Akua <a@example.com>"}`, "parameter_invalid", "email"},
		"a number of elsewhere":     {"POST", "/v1/customers", `{"phone_number":"+4412345678"}`, "invalid_phone_number", "phone_number"},
		"a name that is a number":   {"POST", "/v1/customers", `{"name":5}`, "parameter_invalid", "name"},
		"a long address":            {"POST", "/v1/customers", `{"address":"` + strings.Repeat("a", 501) + `"}`, "parameter_invalid", "address"},
		"nested metadata":           {"POST", "/v1/customers", `{"metadata":{"a":[]}}`, "parameter_invalid", "metadata.a"},
		"a null in metadata":        {"POST", "/v1/customers", `{"metadata":{"a":null}}`, "parameter_invalid", "metadata.a"},
		"a filter that is no phone": {"GET", "/v1/customers?phone=12", "", "invalid_phone_number", "phone"},
		"a filter that is no mail":  {"GET", "/v1/customers?email=akua", "", "parameter_invalid", "email"},
		"a cursor of the deleted":   {"GET", "/v1/customers?starting_after=" + akua, "", "resource_missing", "starting_after"},
	} {
		var body any
		if refused.body != "" {
			body = refused.body
		}
		response, data := s.Do(refused.method, refused.path, body)
		wants(t, name, response, data, 400, refused.code, refused.param)
	}
}

// everything returns all that a store holds of a merchant and of the operator, as
// one text.
func everything(t *testing.T, store storage.Store, merchant string) string {
	t.Helper()
	var b strings.Builder
	must.Do(t, store.View(t.Context(), func(tx storage.ReadTx) error {
		for _, k := range payments.Kinds() {
			for _, scope := range []storage.Scope{{}, {Merchant: merchant}} {
				page, err := tx.List(k, storage.Query{Scope: scope, Limit: 10_000})
				if err != nil {
					return err
				}
				for _, r := range page {
					fmt.Fprintf(&b, "%s %v %s\n", k.Name, r.Columns, r.Data)
				}
			}
		}
		return nil
	}))
	return b.String()
}

// A deleted customer's data is nowhere in the store, whatever was done with it
// before and is done afterwards, but in the issued invoice.
func TestDeletedCustomersAreForgotten(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) storage.Store{
		"memory": func(*testing.T) storage.Store { return memory.New() },
		"sqlite": func(t *testing.T) storage.Store {
			return must.Get(sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "customers.db"), sqlite.Config{}))(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			s := paymentstest.NewWithStore(t, store, payments.Config{})
			ok := func(method, path string, body any, headers ...string) []byte {
				t.Helper()
				response, data := s.Do(method, path, body, headers...)
				if response.StatusCode != 200 {
					t.Fatalf("%s %s: %s", method, path, data)
				}
				return data
			}
			var told atomic.Int64
			s.Events.Subscribe("host", func(context.Context, api.Caller, event.Event) error { told.Add(1); return nil })
			ok("POST", "/v1/webhooks", `{"url":"https://example.com/h","events":["customer.created","invoice.created"]}`)
			create := `{"name":"Zenobia","email":"zenobia@old.example","phone_number":"0207654321","address":"Zongo Lane","metadata":{"shoe":"zsize-44"}}`
			id := field(t, ok("POST", "/v1/customers", create, "Idempotency-Key", "made"), "id")
			other := field(t, ok("POST", "/v1/customers", `{"name":"Yaw Other","email":"yaw@example.com"}`), "id")

			issued := field(t, ok("POST", "/v1/invoices", fmt.Sprintf(`{"customer":%q,"customer_name":"Issued Zenobia",%s,"auto_finalize":true}`, id, oneLine), "Idempotency-Key", "issued"), "id")
			ok("POST", "/v1/customers/"+id, `{"email":"zenobia@new.example"}`, "Idempotency-Key", "updated")
			draft := field(t, ok("POST", "/v1/invoices", fmt.Sprintf(`{"customer":%q,%s}`, id, oneLine), "Idempotency-Key", "draft"), "id")
			dropped := field(t, ok("POST", "/v1/invoices", fmt.Sprintf(`{"customer":%q,%s}`, id, oneLine)), "id")
			for _, invoice := range []string{issued, draft, dropped} { // the documents are made, and kept
				if _, _, err := s.Invoices.HostedPDF(t.Context(), pageToken(t, ok("GET", "/v1/invoices/"+invoice, nil))); err != nil {
					t.Fatal(err)
				}
			}
			ok("DELETE", "/v1/invoices/"+dropped, nil)
			for i := range 120 { // more than one step's worth
				ok("POST", "/v1/invoices/"+draft, fmt.Sprintf(`{"memo":"%d"}`, i))
			}
			ok("POST", "/v1/events/"+field(t, ok("GET", "/v1/events?type=customer.created", nil), "data.1.id")+"/resend", nil, "Idempotency-Key", "resent")
			private := []string{"zenobia", "207654321", "zongo", "zsize-44"}
			before := strings.ToLower(everything(t, store, s.Caller.Merchant))
			for _, word := range private {
				if !strings.Contains(before, word) {
					t.Errorf("the test does not put %q anywhere", word)
				}
			}

			ok("DELETE", "/v1/customers/"+id, nil)
			// What happens between the deletion and the work that it leaves is caught, too.
			ok("POST", "/v1/invoices/"+issued+"/send", nil)
			drain(t, s)
			ok("POST", "/v1/invoices/"+issued+"/pay", `{}`, "Idempotency-Key", "paid")
			drain(t, s)
			ok("POST", "/v1/invoices/"+draft, `{"memo":"later"}`)

			for line := range strings.SplitSeq(everything(t, store, s.Caller.Merchant), "\n") {
				kind, _, _ := strings.Cut(line, " ")
				lower := strings.ToLower(line)
				for _, word := range private {
					if !strings.Contains(lower, word) {
						continue
					}
					if kind == "invoices" && strings.Contains(line, issued) || kind == "messages" && strings.Contains(line, "Receipt for") || kind == "messages" && strings.Contains(line, "You paid") {
						continue
					}
					t.Errorf("%q is still in %.200s", word, line)
				}
			}
			kept := ok("GET", "/v1/invoices/"+issued, nil)
			if field(t, kept, "customer_name") != "Issued Zenobia" || field(t, kept, "customer_email") != "zenobia@old.example" || field(t, kept, "status") != "paid" {
				t.Errorf("the issued invoice was changed: %s", kept)
			}
			if data := ok("GET", "/v1/invoices/"+draft, nil); field(t, data, "customer_name") != "" || field(t, data, "customer") != id || field(t, data, "total") == "0" {
				t.Errorf("the draft: %s", data)
			}
			if data := ok("GET", "/v1/customers/"+other, nil); field(t, data, "name") != "Yaw Other" {
				t.Errorf("another customer: %s", data)
			}
			// Repetitions are still known, and do nothing.
			if data := ok("POST", "/v1/invoices", fmt.Sprintf(`{"customer":%q,%s}`, id, oneLine), "Idempotency-Key", "draft"); field(t, data, "id") != draft {
				t.Errorf("repeated: %s", data)
			}
			if data := ok("POST", "/v1/customers", create, "Idempotency-Key", "made"); field(t, data, "id") != id || field(t, data, "name") != "" {
				t.Errorf("repeated: %s", data)
			}
			if told.Load() == 0 {
				t.Error("nobody was told of anything")
			}
		})
	}
}

// token returns the secret in an invoice's address.
func pageToken(t *testing.T, invoice []byte) string {
	t.Helper()
	url := field(t, invoice, "hosted_invoice_url")
	return url[strings.LastIndex(url, "/")+1:]
}
