package httpapi_test

import (
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// A phone of another country is kept and found, gets no SMS, is charged nowhere, and goes with its customer.
func TestForeignPhones(t *testing.T) {
	s := paymentstest.New(t)
	post := func(path, body string, status int) []byte {
		t.Helper()
		response, data := s.Do("POST", path, body)
		must.True(t, response.StatusCode == status, "%s with %s: %s", path, body, data)
		return data
	}
	const number = "+447911123456"
	made := post("/v1/customers", `{"name":"Zenobia","phone_number":"+44 7911 123 456"}`, 200)
	customer := field(t, made, "id")
	expect.Equal(t, field(t, made, "phone_number"), number, "the customer's")
	expect.Same(t, listed(t, s, "/v1/customers", "phone", "+44 7911-123456"), []string{customer}, "customers with the number")
	expect.Same(t, listed(t, s, "/v1/customers", "phone", "+447911123457"), []string{}, "customers with another")
	refused := post("/v1/customers", `{"phone_number":"+44 791"}`, 400)
	expect.Equal(t, field(t, refused, "error.code"), "invalid_phone_number", "no number")
	expect.Equal(t, field(t, post("/v1/customers/"+customer, `{"phone_number":"+1 202 555 0143"}`, 200), "phone_number"), "+12025550143", "after an update")
	post("/v1/customers/"+customer, `{"phone_number":"`+number+`"}`, 200)

	bill := post("/v1/invoices", `{"customer":"`+customer+`","auto_finalize":true,`+oneLine+`}`, 200)
	expect.Equal(t, field(t, bill, "customer_phone"), number, "the invoice's, from the customer")
	own := post("/v1/invoices", `{"customer_phone":"+1-202-555-0143","auto_finalize":true,`+oneLine+`}`, 200)
	expect.Equal(t, field(t, own, "customer_phone"), "+12025550143", "the invoice's own")
	sent := post("/v1/invoices/"+field(t, own, "id")+"/send", ``, 400)
	expect.Equal(t, field(t, sent, "error.code"), "invoice_no_recipient", "sending to it")
	post("/v1/invoices/"+field(t, own, "id")+"/pay", `{"source":"0241234567"}`, 200)

	// It is charged nowhere.
	plan := field(t, post("/v1/plans", `{"name":"Juice","amount":100,"interval":"week"}`, 200), "id")
	for path, body := range map[string]string{
		"/v1/payments": `{"amount":100,"phone_number":"` + number + `"}`,
		"/v1/invoices/" + field(t, bill, "id") + "/pay": `{"phone_number":"` + number + `"}`,
		"/v1/subscriptions":                             `{"customer":"` + customer + `","plan":"` + plan + `","phone_number":"` + number + `"}`,
		"/v1/checkout/sessions":                         order(`,"customer_phone":"` + number + `"`),
		"/v1/disbursements":                             `{"amount":1,"destination":{"type":"mobile_money","phone_number":"` + number + `"}}`,
	} {
		expect.Equal(t, field(t, post(path, body, 400), "error.code"), "invalid_phone_number", "%s", path)
	}
	missing := post("/v1/subscriptions", `{"customer":"`+customer+`","plan":"`+plan+`","collection_method":"charge_automatically"}`, 400)
	expect.Equal(t, field(t, missing, "error.param"), "phone_number", "a subscription that charges it")
	expect.Equal(t, field(t, post("/v1/checkout/sessions", order(`,"customer":"`+customer+`"`), 200), "customer_phone"), "", "a session has no phone to charge")

	must.Do(t, s.Drain(t.Context()))
	_, messages := s.Do("GET", "/v1/test_helpers/messages?limit=100", nil)
	expect.True(t, !strings.Contains(string(messages), number), "messages %s", messages)
	expect.True(t, !strings.Contains(string(messages), "+12025550143"), "messages %s", messages)
	expect.True(t, strings.Contains(string(messages), `"to":"+233241234567"`), "no receipt for source: %s", messages)

	s.Do("DELETE", "/v1/customers/"+customer, nil)
	must.Do(t, s.Drain(t.Context()))
	// An issued invoice keeps whom it was issued to.
	for _, path := range []string{"/v1/customers", "/v1/events?limit=100"} {
		_, data := s.Do("GET", path, nil)
		expect.True(t, !strings.Contains(string(data), number), "%s after the erasure: %s", path, data)
	}
}
