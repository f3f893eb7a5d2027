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
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
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
	code := func(e map[string]any) any {
		detail, _ := e["error"].(map[string]any)
		return detail["code"]
	}

	if _, _, text := do(t, "GET", base+"/hello", "", ""); text != "Hello from the company\n" {
		t.Errorf("the company says %q", text)
	}
	if r, _, text := do(t, "GET", base+"/payments/v1/balance", "token-of-esi", "", "X-Blocked", "1"); r.StatusCode != 403 || text != "blocked\n" {
		t.Errorf("what the middleware blocks: %d %s", r.StatusCode, text)
	}

	// The company's tokens open /v1; nothing else does.
	r, made, text := do(t, "POST", base+"/payments/v1/qr_codes", "token-of-esi", `{"amount":1250}`)
	must.True(t, r.StatusCode == 200, "a QR code: %d %s", r.StatusCode, text)
	for _, token := range []string{"", "token-of-nobody", "sk_test_x"} {
		if r, e, _ := do(t, "GET", base+"/payments/v1/balance", token, ""); r.StatusCode != 401 || e["error"] == nil {
			t.Errorf("with the token %q: %d %v", token, r.StatusCode, e)
		}
	}

	// A clerk works at the till and moves no money; the other business sees nothing.
	id := made["id"].(string)
	if r, _, text := do(t, "GET", base+"/payments/v1/qr_codes/"+id, "token-of-yaw", ""); r.StatusCode != 200 {
		t.Errorf("the clerk reads: %d %s", r.StatusCode, text)
	}
	disburse := `{"amount":1,"destination":{"type":"mobile_money","phone_number":"0241234567"}}`
	if r, e, _ := do(t, "POST", base+"/payments/v1/disbursements", "token-of-yaw", disburse); r.StatusCode != 403 || code(e) != "permission_denied" {
		t.Errorf("the clerk disburses: %d %v", r.StatusCode, e)
	}
	if r, e, _ := do(t, "POST", base+"/payments/v1/disbursements", "token-of-esi", disburse); r.StatusCode != 402 || code(e) != "insufficient_balance" {
		t.Errorf("the owner disburses: %d %v", r.StatusCode, e)
	}
	if r, _, _ := do(t, "GET", base+"/payments/v1/qr_codes/"+id, "token-of-kofi", ""); r.StatusCode != 404 {
		t.Errorf("another business reads: %d", r.StatusCode)
	}

	// What a QR code encodes leads to the page under the prefix.
	page := made["qr_code_data"].(string)
	expect.True(t, strings.HasPrefix(page, base+"/payments/pay/"), "the page is at %s", page)
	if r, _, text := do(t, "GET", page, "", ""); r.StatusCode != 200 || !strings.Contains(text, "Esi&#39;s Kitchen") {
		t.Errorf("the page: %d %s", r.StatusCode, text)
	}
	if r, _, _ := do(t, "GET", base+"/pay/"+id, "", ""); r.StatusCode != 404 {
		t.Errorf("outside of the prefix: %d", r.StatusCode)
	}

	r, health, text := do(t, "GET", base+"/readyz", "", "")
	if queues, _ := health["queues"].([]any); r.StatusCode != 200 || health["running"] != true || len(queues) == 0 {
		t.Errorf("ready: %d %s", r.StatusCode, text)
	}
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
