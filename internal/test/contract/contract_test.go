package contract

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// witness is a test that only notes that it failed.
type witness struct {
	testing.TB
	said []string
}

func (w *witness) Errorf(format string, args ...any) {
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

const (
	bank    = `{"object":"bank","code":"1","name":"A","currency":"GHS","active":true}`
	list    = `{"object":"list","data":[` + bank + `],"has_more":false,"url":"/v1/lookup/banks"}`
	refusal = `{"error":{"type":"%s","code":"%s","message":"No.","request_id":"req_1"%s}}`
)

// Whatever differs from the description is found, and nothing else.
func TestHandlerReportsDifferences(t *testing.T) {
	c := must.Get(Load())(t)
	refused := func(kind, code, more string) string { return fmt.Sprintf(refusal, kind, code, more) }
	for name, x := range map[string]struct {
		method, target, sent string
		status               int
		header, body         string
		want                 string // part of the complaint; "" for none
	}{
		"as described":       {"GET", "/v1/lookup/banks", "", 200, "", list, ""},
		"a field too many":   {"GET", "/v1/lookup/banks", "", 200, "", strings.Replace(list, `"code"`, `"colour":1,"code"`, 1), "colour"},
		"a field too few":    {"GET", "/v1/lookup/banks", "", 200, "", strings.Replace(list, `"code":"1",`, ``, 1), "code"},
		"another type":       {"GET", "/v1/lookup/banks", "", 200, "", strings.Replace(list, `"code":"1"`, `"code":1`, 1), "string"},
		"another value":      {"GET", "/v1/lookup/banks", "", 200, "", strings.Replace(list, `GHS`, `USD`, 1), "GHS"},
		"another status":     {"GET", "/v1/lookup/banks", "", 201, "", list, "status is not supported"},
		"no request id":      {"GET", "/v1/lookup/banks", "", 200, "Request-Id: ", list, "Request-Id"},
		"another media type": {"GET", "/v1/lookup/banks", "", 200, "Content-Type: text/plain", list, "Content-Type"},

		"a request that should be refused": {"GET", "/v1/payouts?limit=0", "", 200, "", `{"object":"list","data":[],"has_more":false,"url":"/v1/payouts"}`, "the request is taken"},
		"a body that should be refused": {
			"POST", "/v1/otp/request", `{"purpose":"x"}`, 200, "",
			`{"object":"otp","purpose":"PAYOUT","status":"sent","phone":"x","expires_at":"2026-01-31T08:15:00.000Z"}`, "the request is taken",
		},
		"a repetition with another body": {
			"POST", "/v1/otp/request", `{"purpose":"x"}`, 200, "Idempotent-Replayed: true",
			`{"object":"otp","purpose":"PAYOUT","status":"sent","phone":"x","expires_at":"2026-01-31T08:15:00.000Z"}`, "",
		},

		"a code of every operation":     {"GET", "/v1/payouts/po_1", "", 404, "", refused("invalid_request_error", "resource_missing", ""), ""},
		"a cursor that is missing":      {"GET", "/v1/payouts?starting_after=po_1", "", 400, "", refused("invalid_request_error", "resource_missing", `,"param":"starting_after"`), ""},
		"a code with another status":    {"GET", "/v1/payouts/po_1", "", 400, "", refused("invalid_request_error", "resource_missing", ""), "has status 400"},
		"a code with another type":      {"GET", "/v1/payouts/po_1", "", 404, "", refused("api_error", "resource_missing", ""), "type api_error"},
		"a code of another operation":   {"GET", "/v1/payouts/po_1", "", 402, "", refused("payment_error", "insufficient_balance", ""), "x-error-codes"},
		"a code that there is not":      {"GET", "/v1/payouts/po_1", "", 400, "", refused("invalid_request_error", "oops", ""), "oops"},
		"an error of another shape":     {"GET", "/v1/payouts/po_1", "", 404, "", `{"code":"resource_missing"}`, "error"},
		"a path that there is not":      {"GET", "/v1/nothing", "", 404, "", refused("invalid_request_error", "not_found", ""), ""},
		"another error there":           {"GET", "/v1/nothing", "", 402, "", refused("payment_error", "qr_expired", ""), "one of every operation"},
		"a path that is not described":  {"GET", "/v1/nothing", "", 200, "", `{}`, "nothing of this is described"},
		"a method that there is not":    {"PUT", "/v1/payouts", "", 405, "", refused("invalid_request_error", "method_not_allowed", ""), ""},
		"a method that is undescribed":  {"PUT", "/v1/payouts", "", 200, "", `{}`, "nothing of this is described"},
		"the head of what is described": {"HEAD", "/v1/lookup/banks", "", 200, "", "", ""},
	} {
		w := &witness{TB: t}
		h := c.Handler(w, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set("Request-Id", "req_1")
			w.Header().Set("Content-Type", "application/json")
			if name, value, ok := strings.Cut(x.header, ": "); ok {
				w.Header().Set(name, value)
			}
			w.WriteHeader(x.status)
			_, _ = io.WriteString(w, x.body)
		}))
		r := httptest.NewRequest(x.method, x.target, strings.NewReader(x.sent))
		if x.sent != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		expect.Equal(t, answer.Code, x.status, "%s: the answer was changed", name)
		expect.Equal(t, answer.Body.String(), x.body, "%s: body", name)
		said := strings.Join(w.said, "\n")
		expect.True(t, (x.want == "") == (said == ""), "%s: want %q, got %q", name, x.want, said)
		expect.True(t, strings.Contains(said, x.want), "%s: want %q, got %q", name, x.want, said)
	}
}

func TestPathsAreFound(t *testing.T) {
	c := must.Get(Load())(t)
	for target, want := range map[string]struct{ path, id string }{
		"/v1/disbursements/qr":                {"/v1/disbursements/qr", ""},
		"/v1/disbursements/batch":             {"/v1/disbursements/batch", ""},
		"/v1/disbursements/po_1":              {"/v1/disbursements/{id}", "po_1"},
		"/v1/disbursements/po_1/cancel":       {"/v1/disbursements/{id}/cancel", "po_1"},
		"/v1/disbursements/batch/cancel":      {"/v1/disbursements/batch/{id}", "cancel"},
		"/v1/disbursements/batch/bat_1/rows":  {"/v1/disbursements/batch/{id}/rows", "bat_1"},
		"/v1/payouts/a%2Fb%20c":               {"/v1/payouts/{id}", "a/b c"},
		"/v1/payouts/":                        {"", ""},
		"/v1/payouts/po_1/cancel/it":          {"", ""},
		"/v1/Payouts":                         {"", ""},
		"/v1/disbursements/po_1/cancel?a=b/c": {"/v1/disbursements/{id}/cancel", "po_1"},
	} {
		path, values := c.findPath(httptest.NewRequest("GET", target, nil))
		expect.Equal(t, path, want.path, "%s: path", target)
		expect.Equal(t, values["id"], want.id, "%s: id", target)
	}
}

func TestDeliveryReportsDifferences(t *testing.T) {
	c := must.Get(Load())(t)
	const ping = `{"id":"evt_1","object":"event","type":"ping","created_at":"2026-01-31T08:15:00.000Z","data":{"object":{"object":"ping"}},` +
		`"pending_webhooks":0,"request":{"id":null,"idempotency_key":null}}`
	deliver := func(body string, without string) error {
		r := httptest.NewRequest("POST", "/hooks", nil)
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Service-Signature": "t=1,v1=" + strings.Repeat("a", 64),
			"Webhook-Id": "evt_1", "Webhook-Timestamp": "1", "Webhook-Signature": "v1,a",
		} {
			if name != without {
				r.Header.Set(name, value)
			}
		}
		return c.CheckDelivery(r, []byte(body))
	}
	expect.NoError(t, deliver(ping, ""), "deliver")
	for _, header := range []string{"Service-Signature", "Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
		expect.True(t, deliver(ping, header) != nil, "a delivery without %s passes", header)
	}
	for _, body := range []string{`{}`, strings.Replace(ping, `"ping"`, `"pong"`, 1), strings.Replace(ping, `"id"`, `"colour":1,"id"`, 1)} {
		expect.True(t, deliver(body, "") != nil, "a delivery of %s passes", body)
	}
}
