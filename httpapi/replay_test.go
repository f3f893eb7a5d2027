package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
)

// A repetition is answered byte for byte as the first request was, but for what is
// told once, and is marked.
func TestReplayRepeatsTheAnswer(t *testing.T) {
	s := paymentstest.New(t)
	otp := verifiedOTP(t, s)
	_, code := s.Do("POST", "/v1/test_helpers/consumer_qrs", `{"account_id":"`+s.Consumer.ID+`","amount":1.15}`)
	draft, _ := newInvoice(t, s, `{`+oneLine+`}`)
	open, _ := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	prompted, _ := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	static := newCode(t, s, `{}`)
	pending, asks := phonePays(t, s, "0906"), phonePays(t, s, "0907")
	drain(t, s)
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
		{"POST", "/v1/invoices/" + prompted + "/pay", `{"phone_number":"0241234567"}`},
		{"POST", "/v1/payments", `{"amount":5.0,"phone_number":"0241234567",` + metadata + `}`},
		{"POST", pending + "/cancel", ``},
		{"POST", asks + "/confirm", `{"code":"123456"}`},
		{"POST", "/v1/test_helpers/qr_codes/" + static + "/pay", `{"phone_number":"0241234567","amount":5}`},
		{"POST", settlePath(phonePays(t, s, "0906")), `{"outcome":"failed"}`},
		{"POST", "/v1/products", `{"name":"x","unit_amount":5.0,"tax_percent":12.50,` + metadata + `}`},
		{"POST", "/v1/coupons", `{"percent_off":12.50,"redeem_by":32503680000,` + metadata + `}`},
		{"POST", "/v1/plans", `{"name":"x","amount":5.0,"interval":"day",` + metadata + `}`},
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
			continue // refused: there is no address to send to, which saves nothing
		}
		if string(one) != string(two) || first.Header.Get("Idempotent-Replayed") != "" || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s (%q):\n%s\n%s", c.path, again.Header.Get("Idempotent-Replayed"), one, two)
		}
	}
	verified(t, s)
}

// What stands beside the routes for customers remembers keys, too: the test helpers and
// the ping. Another body, or another object, under the same key is refused.
func TestTestHelpersReplay(t *testing.T) {
	s := paymentstest.New(t)
	transfer := func(path, more string) string {
		_, data := s.Do("POST", path, `{"amount":20,"destination":{"type":"mobile_money","phone_number":"0241230903"}`+more+`}`)
		return path + "/" + field(t, data, "id")
	}
	payout, other := transfer("/v1/payouts", `,"otp_code":"`+verifiedOTP(t, s)+`"`), transfer("/v1/disbursements", "")
	hooks := make([]string, 2)
	for i := range hooks {
		_, data := s.Do("POST", "/v1/webhooks", fmt.Sprintf(`{"url":"http://127.0.0.1:1/%d","events":["*"]}`, i))
		hooks[i] = "/v1/webhooks/" + field(t, data, "id") + "/ping"
	}
	balance := func() decimal.Decimal {
		_, data := s.Do("GET", "/v1/balance", nil)
		return decimal.RequireFromString(field(t, data, "available"))
	}
	for i, c := range []struct{ path, body, otherPath, otherBody string }{
		{"/v1/test_helpers/balance", `{"amount":1}`, "", `{"amount":2}`},
		{"/v1/test_helpers/consumers", `{"name":"Ama","balance":5}`, "", `{"name":"Ama","balance":6}`},
		{"/v1/test_helpers/consumers", `{"name":"Ama","phone_number":"0249876543","pin":"1357"}`, "", `{"name":"Ama","phone_number":"0249876544","pin":"1357"}`},
		{"/v1/test_helpers/cash_agents", `{"name":"Kofi","sub_agent":true}`, "/v1/test_helpers/consumers", `{"name":"Kofi"}`},
		{strings.Replace(payout, "/v1/", "/v1/test_helpers/", 1) + "/settle", `{"outcome":"succeeded"}`, "", `{"outcome":"failed"}`},
		{strings.Replace(other, "/v1/", "/v1/test_helpers/", 1) + "/settle", `{"outcome":"failed","failure_reason":"x"}`, "", `{"outcome":"failed"}`},
		{hooks[0], "", hooks[1], ""},
		{"/v1/test_helpers/clock", `{"advance":7}`, "", `{"advance":8}`},
		{"/v1/test_helpers/clock", `{"advance":4000000}`, "", `{"advance":4000001}`}, // longer than keys are kept
	} {
		key := fmt.Sprint("helper-", i)
		do := func(path, body string) (int, string, string) {
			var sent any = body
			if body == "" {
				sent = nil
			}
			response, data := s.Do("POST", path, sent, "X-Idempotency-Key", key)
			return response.StatusCode, response.Header.Get("Idempotent-Replayed"), string(data)
		}
		status, replayed, first := do(c.path, c.body)
		if status != 200 || replayed != "" {
			t.Errorf("%s: %d %s %s", c.path, status, replayed, first)
			continue
		}
		had := balance()
		s.Do("POST", "/v1/test_helpers/balance", `{"amount":1000}`) // the answer is the first one all the same
		if status, replayed, again := do(c.path, c.body); status != 200 || replayed != "true" || again != first {
			t.Errorf("%s again: %d %q\n%s\n%s", c.path, status, replayed, first, again)
		}
		if c.otherPath == "" {
			c.otherPath = c.path
		}
		if status, _, refused := do(c.otherPath, c.otherBody); status != 422 || !strings.Contains(refused, `"idempotency_key_reused"`) {
			t.Errorf("%s %s: %d %s", c.otherPath, c.otherBody, status, refused)
		}
		s.Do("POST", "/v1/test_helpers/balance", `{"amount":1000}`)
		if now := balance(); !now.Equal(had.Add(decimal.NewFromInt(2000))) {
			t.Errorf("%s: the balance went from %s to %s", c.path, had, now)
		}
	}
	verified(t, s)
}

// A PIN that is chosen is another request than one that is made up.
func TestAChosenPINIsAnotherRequest(t *testing.T) {
	s := paymentstest.New(t)
	s.Do("POST", "/v1/test_helpers/consumers", `{"name":"Ama"}`, "X-Idempotency-Key", "k")
	response, data := s.Do("POST", "/v1/test_helpers/consumers", `{"name":"Ama","pin":"1357"}`, "X-Idempotency-Key", "k")
	expect.Equal(t, response.StatusCode, 422, "%d %s", response.StatusCode, data)
}

// No lines at all is another request than lines left as they are.
func TestNoLinesIsAnotherRequest(t *testing.T) {
	s := paymentstest.New(t)
	draft, _ := newInvoice(t, s, `{`+oneLine+`}`)
	s.Do("POST", "/v1/invoices/"+draft, `{"memo":"x"}`, "X-Idempotency-Key", "k")
	response, data := s.Do("POST", "/v1/invoices/"+draft, `{"memo":"x","line_items":[]}`, "X-Idempotency-Key", "k")
	expect.Equal(t, response.StatusCode, 422, "%d %s", response.StatusCode, data)
}
