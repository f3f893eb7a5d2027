package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs the server and returns its address; the end of the test stops it.
func start(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, "127.0.0.1:0", write)
		write.CloseWithError(io.EOF)
		ended <- err
	}()
	lines := bufio.NewReader(read)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("no first line: %v, %v", err, <-ended)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("it stopped with %v", err)
		}
	})
	return strings.TrimSpace(strings.TrimPrefix(first, "Serving "))
}

// do sends a request, and reads the answer into a map where it is JSON.
func do(t *testing.T, method, address, token, body string, headers ...string) (*http.Response, map[string]any, string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body)))(t)
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response := must.Get(http.DefaultClient.Do(r))(t)
	defer response.Body.Close()
	data := must.Get(io.ReadAll(response.Body))(t)
	var fields map[string]any
	_ = json.Unmarshal(data, &fields)
	expect.True(t, response.Header.Get("Strict-Transport-Security") != "", "%s %s did not pass the company's middleware", method, address)
	return response, fields, string(data)
}

func TestMounted(t *testing.T) {
	base := start(t)
	r, made, text := do(t, "POST", base+"/payments/v1/qr_codes", "token-of-esi", `{"amount":1250}`)
	must.True(t, r.StatusCode == 200, "a QR code: %d %s", r.StatusCode, text)
	id, page := made["id"].(string), made["qr_code_data"].(string)
	expect.True(t, strings.HasPrefix(page, base+"/payments/pay/"), "the page is at %s", page)

	const disburse = `{"amount":1,"destination":{"type":"mobile_money","phone_number":"0241234567"}}`
	for _, c := range []struct {
		what, method, address, token, body string
		status                             int
		holds                              string
	}{
		{"the company's own page", "GET", base + "/hello", "", "", 200, "Hello from the company\n"},
		// The company's tokens open /v1; nothing else does.
		{"no token", "GET", base + "/payments/v1/balance", "", "", 401, `"error"`},
		{"another token", "GET", base + "/payments/v1/balance", "token-of-nobody", "", 401, `"error"`},
		{"an API key", "GET", base + "/payments/v1/balance", "sk_test_x", "", 401, `"error"`},
		// A clerk works at the till and moves no money; the other business sees nothing.
		{"the clerk reads", "GET", base + "/payments/v1/qr_codes/" + id, "token-of-yaw", "", 200, id},
		{"the clerk disburses", "POST", base + "/payments/v1/disbursements", "token-of-yaw", disburse, 403, "permission_denied"},
		{"the owner disburses", "POST", base + "/payments/v1/disbursements", "token-of-esi", disburse, 402, "insufficient_balance"},
		{"another business reads", "GET", base + "/payments/v1/qr_codes/" + id, "token-of-kofi", "", 404, ""},
		{"the page", "GET", page, "", "", 200, "Esi&#39;s Kitchen"},
		{"outside of the prefix", "GET", base + "/pay/" + id, "", "", 404, ""},
		{"ready", "GET", base + "/readyz", "", "", 200, "ok\n"},
	} {
		r, _, text := do(t, c.method, c.address, c.token, c.body)
		expect.Equal(t, r.StatusCode, c.status, "%s: status", c.what)
		expect.True(t, strings.Contains(text, c.holds), "%s: %d %s", c.what, r.StatusCode, text)
	}
	r, _, text = do(t, "GET", base+"/payments/v1/balance", "token-of-esi", "", "X-Blocked", "1")
	expect.Equal(t, r.StatusCode, 403, "what the middleware blocks: status")
	expect.Equal(t, text, "blocked\n", "what the middleware blocks: text")
}

// Without its database the server is not ready.
func TestNotReady(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	store := memory.New()
	svc := must.Get(payments.New(t.Context(), store, payments.Config{Logger: log}))(t)
	company := must.Get(newCompany(t.Context(), svc, log))(t)
	for _, want := range []int{200, 503} {
		w := httptest.NewRecorder()
		company.handler().ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
		expect.True(t, w.Code == want, "answered %d, want %d", w.Code, want)
		must.Do(t, store.Close())
	}
}
