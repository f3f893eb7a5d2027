package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

// undescribed returns what asks the handler without the contract, for requests that are taken though
// openapi.yaml describes their usual form alone.
func undescribed(t *testing.T, s *paymentstest.Shop) func(method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	return asking(t, s, handlerOf(s))
}

// asking returns what asks a handler with the shop's key.
func asking(t *testing.T, s *paymentstest.Shop, handler http.Handler) func(method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	return func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+s.Key)
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
}

// Values of currency, provider and purpose are taken in any case, and given back as they are listed.
func TestValuesInAnyCase(t *testing.T) {
	s := paymentstest.New(t)
	ask := undescribed(t, s)
	s.OTP() // its SMS is the newest
	for _, c := range []struct{ path, body, field, want string }{
		{"/v1/qr_codes", `{"currency":"ghs"}`, "currency", "GHS"},
		{"/v1/payments", `{"amount":5,"phone_number":"0201234567","provider":"MTN","currency":"Ghs"}`, "provider", "mtn"},
		{"/v1/disbursements", `{"amount":1,"currency":"gHs","destination":{"type":"mobile_money","phone_number":"0241234567","provider":"Telecel"}}`, "destination.provider", "telecel"},
		{"/v1/lookup/account-name", `{"type":"mobile_money","phone_number":"0241234567","provider":"AirtelTigo"}`, "provider", "airteltigo"},
		{"/v1/invoices", `{"currency":"ghs","line_items":[{"description":"Tea","unit_amount":1,"currency":"ghs"}]}`, "currency", "GHS"},
		{"/v1/products", `{"name":"Tea","unit_amount":5,"currency":"ghs"}`, "currency", "GHS"},
		{"/v1/coupons", `{"amount_off":5,"currency":"ghs"}`, "currency", "GHS"},
		{"/v1/plans", `{"name":"Gold","amount":5,"interval":"day","currency":"ghs"}`, "currency", "GHS"},
		{"/v1/checkout/sessions", `{"success_url":"https://shop.example/","currency":"ghs",` + oneLine + `}`, "currency", "GHS"},
		{"/v1/otp/request", `{"purpose":"payout"}`, "purpose", "PAYOUT"},
	} {
		w := ask("POST", c.path, c.body)
		expect.Equal(t, w.Code, 200, "%s %s: status", c.path, c.body)
		expect.Equal(t, field(t, w.Body.Bytes(), c.field), c.want, "%s %s: field", c.path, c.body)
	}
	_, sent := s.Do("GET", "/v1/test_helpers/messages?kind=sms", nil)
	code, _, _ := strings.Cut(field(t, sent, "data.0.text"), " ")
	w := ask("POST", "/v1/otp/verify", `{"purpose":"Payout","code":"`+code+`"}`)
	expect.Equal(t, w.Code, 200, "verified with %q: status", code)
	expect.Equal(t, field(t, w.Body.Bytes(), "status"), "verified", "verified with %q: status", code)
	for path, body := range map[string]string{
		"/v1/qr_codes":    `{"currency":"usd"}`,
		"/v1/payments":    `{"amount":5,"phone_number":"0241234567","provider":"mtn "}`,
		"/v1/otp/request": `{"purpose":"login"}`,
	} {
		w := ask("POST", path, body)
		expect.True(t, w.Code == 400, "%s %s: %d %s", path, body, w.Code, w.Body)
	}
}

func TestEmptyParametersAreAbsent(t *testing.T) {
	s := paymentstest.New(t)
	ask := undescribed(t, s)
	code := newCode(t, s, `{}`)
	s.Do("POST", "/v1/qr_codes/"+code, `{"active":false}`)
	newCode(t, s, `{}`)
	for query, want := range map[string]string{
		"?limit=&starting_after=&ending_before=&type=&active=&created=&created[gte]=": "true",
		"?active=TRUE":  "true",
		"?active=False": "false",
		"?active=&active=FALSE&created[lt]=9999-01-01T00:00": "false",
	} {
		w := ask("GET", "/v1/qr_codes"+query, "")
		expect.Equal(t, w.Code, 200, "%s: status", query)
		expect.Equal(t, field(t, w.Body.Bytes(), "data.0.active"), want, "%s: data.0.active", query)
	}
}

// The same instant, in several forms, in a body, in a filter and on the test clock.
func TestTimesWithoutOffset(t *testing.T) {
	s := paymentstest.New(t)
	at := time.Now().UTC().AddDate(1, 0, 0).Truncate(time.Hour)
	_, clock := s.Do("POST", "/v1/test_helpers/clock", `{"now":"`+at.Add(-time.Hour).Format("2006-01-02T15:04")+`"}`)
	want := at.Format("2006-01-02T15:04:05.000Z")
	expect.Equal(t, field(t, clock, "now"), at.Add(-time.Hour).Format("2006-01-02T15:04:05.000Z"), "the clock")
	for _, form := range []string{
		at.Format("2006-01-02T15:04"), at.Format("2006-01-02T15:04:05"), at.Format("2006-01-02T15:04Z"), at.Format("2006-01-02T15:04:05+0000"),
		at.Add(time.Hour).Format("2006-01-02T15:04") + "+0100",
	} {
		_, code := s.Do("POST", "/v1/qr_codes", `{"expires_at":"`+form+`"}`)
		expect.Equal(t, field(t, code, "expires_at"), want, "%s", form)
		_, list := s.Do("GET", "/v1/events?created[gte]="+at.Add(-time.Hour).Format("2006-01-02T15:04")+"&created[lte]="+form, nil)
		expect.Equal(t, field(t, list, "data.0.type"), "qr_code.created", "%s as a bound: %s", form, list)
	}
}

// Numbers are read by their exact value, and quantities and rates rounded to six decimals.
func TestNumbersInAnyForm(t *testing.T) {
	s := paymentstest.New(t)
	for _, c := range []struct{ path, body, field, want string }{
		{"/v1/qr_codes", `{"amount":1e3}`, "amount", "1000"},
		{"/v1/qr_codes", `{"type":"dynamic","usage_limit":2.0e0}`, "usage_limit", "2"},
		{"/v1/test_helpers/balance", `{"amount":1.0E3}`, "object", "balance"},
		{"/v1/disbursements", `{"amount":1.05e1,"destination":{"type":"mobile_money","phone_number":"0241234567"}}`, "amount", "10.5"},
		{"/v1/invoices", `{"line_items":[{"description":"Tea","unit_amount":1e3,"quantity":0.30000000000000004}]}`, "lines.data.0.quantity", "0.3"},
		{"/v1/invoices", `{"line_items":[{"description":"Tea","unit_amount":1e3,"quantity":0.3333335}]}`, "lines.data.0.quantity", "0.333334"},
		{"/v1/invoices", `{"line_items":[{"description":"Tea","unit_amount":1,"taxable":true,"tax_percent":12.3456785}]}`, "lines.data.0.tax_percent", "12.345679"},
	} {
		response, data := s.Do("POST", c.path, c.body)
		expect.Equal(t, response.StatusCode, 200, "%s %s: status", c.path, c.body)
		expect.Equal(t, field(t, data, c.field), c.want, "%s %s: field", c.path, c.body)
	}
	for path, body := range map[string]string{
		"/v1/qr_codes":      `{"amount":1e-1}`,
		"/v1/disbursements": `{"amount":1e-3,"destination":{"type":"mobile_money","phone_number":"0241234567"}}`,
		"/v1/invoices":      `{"line_items":[{"description":"Tea","unit_amount":1,"quantity":0.0000004}]}`,
	} {
		response, data := s.Do("POST", path, body)
		expect.Equal(t, response.StatusCode, 400, "%s %s: status", path, body)
		expect.Equal(t, field(t, data, "error.code"), "parameter_invalid", "%s %s: error.code", path, body)
	}
}
