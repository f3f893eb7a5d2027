package httpapi_test

import (
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
)

// A repetition is answered byte for byte as the first request was, but for what is
// told once, and is marked.
func TestReplaysAreTheSame(t *testing.T) {
	s := paymentstest.New(t)
	otp := verifiedOTP(t, s)
	_, code := s.Do("POST", "/v1/test_helpers/consumer_qrs", `{"account_id":"`+s.Consumer.ID+`","amount":1.15}`)
	draft, _ := newInvoice(t, s, `{`+oneLine+`}`)
	open, _ := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	metadata := `"metadata":{"n":1.10,"big":12345678901234567890,"t":"<ɛ>&","b":true}`
	for i, c := range []struct{ method, path, body string }{
		{"POST", "/v1/payouts", `{"amount":150.50,"destination":{"type":"mobile_money","phone_number":"0241234567"},"otp_code":"` + otp + `",` + metadata + `}`},
		{"POST", "/v1/disbursements", `{"amount":4.35,"destination":{"type":"service_wallet","account_id":"` + s.Consumer.ID + `"},` + metadata + `}`},
		{"POST", "/v1/disbursements", `{"amount":4.35,"destination":{"type":"bank_transfer","account_number":"1234567890","bank_code":"300304"}}`},
		{"POST", "/v1/disbursements/qr", `{"qr_payload":"` + field(t, code, "qr_payload") + `"}`},
		{"POST", "/v1/otp/request", `{"purpose":"PAYOUT"}`},
		{"POST", "/v1/lookup/service-id", `{"service_id":"` + s.Consumer.ServiceID + `"}`},
		{"POST", "/v1/invoices", `{"due_date":"2999-01-31","line_items":[{"description":"x","quantity":2.50,"unit_amount":99,"taxable":true,"tax_percent":12.50}],` + metadata + `}`},
		{"POST", "/v1/invoices/" + draft, `{"memo":"x"}`},
		{"POST", "/v1/invoices/" + draft + "/lines", `{"description":"x","unit_amount":5}`},
		{"POST", "/v1/invoices/" + draft + "/finalize", ``},
		{"POST", "/v1/invoices/" + draft + "/send", ``},
		{"POST", "/v1/invoices/" + draft + "/void", ``},
		{"POST", "/v1/invoices/" + open + "/pay", `{"source":"0241112222"}`},
		{"POST", "/v1/qr_codes", `{"type":"dynamic","amount":5.0,"expires_at":"2999-01-31T00:00:00Z",` + metadata + `}`},
	} {
		var body any = c.body
		if c.body == "" {
			body = nil
		}
		key := "key-" + string(rune('a'+i))
		first, one := s.Do(c.method, c.path, body, "Idempotency-Key", key)
		if c.path == "/v1/otp/request" || c.path == "/v1/invoices/"+draft+"/send" {
			drain(t, s) // what was sent is not sent again
		}
		again, two := s.Do(c.method, c.path, body, "X-Idempotency-Key", key)
		if first.StatusCode != 200 && c.path != "/v1/invoices/"+draft+"/send" || again.StatusCode != first.StatusCode {
			t.Errorf("%s: %d %s, then %d %s", c.path, first.StatusCode, one, again.StatusCode, two)
			continue
		}
		if first.StatusCode != 200 {
			continue // refused: nobody to send to, which saves nothing
		}
		if string(one) != string(two) || first.Header.Get("Idempotent-Replayed") != "" || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s (%q):\n%s\n%s", c.path, again.Header.Get("Idempotent-Replayed"), one, two)
		}
	}
	verified(t, s)
}
