package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

var someTransfer = provider.Transfer{
	Order: provider.Order{ID: "po_1", Live: true, Amount: 115}, Channel: provider.BankTransfer, Bank: "300304", Number: "1234567890",
}

// The request has the amount as text, so that no program reads it into a float, and our id
// as the reference.
func TestWire(t *testing.T) {
	var method, path, authorization string
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method, path, authorization = r.Method, r.URL.Path, r.Header.Get("Authorization")
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"reference":"po_1","status":"pending"}`)
	}))
	defer server.Close()
	r := &rail{newClient(server.URL+"/v2/", token)}
	for pesewas, amount := range map[int64]string{1: "0.01", 115: "1.15", 435: "4.35", 841: "8.41", 1999: "19.99", 20_000_00: "20000"} {
		sent := someTransfer
		sent.Amount = pesewas
		_, err := r.Submit(t.Context(), sent)
		check(t, err)
		var got map[string]any
		check(t, json.Unmarshal(body, &got))
		if got["amount"] != amount || got["reference"] != "po_1" || got["channel"] != "bank" || got["account"] != "1234567890" {
			t.Errorf("sent %s", body)
		}
	}
	if method != http.MethodPost || path != "/v2/transfers" || authorization != "Bearer "+token {
		t.Errorf("%s %s, %q", method, path, authorization)
	}
	_, err := r.Status(t.Context(), someTransfer)
	check(t, err)
	if method != http.MethodGet || path != "/v2/transfers/po_1" || len(body) != 0 {
		t.Errorf("%s %s %s", method, path, body)
	}
}

// Only the provider's own word ends a transfer; whatever else comes back leaves
// the outcome unknown.
func TestAnswers(t *testing.T) {
	long := `{"status":"paid","amount":1.15,"provider_id":"` + strings.Repeat("x", maxAnswer) + `"}`
	for _, c := range []struct {
		what         string
		code         int
		body         string
		submit, asks provider.Outcome // "" for an error
		refusal      api.Code
	}{
		{"paid", 200, `{"status":"paid","amount":1.15}`, provider.Paid, provider.Paid, ""},
		{"paid, and no amount", 200, `{"status":"paid"}`, "", "", ""},
		{"paid of an odd amount", 200, `{"status":"paid","amount":1.155}`, "", "", ""},
		{"paid of a huge amount", 200, `{"status":"paid","amount":1e999999999}`, "", "", ""},
		{"pending", 200, `{"status":"pending"}`, provider.InProgress, provider.InProgress, ""},
		{"a bad account", 200, `{"status":"rejected","code":"bad_account"}`, provider.Refused, provider.Refused, api.InvalidDestination},
		{"rejected for another reason", 200, `{"status":"rejected","code":"x"}`, provider.Refused, provider.Refused, api.RecipientUnavailable},
		{"not found", 404, `{}`, "", provider.NotFound, ""},
		{"a status of tomorrow", 200, `{"status":"parked"}`, "", "", ""},
		{"no status", 200, `{}`, "", "", ""},
		{"nothing", 200, ``, "", "", ""},
		{"a page", 200, `<html>`, "", "", ""},
		{"cut off", 200, `{"status":"paid","amount":1.15`, "", "", ""},
		{"too long", 200, long, "", "", ""},
		{"our mistake", 400, `{"status":"rejected"}`, "", "", ""},
		{"a wrong token", 401, `{"status":"rejected"}`, "", "", ""},
		{"too many calls", 429, `{"status":"rejected"}`, "", "", ""},
		{"their mistake", 500, `{"status":"rejected"}`, "", "", ""},
		{"a gateway", 504, ``, "", "", ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.code)
			_, _ = io.WriteString(w, c.body)
		}))
		r := &rail{newClient(server.URL, token)}
		for call, want := range map[string]provider.Outcome{"submit": c.submit, "status": c.asks} {
			do := r.Submit
			if call == "status" {
				do = r.Status
			}
			got, err := do(t.Context(), someTransfer)
			if (err == nil) != (want != "") || got.Outcome != want || got.Reason.Code != c.refusal {
				t.Errorf("%s, %s: %+v, %v", c.what, call, got, err)
			}
			if err != nil && (strings.Contains(err.Error(), someTransfer.Number) || strings.Contains(err.Error(), token)) {
				t.Errorf("%s, %s: the error tells too much: %v", c.what, call, err)
			}
		}
		server.Close()
	}
}

// A redirect is no answer, and the token goes nowhere else.
func TestRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		t.Error("the redirect was followed")
		_, _ = io.WriteString(w, `{"status":"paid","amount":1.15}`)
	}))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	r := &rail{newClient(server.URL, token)}
	if result, err := r.Submit(t.Context(), someTransfer); err == nil {
		t.Errorf("submit: %+v", result)
	}
	if result, err := r.Status(t.Context(), someTransfer); err == nil {
		t.Errorf("status: %+v", result)
	}
}

// A call to a provider that hangs ends with its context.
func TestHangingProvider(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel()
		<-release
	}))
	defer server.Close()
	defer close(release)
	// The client's own time-out would be another error.
	r := &rail{newClient(server.URL, token)}
	if result, err := r.Submit(ctx, someTransfer); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v", result, err)
	}
}

// The library answers beside the callback route.
func TestRoutes(t *testing.T) {
	svc, err := payments.New(t.Context(), memory.New(), payments.Config{})
	check(t, err)
	handler := routes(svc, []byte("callback-secret"))
	for target, want := range map[string]int{
		"GET /v1/balance":          http.StatusUnauthorized, // no key
		"POST /callbacks/provider": http.StatusUnauthorized, // no signature
		"GET /callbacks/provider":  http.StatusNotFound,
		"POST /callbacks/other":    http.StatusNotFound,
	} {
		method, path, _ := strings.Cut(target, " ")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader("{}")))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", target, w.Code, want)
		}
	}
}

// An address that is taken ends it with an error, and nothing stays open.
func TestTakenAddress(t *testing.T) {
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	c := newClient("http://127.0.0.1:1", token)
	err := run(t.Context(), taken.Listener.Addr().String(), filepath.Join(t.TempDir(), "rail.db"), c, []byte("callback-secret"))
	if err == nil {
		t.Error("it runs")
	}
}
