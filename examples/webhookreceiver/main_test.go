package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReceive(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{WebhookAllow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	defer server.Close()
	endpoint := must.Get(s.Webhooks.Create(t.Context(), s.Caller, webhook.CreateParams{URL: server.URL + "/webhooks", Events: []event.Type{"payment.succeeded"}}))(t)
	var out bytes.Buffer
	handler = receive(endpoint.Secret, &out)
	code := must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{}))(t)
	paid := s.Pay(code.ID, 1250)
	must.Do(t, s.Drain(t.Context()))
	if text := out.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "payment.succeeded") || !strings.Contains(text, paid.ID) {
		t.Errorf("printed %q", text)
	}
}
