package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

var update = flag.Bool("update", false, "write the golden files")

// failing serves one route that fails with err.
func failing(err error) (*router, func() string) {
	rt, log := testRouter(Config{}, route{method: "GET", pattern: "/v1/payouts", handle: func(*request) (any, error) { return nil, err }})
	return rt, log.String
}

// withType gives a refusal the type that its package gives it.
func withType(t api.ErrorType, code api.Code) *api.Error {
	e := api.Errorf(code, "", "A message.")
	e.Type = t
	return e
}

// The status of each code stands in openapi.yaml, which TestEveryCodeIsDescribed compares.
func TestStatusOfRefusals(t *testing.T) {
	waiting := withType(api.RateLimit, api.RateLimited)
	waiting.RetryAfter = 1500 * time.Millisecond
	locked := withType(api.Permission, api.PINLocked)
	locked.RetryAfter = 15 * time.Minute
	for _, tt := range []struct {
		err    *api.Error
		status int
		wait   string
	}{
		{api.Invalid("amount", "A message."), 400, ""},
		{api.NoSuch("payout"), 404, ""},
		{api.NoSuchCursor("starting_after", "payout"), 400, ""},
		{locked, 403, "900"},
		{withType(api.Idempotency, api.IdempotencyKeyInUse), 409, "1"},
		{waiting, 429, "2"},
		{withType(api.RateLimit, "otp_attempts_exceeded"), 429, "1"},
		{withType(api.Fault, api.InternalError), 500, ""},
		{withType(api.Fault, api.Unavailable), 503, "2"},
	} {
		t.Run(string(tt.err.Code), func(t *testing.T) {
			rt, _ := failing(fmt.Errorf("payout: create: %w", tt.err))
			w := serve(rt, newRequest("GET", "/v1/payouts", ""))
			expect.Equal(t, w.Code, tt.status, "status")
			expect.Equal(t, w.Header().Get("Retry-After"), tt.wait, "Retry-After")
			var got errorBody
			must.Do(t, json.Unmarshal(w.Body.Bytes(), &got))
			want := errorBody{errorDetail{tt.err.Type, tt.err.Code, tt.err.Message, tt.err.Param, "req_1"}}
			expect.Same(t, got, want, "got")
		})
	}
}

// TestFaults: what is no refusal has a fixed text, and its own in the log only.
func TestFaults(t *testing.T) {
	const secret = "a text from inside"
	for _, tt := range []struct {
		name   string
		err    error
		status int
		code   string
		level  string
	}{
		{"any other", errors.New(secret), 500, "internal_error", "ERROR"},
		{"refusal of no known type", fmt.Errorf("%s: %w", secret, &api.Error{Code: "strange", Message: secret}), 500, "internal_error", "ERROR"},
		{"closed store", fmt.Errorf("%s: %w", secret, storage.ErrClosed), 503, "service_unavailable", "WARN"},
		{"database out of reach", fmt.Errorf("%s: %w", secret, storage.ErrUnavailable), 503, "service_unavailable", "WARN"},
		{"conflict that nobody handled", fmt.Errorf("%s: %w", secret, storage.ErrConflict), 500, "internal_error", "ERROR"},
		{"deadline", fmt.Errorf("%s: %w", secret, context.DeadlineExceeded), 503, "service_unavailable", "WARN"},
		{"deadline of a connection", fmt.Errorf("%s: %w", secret, os.ErrDeadlineExceeded), 503, "service_unavailable", "WARN"},
		{"cancelled, but not by the client", fmt.Errorf("%s: %w", secret, context.Canceled), 500, "internal_error", "ERROR"},
		{"fault with a cause", withType(api.Fault, api.Unavailable).WithCause(errors.New(secret)), 503, "service_unavailable", "WARN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rt, log := failing(tt.err)
			w := serve(rt, newRequest("GET", "/v1/payouts", ""))
			expect.Equal(t, w.Code, tt.status, "status")
			expect.Equal(t, codeOf(w), tt.code, "code")
			expect.True(t, !strings.Contains(w.Body.String(), secret), "the answer shows %q: %s", secret, w.Body)
			if w.Code == 503 && tt.name != "fault with a cause" {
				expect.Equal(t, w.Header().Get("Retry-After"), "2", "Retry-After")
				expect.True(t, strings.Contains(w.Body.String(), "idempotency key"), "503 without a word of the idempotency key: %s", w.Body)
			}
			first, _, _ := strings.Cut(log(), "\n")
			var line struct {
				Level     string `json:"level"`
				RequestID string `json:"request_id"`
			}
			must.Do(t, json.Unmarshal([]byte(first), &line))
			expect.Equal(t, line.Level, tt.level, "logged")
			expect.Equal(t, line.RequestID, "req_1", "request ID")
		})
	}
}

func TestRefusalsAreNotLogged(t *testing.T) {
	rt, log := failing(api.Invalid("amount", "0241234567 is no amount."))
	serve(rt, newRequest("GET", "/v1/payouts", ""))
	expect.True(t, !strings.Contains(log(), "0241234567"), "the log holds more than the line of the request:\n%s", log())
	expect.True(t, strings.Count(log(), "\n") == 1, "the log holds more than the line of the request:\n%s", log())
}

func TestClientGone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	rt, log := testRouter(Config{}, route{method: "GET", pattern: "/v1/payouts", handle: func(r *request) (any, error) {
		cancel()
		<-r.Context().Done()
		return nil, r.Context().Err()
	}})
	w := serve(rt, newRequest("GET", "/v1/payouts", "").WithContext(ctx))
	expect.Equal(t, w.Code, http.StatusServiceUnavailable, "status")
	for line := range strings.Lines(log.String()) {
		expect.True(t, strings.Contains(line, `"level":"DEBUG"`), "a client that has gone is logged above debug: %s", line)
	}
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took time.Duration
		rt, _ := testRouter(Config{Timeout: 5 * time.Second}, route{method: "GET", pattern: "/v1/payouts", handle: func(r *request) (any, error) {
			start := time.Now()
			<-r.Context().Done()
			took = time.Since(start)
			// What a driver makes of it need not wrap the context's error.
			return nil, errors.New("interrupted")
		}})
		w := serve(rt, newRequest("GET", "/v1/payouts", ""))
		expect.Equal(t, w.Code, http.StatusServiceUnavailable, "status")
		expect.Equal(t, codeOf(w), "service_unavailable", "code")
		expect.Equal(t, took, 5*time.Second, "took")
	})
}

// A handler that does not heed the end of its context, because it waits for the outcome
// of a commit, holds up no answer.
func TestHardTimeoutAnswersForSlowHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, log := testRouter(Config{Timeout: 5 * time.Second}, route{method: "POST", pattern: "/v1/qr_codes", handle: func(*request) (any, error) {
			time.Sleep(20 * time.Second)
			return "too late", nil
		}})
		listener := newPipes()
		server := NewServer("", rt)
		stopped := make(chan error)
		go func() { stopped <- server.Serve(listener) }()
		conn := listener.dial()
		start := time.Now()
		go func() {
			_, _ = io.WriteString(conn, strings.Replace(halfRequest, "Content-Length: 100", "Content-Length: 10", 1)+"1}") // the answer shows it
		}()
		answer := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t)
		body := must.Get(io.ReadAll(answer.Body))(t)
		expect.Equal(t, time.Since(start), 6*time.Second, "answered after")
		expect.Equal(t, answer.StatusCode, 503, "status")
		expect.True(t, strings.Contains(string(body), `"code":"service_unavailable"`), "got %d %s", answer.StatusCode, body)
		expect.True(t, strings.Contains(string(body), `"request_id":"req_1"`), "got %d %s", answer.StatusCode, body)
		expect.True(t, answer.Header.Get("Retry-After") != "", "headers %v", answer.Header)
		expect.Equal(t, answer.Close, true, "Close")
		expect.Equal(t, answer.Header.Get("Request-Id"), "req_1", "Request-Id")
		_ = conn.Close()
		time.Sleep(20 * time.Second)
		expect.NoError(t, server.Close(), "Close")
		<-stopped
		expect.True(t, strings.Contains(log.String(), `"status":503`), "the log says another status:\n%s", log)
	})
}

// A payer whose form has no known outcome is told how to pay once, in words for people, and a person who
// only looks at a page is told to look again.
func TestPagesOfFaults(t *testing.T) {
	for _, fault := range []error{storage.ErrUnavailable, storage.ErrClosed, context.DeadlineExceeded, errors.New("x")} {
		fails := func(*request) (any, error) { return nil, fault }
		rt, _ := testRouter(Config{}, pageRoutes(problemPages("Nothing here."),
			route{method: "GET", pattern: "/pay/{id}", handle: fails}, route{method: "POST", pattern: "/pay/{id}", handle: fails})...)
		for method, want := range map[string]string{"POST": "you pay at most once", "GET": "Load it again in a moment."} {
			w := serve(rt, newRequest(method, "/pay/qr_1", ""))
			page := w.Body.String()
			expect.True(t, w.Code >= 500, "%s, %v: %d %s", method, fault, w.Code, page)
			expect.True(t, strings.Contains(page, want), "%s, %v: %d %s", method, fault, w.Code, page)
			expect.True(t, !strings.Contains(page, "idempotency"), "%s, %v: %s", method, fault, page)
			expect.True(t, method == "GET" || !strings.Contains(page, "did not work"), "%s, %v: %s", method, fault, page)
		}
	}
}

// The answer to a form whose handler holds on is a page, too.
func TestHardTimeoutOfAPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, _ := testRouter(Config{Timeout: 5 * time.Second}, pageRoutes(problemPages("Nothing here."), route{method: "POST", pattern: "/pay/{id}", handle: func(*request) (any, error) {
			time.Sleep(20 * time.Second)
			return "too late", nil
		}})...)
		w := serve(rt, newRequest("POST", "/pay/qr_1", ""))
		expect.Equal(t, w.Code, 503, "status")
		expect.True(t, strings.Contains(w.Body.String(), "you pay at most once"), "%d %s", w.Code, w.Body)
		expect.True(t, strings.HasPrefix(w.Header().Get("Content-Type"), "text/html"), "headers %v", w.Header())
		expect.True(t, w.Header().Get("Retry-After") != "", "headers %v", w.Header())
		expect.Equal(t, w.Header().Get("Connection"), "close", "Connection")
	})
}

// A payer who is slowed gets a page, in words for people, also before the route is known.
func TestPagesOfSlowedPayers(t *testing.T) {
	limits := newPageLimiter(Config{})
	var rt *router
	var busy *httptest.ResponseRecorder
	rt, _ = testRouter(Config{InFlight: InFlight{All: 1}}, pageRoutes(problemPages("Nothing here."), route{method: "GET", pattern: "/pay/{id}", handle: func(r *request) (any, error) {
		if busy == nil {
			busy = httptest.NewRecorder() // one at a time
			rt.ServeHTTP(busy, httptest.NewRequest("GET", "/pay/qr_2", nil))
		}
		return newResponse("text/plain", nil), limits.checkRate(r, nil)
	}})...)
	slowed := serve(rt, httptest.NewRequest("GET", "/pay/qr_1", nil))
	for n := 0; slowed.Code == 200 && n < 1000; n++ {
		slowed = serve(rt, httptest.NewRequest("GET", "/pay/qr_1", nil))
	}
	for what, w := range map[string]*httptest.ResponseRecorder{"too many at once": busy, "too many": slowed} {
		expect.Equal(t, w.Code, 429, "%s: status", what)
		expect.True(t, w.Header().Get("Retry-After") != "", "%s: %d %s", what, w.Code, w.Body)
		expect.True(t, strings.Contains(w.Body.String(), "Wait a little, and load this page again."), "%s: %d %s", what, w.Code, w.Body)
		expect.True(t, !strings.Contains(w.Body.String(), "header"), "%s: %s", what, w.Body)
	}
	unknown := serve(rt, httptest.NewRequest("GET", "/nothing", nil))
	expect.Equal(t, codeOf(unknown), "not_found", "an unknown path")
}

// bomb panics when half of its answer has been encoded.
type bomb struct{}

func (bomb) MarshalJSON() ([]byte, error) { panic("a text from inside") }

func TestPanics(t *testing.T) {
	var nobody *request
	for name, handle := range map[string]func(*request) (any, error){
		"handler":  func(*request) (any, error) { panic("a text from inside") },
		"runtime":  func(*request) (any, error) { return nobody.caller, nil },
		"refusal":  func(*request) (any, error) { panic(api.Missing("amount")) },
		"nil":      func(*request) (any, error) { panic(nil) },
		"encoding": func(*request) (any, error) { return []any{"first half", bomb{}}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			rt, log := testRouter(Config{}, route{method: "GET", pattern: "/v1/payouts", handle: handle})
			w := serve(rt, newRequest("GET", "/v1/payouts", ""))
			expect.Equal(t, w.Code, 500, "status")
			expect.Equal(t, codeOf(w), "internal_error", "code")
			expect.True(t, json.Valid(w.Body.Bytes()), "the body is not clean: %s", w.Body)
			expect.True(t, !strings.Contains(w.Body.String(), "first half"), "the body is not clean: %s", w.Body)
			expect.True(t, !strings.Contains(w.Body.String(), "inside"), "the body is not clean: %s", w.Body)
			expect.Equal(t, w.Header().Get("Request-Id"), "req_1", "no Request-Id")
			expect.True(t, strings.Contains(log.String(), "errors_test.go"), "the log does not hold the stack once and the request once:\n%s", log)
			expect.True(t, strings.Count(log.String(), "\n") == 2, "the log does not hold the stack once and the request once:\n%s", log)
		})
	}
}

func TestAbortHandlerPassesThrough(t *testing.T) {
	rt, _ := testRouter(Config{}, route{method: "GET", pattern: "/v1/payouts", handle: func(*request) (any, error) { panic(http.ErrAbortHandler) }})
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("recovered %v, want http.ErrAbortHandler", p)
		}
	}()
	serve(rt, newRequest("GET", "/v1/payouts", ""))
}

func TestRefusalPage(t *testing.T) {
	page := func(r *request, status int, e *api.Error) (any, error) {
		return newResponse("text/html; charset=utf-8", fmt.Appendf(nil, "%d %s %s", status, e.Code, r.caller.RequestID)), nil
	}
	broken := func(*request, int, *api.Error) (any, error) { panic("the page, too") }
	rt, _ := testRouter(
		Config{},
		route{method: "GET", pattern: "/pay/{id}", errorPage: page, handle: func(*request) (any, error) { return nil, api.NoSuch("QR code") }},
		route{method: "GET", pattern: "/panic", errorPage: page, handle: func(*request) (any, error) { panic("x") }},
		route{method: "GET", pattern: "/broken", errorPage: broken, handle: func(*request) (any, error) { return nil, api.NoSuch("QR code") }},
	)
	for target, want := range map[string]string{
		"/pay/qr_1":   "404 text/html; charset=utf-8 404 resource_missing req_1",
		"/pay/qr%201": "404 text/html; charset=utf-8 404 resource_missing req_1",
		"/panic":      "500 text/html; charset=utf-8 500 internal_error req_1",
	} {
		w := serve(rt, httptest.NewRequest("GET", target, nil))
		expect.Equal(t, fmt.Sprint(w.Code, " ", w.Header().Get("Content-Type"), " ", w.Body), want, "%s", target)
	}
	if w := serve(rt, httptest.NewRequest("GET", "/broken", nil)); w.Code != 404 || codeOf(w) != "resource_missing" {
		t.Errorf("a page that fails: got %d %s, want the JSON of the refusal", w.Code, codeOf(w))
	}
}

// TestErrorBodies compares the bodies of the errors that this package makes with
// golden files; -update writes them.
func TestErrorBodies(t *testing.T) {
	rt, _ := testRouter(Config{}, append([]route{
		{method: "GET", pattern: "/v1/fault", handle: func(*request) (any, error) { return nil, errors.New("x") }},
		{method: "GET", pattern: "/v1/closed", handle: func(*request) (any, error) { return nil, storage.ErrClosed }},
		{method: "GET", pattern: "/v1/slow", handle: func(*request) (any, error) { return nil, context.DeadlineExceeded }},
		{method: "GET", pattern: "/v1/cursor", handle: func(*request) (any, error) { return nil, api.NoSuchCursor("starting_after", "payout") }},
		{method: "POST", pattern: "/v1/amount", handle: func(r *request) (any, error) { _, err := fromBody[ghsParams]()(r); return nil, err }},
		{method: "GET", pattern: "/v1/list", handle: func(r *request) (any, error) { q := r.query(); q.page(); return nil, q.err() }},
		{method: "GET", pattern: "/v1/times", handle: func(r *request) (any, error) { q := r.query(); q.times("created"); return nil, q.err() }},
	}, payoutRoutes...)...)
	twice := newRequest("POST", "/v1/payouts", "", "X-Idempotency-Key", "a", "Idempotency-Key", "b")
	for name, r := range map[string]*http.Request{
		"api_key_missing":         httptest.NewRequest("GET", "/v1/payouts", nil),
		"api_key_invalid":         newRequest("GET", "/v1/payouts", "", "Authorization", "Bearer x"),
		"permission_denied":       newRequest("POST", "/v1/payouts", "", "Authorization", "Bearer "+readKey),
		"not_found":               newRequest("GET", "/v1/nothing", ""),
		"method_not_allowed":      newRequest("PUT", "/v1/payouts", ""),
		"resource_missing_path":   newRequest("GET", "/v1/payouts/a%20b", ""),
		"resource_missing_cursor": newRequest("GET", "/v1/cursor", ""),
		"idempotency_key_invalid": twice,
		"unsupported_media_type":  newRequest("POST", "/v1/payouts", "a=b", "Content-Type", "text/plain"),
		"content_encoding":        newRequest("POST", "/v1/payouts", "{}", "Content-Encoding", "gzip"),
		"body_too_large":          newRequest("POST", "/v1/payouts", strings.Repeat(" ", maxBody+1)),
		"invalid_json":            newRequest("POST", "/v1/payouts", `{"a":1,}`),
		"body_no_object":          newRequest("POST", "/v1/payouts", `[1]`),
		"amount_text":             newRequest("POST", "/v1/amount", `{"amount":"150"}`),
		"amount_decimals":         newRequest("POST", "/v1/amount", `{"amount":0.001}`),
		"limit":                   newRequest("GET", "/v1/list?limit=0", ""),
		"time_range":              newRequest("GET", "/v1/times?created=yesterday", ""),
		"time_bound":              newRequest("GET", "/v1/times?created[gte]=yesterday", ""),
		"time_operator":           newRequest("GET", "/v1/times?created[foo]=1", ""),
		"query_malformed":         newRequest("GET", "/v1/list?a=%zz", ""),
		"internal_error":          newRequest("GET", "/v1/fault", ""),
		"unavailable":             newRequest("GET", "/v1/closed", ""),
		"timeout":                 newRequest("GET", "/v1/slow", ""),
	} {
		t.Run(name, func(t *testing.T) {
			w := serve(rt, r)
			got := fmt.Sprintf("%d\n%s", w.Code, w.Body)
			file := filepath.Join("testdata", "errors", name+".golden")
			if *update {
				must.Do(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want := must.Get(os.ReadFile(file))(t)
			expect.Same(t, got, string(want), "got")
		})
	}
}
