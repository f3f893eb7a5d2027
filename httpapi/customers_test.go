package httpapi_test

import (
	"fmt"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
)

func TestCustomerBodies(t *testing.T) {
	s := paymentstest.New(t)
	step := steps(t, s)
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
	response, data := s.Do("GET", "/v1/customers?phone=12", nil)
	wants(t, "no number", response, data, 400, "invalid_phone_number", "phone")
}
