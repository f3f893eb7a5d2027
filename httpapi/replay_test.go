package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// A repetition is answered byte for byte as the first request was, but for what is
// told once, and is marked.
func TestReplayRepeatsTheAnswer(t *testing.T) {
	s := paymentstest.New(t)
	otp := s.OTP()
	_, code := s.Do("POST", "/v1/test_helpers/consumer_qrs", `{"account_id":"`+s.Consumer.ID+`","amount":1.15}`)
	open, _ := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	asks := phonePays(t, s, "0907")
	drain(t, s)
	metadata := `"metadata":{"n":1.10,"big":12345678901234567890,"t":"<ɛ>&","b":true}`
	for i, c := range []struct{ path, body string }{
		{"/v1/payouts", `{"amount":150.50,"destination":{"type":"mobile_money","phone_number":"0241234567"},"otp_code":"` + otp + `",` + metadata + `}`},
		{"/v1/disbursements", `{"amount":4.35,"destination":{"type":"service_wallet","account_id":"` + s.Consumer.ID + `"},` + metadata + `}`},
		{"/v1/disbursements/qr", `{"qr_payload":"` + field(t, code, "qr_payload") + `"}`},
		{"/v1/otp/request", `{"purpose":"PAYOUT"}`},
		{"/v1/invoices", `{"due_date":"2999-01-31","line_items":[{"description":"x","quantity":2.50,"unit_amount":99,"taxable":true,"tax_percent":12.50}],` + metadata + `}`},
		{"/v1/invoices/" + open + "/pay", `{"source":"0241112222"}`},
		{"/v1/payments", `{"amount":5.0,"phone_number":"0241234567",` + metadata + `}`},
		{asks + "/confirm", `{"code":"123456"}`},
		{settlePath(phonePays(t, s, "0906")), `{"outcome":"failed"}`},
		{"/v1/coupons", `{"percent_off":12.50,"redeem_by":32503680000,` + metadata + `}`},
		{"/v1/qr_codes", `{"type":"dynamic","amount":5.0,"expires_at":"2999-01-31T00:00:00Z",` + metadata + `}`},
	} {
		key := fmt.Sprint("key-", i)
		first, one := s.Do("POST", c.path, c.body, "Idempotency-Key", key)
		drain(t, s)
		again, two := s.Do("POST", c.path, c.body, "X-Idempotency-Key", key)
		if first.StatusCode != 200 || again.StatusCode != 200 || string(one) != string(two) || first.Header.Get("Idempotent-Replayed") != "" || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: %d, then %d (%q):\n%s\n%s", c.path, first.StatusCode, again.StatusCode, again.Header.Get("Idempotent-Replayed"), one, two)
		}
	}
	verified(t, s)
}

// What stands beside the routes for customers remembers keys, too: the test helpers and
// the ping. Another body, or another object, under the same key is refused.
func TestTestHelpersReplay(t *testing.T) {
	s := paymentstest.New(t)
	_, data := s.Do("POST", "/v1/disbursements", `{"amount":20,"destination":{"type":"mobile_money","phone_number":"0241230903"}}`)
	settle := "/v1/test_helpers/disbursements/" + field(t, data, "id") + "/settle"
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
		{"/v1/test_helpers/consumers", `{"name":"Ama","phone_number":"0249876543","pin":"1357"}`, "", `{"name":"Ama","phone_number":"0249876544","pin":"1357"}`},
		{"/v1/test_helpers/cash_agents", `{"name":"Kofi","sub_agent":true}`, "/v1/test_helpers/consumers", `{"name":"Kofi"}`},
		{settle, `{"outcome":"succeeded"}`, "", `{"outcome":"failed"}`},
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

// A repetition is answered although a time that was given has passed, or an object that was named is gone.
func TestReplayOutlivesWhatWasGiven(t *testing.T) {
	s := paymentstest.New(t)
	made := func(path, body string) string {
		t.Helper()
		response, data := s.Do("POST", path, body)
		must.True(t, response.StatusCode == 200, "%s: %s", path, data)
		return field(t, data, "id")
	}
	gone := func(path, body string) (id string, leave func()) {
		id = made(path, body)
		return id, func() {
			response, data := s.Do("DELETE", path+"/"+id, nil)
			must.True(t, response.StatusCode == 200, "%s/%s: %s", path, id, data)
		}
	}
	soon := s.Advance(0).Add(time.Minute)
	pass := func() { s.Advance(time.Hour) }
	customer, plan := made("/v1/customers", `{}`), made("/v1/plans", `{"name":"Gold","amount":500,"interval":"month"}`)
	code, leaveCode := gone("/v1/qr_codes", `{}`)
	draft, leaveDraft := gone("/v1/invoices", `{}`)
	product, leaveProduct := gone("/v1/products", `{"name":"Tea","unit_amount":5}`)
	coupon, leaveCoupon := gone("/v1/coupons", `{"percent_off":5}`)
	oldPlan, leavePlan := gone("/v1/plans", `{"name":"Tin","amount":500,"interval":"month"}`)
	for i, c := range []struct {
		path, body string
		change     func()
	}{
		{"/v1/qr_codes/" + code, `{"name":"x"}`, leaveCode},
		{"/v1/invoices/" + draft, `{"memo":"x"}`, leaveDraft},
		{"/v1/plans", `{"name":"Tea","amount":5,"interval":"day","product":"` + product + `"}`, nil},
		{"/v1/invoices", `{"line_items":[{"product":"` + product + `"}]}`, leaveProduct},
		{"/v1/invoices", `{"coupon":"` + coupon + `"}`, leaveCoupon},
		{"/v1/subscriptions", `{"customer":"` + customer + `","plan":"` + oldPlan + `"}`, leavePlan},
		{"/v1/qr_codes", `{"expires_at":"` + soon.Format(time.RFC3339) + `"}`, pass},
		{"/v1/coupons", fmt.Sprintf(`{"percent_off":5,"redeem_by":%d}`, soon.Add(time.Hour).Unix()), pass},
		{"/v1/subscriptions", fmt.Sprintf(`{"customer":"%s","plan":"%s","trial_end":%d}`, customer, plan, soon.Add(2*time.Hour).Unix()), pass},
		{"/v1/checkout/sessions", fmt.Sprintf(`{"success_url":"https://shop.example/",%s,"expires_at":%d}`, oneLine, soon.Add(4*time.Hour).Unix()), pass},
	} {
		key := fmt.Sprint("gone-", i)
		first, one := s.Do("POST", c.path, c.body, "X-Idempotency-Key", key)
		must.True(t, first.StatusCode == 200, "%s: %s", c.path, one)
		if c.change != nil {
			c.change()
			refused, data := s.Do("POST", c.path, c.body)
			expect.True(t, refused.StatusCode >= 400, "%s %s still passes: %s", c.path, c.body, data)
		}
		again, two := s.Do("POST", c.path, c.body, "X-Idempotency-Key", key)
		expect.Equal(t, again.StatusCode, 200, "%s again: status", c.path)
		expect.Equal(t, again.Header.Get("Idempotent-Replayed"), "true", "%s again: Idempotent-Replayed", c.path)
		expect.Equal(t, string(one), string(two), "%s again: one", c.path)
	}
}

// A PIN that is chosen is another request than one that is made up, and no lines at all than lines left as they are.
func TestWhatIsLeftOutIsAnotherRequest(t *testing.T) {
	s := paymentstest.New(t)
	draft, _ := newInvoice(t, s, `{`+oneLine+`}`)
	for path, bodies := range map[string][2]string{
		"/v1/test_helpers/consumers": {`{"name":"Ama"}`, `{"name":"Ama","pin":"1357"}`},
		"/v1/invoices/" + draft:      {`{"memo":"x"}`, `{"memo":"x","line_items":[]}`},
	} {
		s.Do("POST", path, bodies[0], "X-Idempotency-Key", "k"+path)
		response, data := s.Do("POST", path, bodies[1], "X-Idempotency-Key", "k"+path)
		expect.Equal(t, response.StatusCode, 422, "%d %s", response.StatusCode, data)
	}
}

// The body of a batch may be longer than other bodies, up to its own limit.
func TestBatchBodyLimit(t *testing.T) {
	s := paymentstest.New(t)
	rows := make([]string, 1000)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"amount":0.01,"destination":{"type":"service_wallet","account_id":%q},"description":"%0400d"}`, s.Consumer.ID, i)
	}
	response, data := s.Do("POST", "/v1/disbursements/batch", `{"rows":[`+strings.Join(rows, ",")+`]}`)
	wants(t, "a thousand rows", response, data, 200, "", "")
	response, data = s.Do("POST", "/v1/disbursements/batch", `{"rows":[],"description":"`+strings.Repeat("a", 2<<20)+`"}`)
	wants(t, "too long", response, data, 413, "body_too_large", "")
}

// A closed account takes no money. The test helper still makes one, for a tester of account_not_found who asks
// for money in each account.
func TestClosedConsumerBeginsEmpty(t *testing.T) {
	s := paymentstest.New(t)
	response, data := s.Do("POST", "/v1/test_helpers/consumers", `{"name":"Ama","status":"closed","balance":5}`)
	expect.Equal(t, response.StatusCode, 200, "status")
	expect.True(t, strings.Contains(string(data), `"balance":0`), "%d: %s", response.StatusCode, data)
	verified(t, s)
}
