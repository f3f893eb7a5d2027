package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/must"
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

// A delivery that is being handled when the receiver stops is answered first.
func TestStopWaitsForADelivery(t *testing.T) {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	begun, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- serve(ctx, listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(begun)
			<-release
			_, _ = io.WriteString(w, "handled")
		}))
	}()
	answered := make(chan string, 1)
	go func() {
		answer, err := http.Post("http://"+listener.Addr().String()+"/webhooks", "application/json", strings.NewReader("{}"))
		if err != nil {
			answered <- err.Error()
			return
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		answered <- string(body)
	}()
	<-begun
	stop()
	select {
	case err := <-ended:
		t.Errorf("it stopped with %v while a delivery was being handled", err)
		ended <- err
	case <-time.After(100 * time.Millisecond):
	}
	close(release)
	if got := <-answered; got != "handled" {
		t.Errorf("the delivery was answered %q", got)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := <-ended; err != nil {
		t.Errorf("it stopped with %v", err)
	}
}
