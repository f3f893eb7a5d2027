package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

const (
	goodKey = "sk_test_good"
	readKey = "sk_test_read"
)

// authenticateTest knows two keys of one merchant, one of which may only read
// payouts.
func authenticateTest(_ context.Context, key string) (Access, error) {
	switch key {
	case goodKey:
		return Access{Merchant: "mer_1"}, nil
	case readKey:
		return Access{Merchant: "mer_1", Allow: func(resource string, write bool) bool {
			return resource == "payouts" && !write
		}}, nil
	case "sk_live_good":
		return Access{Merchant: "mer_1", Live: true}, nil
	case "nobody":
		return Access{}, nil
	case "broken":
		return Access{}, errors.New("the database is on fire")
	}
	return Access{}, api.Errorf(api.APIKeyInvalid, "", "A text that differs: %s.", key)
}

// testRouter is a router with one request id and a log to look into.
func testRouter(config Config, routes ...route) (*router, *bytes.Buffer) {
	var log bytes.Buffer
	config.Authenticate = authenticateTest
	config.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return newRouter(config, func() string { return "req_1" }, routes), &log
}

// echo answers with what it learned of the request.
func echo(r *request) (any, error) {
	return map[string]any{
		"id": r.id(), "merchant": r.caller.Merchant, "live": r.caller.Live,
		"key": r.caller.IdempotencyKey, "request": r.caller.RequestID,
	}, nil
}

var payoutRoutes = []route{
	{method: "GET", pattern: "/v1/payouts", resource: "payouts", handle: echo},
	{method: "POST", pattern: "/v1/payouts", resource: "payouts", write: true, handle: echo},
	{method: "GET", pattern: "/v1/payouts/{id}", resource: "payouts", handle: echo},
	{method: "DELETE", pattern: "/v1/payouts/{id}", resource: "payouts", write: true, handle: echo},
	{method: "PATCH", pattern: "/v1/payouts/{id}", resource: "payouts", write: true, handle: echo},
	{method: "POST", pattern: "/v1/payouts/qr", resource: "payouts", write: true, handle: echo},
	{method: "GET", pattern: "/v1/lookup/banks", handle: echo},
	{method: "GET", pattern: "/pay/{id}", handle: echo},
	{method: "GET", pattern: "/docs/{folder}/{file}", handle: func(r *request) (any, error) { return r.PathValue("file"), nil }},
}

// newRequest returns a request with the good key; headers are name and value.
func newRequest(method, target, body string, headers ...string) *http.Request {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, target, reader)
	r.Header.Set("Authorization", "Bearer "+goodKey)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// codeOf returns the code of an error's body, or what the body is instead.
func codeOf(w *httptest.ResponseRecorder) string {
	var body errorBody
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		return "no JSON: " + w.Body.String()
	}
	return string(body.Error.Code)
}

func TestRouting(t *testing.T) {
	rt, _ := testRouter(Config{}, payoutRoutes...)
	for _, tt := range []struct {
		method, target string
		status         int
		code, allow    string
	}{
		{"GET", "/v1/payouts", 200, "", ""},
		{"GET", "/v1/payouts?limit=%zz", 200, "", ""}, // the route reads no query
		{"HEAD", "/v1/payouts", 200, "", ""},
		{"POST", "/v1/payouts", 200, "", ""},
		{"GET", "/v1/payouts/po_1", 200, "", ""},
		{"DELETE", "/v1/payouts/po_1", 200, "", ""},
		{"POST", "/v1/payouts/qr", 200, "", ""},
		{"GET", "/v1/lookup/banks", 200, "", ""},
		{"GET", "/pay/qr_1.png", 200, "", ""},
		{"GET", "/docs/a/b.css", 200, "", ""},

		{"PUT", "/v1/payouts", 405, "method_not_allowed", "GET, HEAD, POST"},
		{"OPTIONS", "/v1/payouts", 405, "method_not_allowed", "GET, HEAD, POST"},
		{"OPTIONS", "/pay/qr_1", 405, "method_not_allowed", "GET, HEAD"},
		{"POST", "/v1/payouts/po_1", 405, "method_not_allowed", "DELETE, GET, HEAD, PATCH"},
		{"HEAD", "/v1/payouts/qr", 405, "method_not_allowed", "POST"},
		{"get", "/v1/payouts", 405, "method_not_allowed", "GET, HEAD, POST"},

		{"GET", "/", 404, "not_found", ""},
		{"GET", "/v1", 404, "not_found", ""},
		{"GET", "/v1/", 404, "not_found", ""},
		{"GET", "/v1/nothing", 404, "not_found", ""},
		{"OPTIONS", "/v1/nothing", 404, "not_found", ""},
		{"GET", "/v2/payouts", 404, "not_found", ""},
		{"GET", "/v1/payouts/", 404, "not_found", ""},
		{"GET", "/v1/payouts/po_1/", 404, "not_found", ""},
		{"GET", "/v1//payouts", 404, "not_found", ""},
		{"GET", "/v1/./payouts", 404, "not_found", ""},
		{"GET", "/docs/../v1/payouts", 404, "not_found", ""},
		{"POST", "/v1/payouts//", 404, "not_found", ""},

		{"GET", "/v1/payouts/" + strings.Repeat("a", 513), 404, "resource_missing", ""},
	} {
		t.Run(tt.method+" "+tt.target[:min(40, len(tt.target))], func(t *testing.T) {
			w := serve(rt, newRequest(tt.method, tt.target, ""))
			expect.Equal(t, w.Code, tt.status, "status")
			expect.Equal(t, w.Header().Get("Allow"), tt.allow, "Allow")
			expect.Equal(t, w.Header().Get("Request-Id"), "req_1", "Request-Id")
			expect.Equal(t, w.Header().Get("Location"), "", "redirected to")
			expect.True(t, tt.code == "" || tt.method == "HEAD" || codeOf(w) == tt.code, "code %s, want %s", codeOf(w), tt.code)
		})
	}
}

func TestStripPrefix(t *testing.T) {
	rt, _ := testRouter(Config{}, payoutRoutes...)
	mux := http.NewServeMux()
	mux.Handle("/payments/", http.StripPrefix("/payments", rt))
	mux.Handle("/payments", http.StripPrefix("/payments", rt))
	for target, want := range map[string]int{
		"/payments/v1/payouts":      200,
		"/payments/v1/payouts/po_1": 200,
		"/payments/pay/qr_1":        200,
		"/payments/v1/nothing":      404,
		"/payments/v1/payouts/":     404,
		"/payments/":                404,
		"/payments":                 404,
	} {
		w := serve(mux, newRequest("GET", target, ""))
		expect.Equal(t, w.Code, want, "%s: status", target)
	}
	// Without the host's mux, which cleans paths itself.
	w := serve(http.StripPrefix("/payments", rt), newRequest("GET", "/payments/v1//payouts", ""))
	expect.Equal(t, w.Code, 404, "an unclean path: status")
	expect.Equal(t, w.Header().Get("Location"), "", "an unclean path: Location")
}

func TestAnswerHeaders(t *testing.T) {
	rt, _ := testRouter(Config{}, payoutRoutes...)
	get := serve(rt, newRequest("GET", "/v1/payouts/po_<&>", "", "Request-Id", "req_theirs"))
	body := `{"id":"po_<&>","key":"","live":false,"merchant":"mer_1","request":"req_1"}` + "\n"
	want := http.Header{
		"Cache-Control":          {"no-store"},
		"Content-Length":         {strconv.Itoa(len(body))},
		"Content-Type":           {"application/json"},
		"Request-Id":             {"req_1"},
		"X-Content-Type-Options": {"nosniff"},
	}
	expect.Same(t, get.Header(), want, "headers")
	expect.Same(t, get.Body.String(), body, "body")
	head := serve(rt, newRequest("HEAD", "/v1/payouts/po_<&>", ""))
	expect.Same(t, head.Header(), get.Header(), "HEAD has other headers than GET")
	expect.Equal(t, head.Body.Len(), 0, "HEAD has a body: %q", head.Body)
}

func TestRenderHandlerResults(t *testing.T) {
	shared := newResponse("text/css", []byte("a{}"))
	rt, _ := testRouter(
		Config{},
		route{method: "GET", pattern: "/nothing", handle: func(*request) (any, error) { return nil, nil }},
		route{method: "GET", pattern: "/redirect", handle: func(*request) (any, error) { return redirect("https://example.com/a"), nil }},
		route{method: "GET", pattern: "/picture", handle: func(*request) (any, error) {
			a := newResponse("image/png", []byte("\x89PNG"))
			a.setHeader("Cache-Control", "public, max-age=60")
			return a, nil
		}},
		route{method: "GET", pattern: "/shared", handle: func(*request) (any, error) { return shared, nil }},
	)
	for _, tt := range []struct {
		path                                string
		status                              int
		body, contentType, location, length string
		cache                               string
	}{
		{"/nothing", 204, "", "", "", "", "no-store"},
		{"/redirect", 302, "", "", "https://example.com/a", "0", "no-store"},
		{"/picture", 200, "\x89PNG", "image/png", "", "4", "public, max-age=60"},
		{"/shared", 200, "a{}", "text/css", "", "3", "no-store"},
		{"/shared", 200, "a{}", "text/css", "", "3", "no-store"},
	} {
		w := serve(rt, httptest.NewRequest("GET", tt.path, nil))
		got := []any{w.Code, w.Body.String(), w.Header().Get("Content-Type"), w.Header().Get("Location"), w.Header().Get("Content-Length"), w.Header().Get("Cache-Control")}
		want := []any{tt.status, tt.body, tt.contentType, tt.location, tt.length, tt.cache}
		expect.Same(t, got, want, "%s", tt.path)
	}
}

func TestCaller(t *testing.T) {
	rt, _ := testRouter(Config{}, payoutRoutes...)
	w := serve(rt, newRequest("DELETE", "/v1/payouts/po_1", "", "Authorization", "Bearer sk_live_good", "Idempotency-Key", "k 1"))
	want := `{"id":"po_1","key":"k 1","live":true,"merchant":"mer_1","request":"req_1"}` + "\n"
	expect.Same(t, w.Body.String(), want, "a private path")
	w = serve(rt, newRequest("GET", "/pay/qr_1", "", "Idempotency-Key", "k"))
	want = `{"id":"qr_1","key":"","live":false,"merchant":"","request":"req_1"}` + "\n"
	expect.Same(t, w.Body.String(), want, "a public path")
}

func TestReplayedHeader(t *testing.T) {
	var fail error
	rt, _ := testRouter(Config{}, route{method: "POST", pattern: "/v1/payouts", handle: func(r *request) (any, error) {
		r.caller.MarkReplayed()
		return struct{}{}, fail
	}})
	expect.Equal(t, serve(rt, newRequest("POST", "/v1/payouts", "")).Header().Get("Idempotent-Replayed"), "true", "Idempotent-Replayed")
	fail = api.Missing("amount")
	expect.Equal(t, serve(rt, newRequest("POST", "/v1/payouts", "")).Header().Get("Idempotent-Replayed"), "", "Idempotent-Replayed of a refusal")
}

func TestRequestLog(t *testing.T) {
	rt, log := testRouter(Config{}, payoutRoutes...)
	serve(rt, newRequest("POST", "/v1/payouts", `{"phone_number":"0241234567"}`))
	serve(rt, newRequest("GET", "/v1/payouts/po_secret?phone=0241234567", ""))
	serve(rt, newRequest("BREW0241234567", "/v1/0241234567", "", "Authorization", "Bearer sk_0241234567"))
	for _, secret := range []string{"0241234567", "po_secret", goodKey} {
		expect.True(t, !strings.Contains(log.String(), secret), "the log holds %s:\n%s", secret, log)
	}
	var got []map[string]any
	for line := range strings.Lines(log.String()) {
		var m map[string]any
		must.Do(t, json.Unmarshal([]byte(line), &m))
		if _, ok := m["duration"]; !ok {
			t.Errorf("no duration in %s", line)
		}
		delete(m, "duration")
		delete(m, "time")
		m["status"] = http.StatusText(int(m["status"].(float64)))
		got = append(got, m)
	}
	want := []map[string]any{
		{"level": "INFO", "msg": "request", "method": "POST", "route": "/v1/payouts", "status": "OK", "request_id": "req_1", "merchant": "mer_1", "live": false},
		{"level": "INFO", "msg": "request", "method": "GET", "route": "/v1/payouts/{id}", "status": "OK", "request_id": "req_1", "merchant": "mer_1", "live": false},
		{"level": "INFO", "msg": "request", "method": "other", "route": "", "status": "Unauthorized", "request_id": "req_1", "merchant": "", "live": false, "code": "api_key_invalid"},
	}
	expect.Same(t, got, want, "got")
}

func TestCollidingRoutesPanic(t *testing.T) {
	defer func() {
		expect.True(t, recover() != nil, "two routes for one method and path were accepted")
	}()
	testRouter(Config{}, payoutRoutes[0], payoutRoutes[0])
}

func TestZeroConfig(t *testing.T) {
	var c Config
	expect.Equal(t, c.timeout(), defaultTimeout, "zero Config: timeout")
	expect.True(t, c.logger() == slog.Default(), "zero Config: timeout %v, logger %v", c.timeout(), c.logger())
}
