package httpapi_test

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

// Every route under /v1 names what it ignores, whatever it answers.
func TestEveryRouteNamesWhatItIgnores(t *testing.T) {
	s := paymentstest.New(t)
	ask := undescribed(t, s)
	wildcard := regexp.MustCompile(`\{\w+\}`)
	for _, row := range httpapi.TableOf(handlerOf(s)) {
		if !row.Private {
			continue
		}
		body, want := "", "qry"
		if row.Method == "POST" || row.Method == "PATCH" {
			body, want = `{"bdy":{"inner":1}}`, "bdy, qry"
		}
		w := ask(row.Method, wildcard.ReplaceAllString(row.Pattern, "x_1")+"?qry=1", body)
		expect.Equal(t, w.Header().Get("Ignored-Parameters"), want, "%s %s: %d %s", row.Method, row.Pattern, w.Code, w.Body)
	}
}

func TestRepliesNameWhatTheyIgnore(t *testing.T) {
	s := paymentstest.New(t)
	ignored := func(body string, headers ...string) string {
		t.Helper()
		response, _ := s.Do("POST", "/v1/qr_codes", body, headers...)
		return response.Header.Get("Ignored-Parameters")
	}
	expect.Equal(t, ignored(`{"amount":500,"metadata":{"ammount":1}}`), "", "all are known")
	for range 2 { // the second is a replay
		expect.Equal(t, ignored(`{"ammount":500}`, "Idempotency-Key", "k"), "ammount", "a create")
	}
	expect.Equal(t, ignored(`{"ammount":500,"amount":"x"}`), "ammount", "a refusal")
}

func TestRefuseUnknown(t *testing.T) {
	s := paymentstest.New(t)
	ask := asking(t, s, httpapi.New(s.Service, httpapi.Config{RefuseUnknown: true, Logger: slog.New(slog.DiscardHandler)}))
	for _, c := range []struct{ method, path, body, param string }{
		{"POST", "/v1/qr_codes", `{"amount":5,"ammount":5}`, "ammount"},
		{"POST", "/v1/qr_codes?ammount=5", `{}`, "ammount"},
		{"POST", "/v1/disbursements", `{"amount":1,"destination":{"type":"mobile_money","phone":"0241234567"}}`, "destination.phone"},
		{"GET", "/v1/qr_codes?statuss=x", "", "statuss"},
		{"GET", "/v1/balance?x=1", "", "x"},
		{"DELETE", "/v1/qr_codes/qr_1?x=1", "", "x"},
	} {
		w := ask(c.method, c.path, c.body)
		expect.Equal(t, w.Code, 400, "%s %s %s: status", c.method, c.path, c.body)
		expect.Equal(t, field(t, w.Body.Bytes(), "error.code"), "parameter_invalid", "%s %s %s: error.code", c.method, c.path, c.body)
		expect.Equal(t, field(t, w.Body.Bytes(), "error.param"), c.param, "%s %s %s: error.param", c.method, c.path, c.body)
		expect.Equal(t, w.Header().Get("Ignored-Parameters"), "", "%s %s", c.method, c.path)
	}
	w := ask("GET", "/v1/qr_codes?limit=5&active=&created[gte]=1", "")
	expect.Equal(t, w.Code, 200, "a known query: status")
	expect.True(t, strings.Contains(w.Body.String(), `"data":[]`), "a known query: %d %s", w.Code, w.Body)
	w = ask("POST", "/v1/qr_codes", `{"amount":5,"metadata":{"ammount":5}}`)
	expect.True(t, w.Code == 200, "a known body: %d %s", w.Code, w.Body)
}
