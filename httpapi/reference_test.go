package httpapi_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/storage"
)

// listed returns the ids in a list with a filter.
func listed(t *testing.T, s *paymentstest.Shop, path, filter, value string) []string {
	t.Helper()
	join := "?"
	if strings.Contains(path, "?") {
		join = "&"
	}
	_, data := s.Do("GET", path+join+filter+"="+url.QueryEscape(value), nil)
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	must.Do(t, json.Unmarshal(data, &list))
	ids := make([]string, len(list.Data))
	for i := range list.Data {
		ids[i] = list.Data[i].ID
	}
	return ids
}

// Lists find the objects with a reference, letter for letter, on every store.
func TestListsFilterByReference(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		s := paymentstest.NewWithStore(t, store, payments.Config{})
		post := func(path, body string) string {
			t.Helper()
			response, data := s.Do("POST", path, body)
			must.True(t, response.StatusCode == 200, "%s: %s", path, data)
			return field(t, data, "id")
		}
		const to = `,"destination":{"type":"mobile_money","phone_number":"0241234567"}}`
		paths := map[string]map[string][]string{}
		add := func(path, reference, id string) {
			if paths[path] == nil {
				paths[path] = map[string][]string{}
			}
			paths[path][reference] = append([]string{id}, paths[path][reference]...)
		}
		for _, reference := range []string{"order-17", "order-17", "Order-17", "order 1&7"} {
			more := `,"reference":"` + reference + `"`
			code := post("/v1/qr_codes", `{"amount":100`+more+`}`)
			add("/v1/qr_codes", reference, code)
			paid := post("/v1/payments", `{"amount":100,"phone_number":"0241234567"`+more+`}`)
			add("/v1/payments", reference, paid)
			must.Do(t, s.Drain(t.Context()))
			add("/v1/refunds", reference, post("/v1/refunds", `{"payment":"`+paid+`","amount":1}`))
			add("/v1/disbursements", reference, post("/v1/disbursements", `{"amount":1`+more+to))
			add("/v1/checkout/sessions", reference, post("/v1/checkout/sessions", order(more)))
		}
		post("/v1/disbursements", `{"amount":1`+to)
		post("/v1/qr_codes", `{}`)
		for path, all := range paths {
			for reference, want := range all {
				list := listed(t, s, path, "reference", reference)
				expect.Same(t, list, want, "%s with %s", path, reference)
			}
			expect.Same(t, listed(t, s, path, "reference", "order-1"), []string{}, "%s with the beginning", path)
		}
		first, _ := newInvoice(t, s, `{}`)
		_, data := s.Do("GET", "/v1/invoices/"+first, nil)
		newInvoice(t, s, `{}`)
		expect.Same(t, listed(t, s, "/v1/invoices", "invoice_number", field(t, data, "invoice_number")), []string{first}, "invoices with a number")
	})
}
