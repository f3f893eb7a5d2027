package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func TestAuthentication(t *testing.T) {
	rt, _ := testRouter(Config{}, payoutRoutes...)
	for _, tt := range []struct {
		name    string
		target  string
		headers []string // of Authorization
		status  int
		code    string
	}{
		{"good", "/v1/payouts", []string{"Bearer sk_test_good"}, 200, ""},
		{"more spaces", "/v1/payouts", []string{"Bearer   sk_test_good"}, 200, ""},
		{"missing, /v1", "/v1", nil, 401, "api_key_missing"},
		{"missing, unclean path", "/v1//payouts", nil, 401, "api_key_missing"},
		{"missing, outside /v1", "/nothing", nil, 404, "not_found"},
		{"missing, public", "/pay/qr_1", nil, 200, ""},
		{"bad, public", "/pay/qr_1", []string{"Bearer x"}, 200, ""},
		{"unknown", "/v1/payouts", []string{"Bearer sk_test_unknown"}, 401, "api_key_invalid"},
		{"another case of the key", "/v1/payouts", []string{"Bearer SK_TEST_GOOD"}, 401, "api_key_invalid"},
		{"scheme and space", "/v1/payouts", []string{"Bearer "}, 401, "api_key_invalid"},
		{"no merchant", "/v1/payouts", []string{"Bearer nobody"}, 500, "internal_error"},
		{"fault", "/v1/payouts", []string{"Bearer broken"}, 500, "internal_error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRequest("GET", tt.target, "")
			r.Header.Del("Authorization")
			if tt.headers != nil {
				r.Header["Authorization"] = tt.headers
			}
			w := serve(rt, r)
			expect.Equal(t, w.Code, tt.status, "status")
			expect.True(t, tt.code == "" || codeOf(w) == tt.code, "code %s, want %s", codeOf(w), tt.code)
			challenge := w.Header().Get("WWW-Authenticate")
			expect.Equal(t, (challenge == "Bearer"), (tt.status == 401), "WWW-Authenticate: %q with status %d", challenge, w.Code)
		})
	}
}

// TestBadKeysAreAnsweredAlike: no caller learns from the answer whether a key once
// existed.
func TestBadKeysAreAnsweredAlike(t *testing.T) {
	rt, _ := testRouter(Config{}, payoutRoutes...)
	first := serve(rt, newRequest("GET", "/v1/payouts", "", "Authorization", "Bearer sk_test_revoked"))
	for _, header := range []string{"Bearer sk_test_unknown", "Bearer", "Basic x", "Bearer \xff", "x"} {
		w := serve(rt, newRequest("POST", "/v1/nothing", "", "Authorization", header))
		expect.Same(t, w.Body.String(), first.Body.String(), "%q", header)
		expect.Same(t, w.Header(), first.Header(), "%q", header)
	}
}

func TestPermissions(t *testing.T) {
	rt, _ := testRouter(Config{}, append([]route{
		{method: "GET", pattern: "/v1/invoices", resource: "invoices", handle: echo},
		{method: "POST", pattern: "/v1/payouts/resolve", resource: "payouts", handle: echo},
	}, payoutRoutes...)...)
	for _, tt := range []struct {
		method, target string
		want           int
	}{
		{"GET", "/v1/payouts", 200},
		{"HEAD", "/v1/payouts", 200},
		{"GET", "/v1/payouts/po_1", 200},
		{"POST", "/v1/payouts/resolve", 200}, // a POST that changes nothing
		{"GET", "/v1/lookup/banks", 200},     // needs a key, and no permission
		{"POST", "/v1/payouts", 403},
		{"DELETE", "/v1/payouts/po_1", 403},
		{"GET", "/v1/invoices", 403},
		{"PUT", "/v1/invoices", 405},
		{"GET", "/v1/nothing", 404},
	} {
		w := serve(rt, newRequest(tt.method, tt.target, "", "Authorization", "Bearer "+readKey))
		expect.Equal(t, w.Code, tt.want, "%s %s: status", tt.method, tt.target)
		expect.True(t, tt.want != 403 || codeOf(w) == "permission_denied", "%s %s: code %s", tt.method, tt.target, codeOf(w))
	}
}

func TestIdempotencyKey(t *testing.T) {
	const x, plain = "X-Idempotency-Key", "Idempotency-Key"
	for _, tt := range []struct {
		name   string
		header http.Header
		want   string // "!" when refused
	}{
		{"none", http.Header{}, ""},
		{"one", http.Header{x: {"a"}}, "a"},
		{"the other", http.Header{plain: {"a"}}, "a"},
		{"both alike", http.Header{x: {"a"}, plain: {"a"}}, "a"},
		{"255 characters", http.Header{x: {strings.Repeat("a", 255)}}, strings.Repeat("a", 255)},
		{"spaces within, and all else", http.Header{x: {"a b~!"}}, "a b~!"},
		{"both, different", http.Header{x: {"a"}, plain: {"b"}}, "!"},
		{"twice", http.Header{x: {"a", "a"}}, "!"},
		{"the other twice", http.Header{plain: {"a", "b"}}, "!"},
		{"empty", http.Header{x: {""}}, "!"},
		{"one empty", http.Header{x: {""}, plain: {"a"}}, "!"},
		{"256 characters", http.Header{x: {strings.Repeat("a", 256)}}, "!"},
		{"tab", http.Header{x: {"a\tb"}}, "!"},
		{"DEL", http.Header{x: {"a\x7f"}}, "!"},
		{"not ASCII", http.Header{x: {"é"}}, "!"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := idempotencyKey(tt.header)
			if err != nil {
				expect.Equal(t, refused(err), "idempotency_key_invalid ", "refused with %v", err)
				got = "!"
			}
			expect.Equal(t, got, tt.want, "got")
		})
	}
}

func TestIdempotencyKeyByMethod(t *testing.T) {
	rt, _ := testRouter(Config{}, payoutRoutes...)
	for _, tt := range []struct {
		method, target string
		want           int
	}{
		{"POST", "/v1/payouts", 400},
		{"PATCH", "/v1/payouts/po_1", 400},
		{"DELETE", "/v1/payouts/po_1", 400},
		{"GET", "/v1/payouts", 200},
		{"HEAD", "/v1/payouts", 200},
	} {
		w := serve(rt, newRequest(tt.method, tt.target, "", "X-Idempotency-Key", ""))
		expect.Equal(t, w.Code, tt.want, "%s with an empty key: status", tt.method)
	}
}

// The log holds neither the text of an error of the host's Authenticate nor the value of its panic, which
// may quote the key. The error still decides the status.
func TestHostsAuthenticateStaysOutOfTheLog(t *testing.T) {
	const token = "token-of-esi"
	for name, c := range map[string]struct {
		fails  func() error
		status int
	}{
		"a fault":        {func() error { return errors.New("no session " + token) }, http.StatusInternalServerError},
		"no database":    {func() error { return fmt.Errorf("session %s: %w", token, storage.ErrUnavailable) }, http.StatusServiceUnavailable},
		"a wrong token":  {func() error { return api.Errorf(api.APIKeyInvalid, "", "There is no session %s.", token) }, http.StatusUnauthorized},
		"a panic":        {func() error { panic("no session " + token) }, http.StatusInternalServerError},
		"an error value": {func() error { panic(errors.New("no session " + token)) }, http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			svc := must.Get(payments.New(t.Context(), memory.New(), payments.Config{}))(t)
			h := New(svc, Config{
				Authenticate: func(context.Context, string) (Access, error) { return Access{}, c.fails() },
				Logger:       slog.New(slog.NewTextHandler(&log, nil)),
			})
			r := newRequest("GET", "/v1/balance", "")
			r.Header.Set("Authorization", "Bearer "+token)
			w := serve(h, r)
			expect.Equal(t, w.Code, c.status, "answered %s", w.Body)
			expect.True(t, !strings.Contains(log.String(), token), "it quotes the token:\n%s\n%s", &log, w.Body)
			expect.True(t, !strings.Contains(w.Body.String(), token), "it quotes the token:\n%s\n%s", &log, w.Body)
		})
	}
}
