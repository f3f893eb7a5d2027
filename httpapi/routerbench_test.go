package httpapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/payout"
)

// BenchmarkRouter answers a disbursement and a get with nothing behind them: what the
// interface itself costs, without net/http and the services.
func BenchmarkRouter(b *testing.B) {
	made := payout.Transfer{
		ID: "po_0VRJqTqR00W2nuqR9nC4nG", Object: "disbursement", Amount: api.FromPesewas(1), Currency: api.Currency, Status: payout.Completed,
		CreatedAt: api.At(time.Now()), CompletedAt: api.AtOrNil(time.Now()), Metadata: api.Metadata{},
	}
	answer := strings.Repeat("x", 500)
	config := Config{
		Authenticate: func(context.Context, string) (Access, error) {
			return Access{Merchant: "mer_1", Allow: func(string, bool) bool { return true }}, nil
		},
		Logger: slog.New(slog.DiscardHandler),
	}
	rt := newRouter(config, func() string { return "req_0VRJqTqR00W2nuqR9nC4nG" }, []route{
		{method: "POST", pattern: "/v1/disbursements", resource: "disbursements", write: true, handle: withBody(func(context.Context, api.Caller, disbursement.CreateParams) (*payout.Transfer, error) {
			return &made, nil
		})},
		{method: "GET", pattern: "/v1/disbursements/{id}", resource: "disbursements", handle: jsonWithID(func(_ context.Context, _ api.Caller, _ string, w io.Writer) error {
			_, err := io.WriteString(w, answer)
			return err
		})},
	})
	const body = `{"amount":0.01,"destination":{"type":"service_wallet","service_id":"102030405"},"reference":"salary"}`
	for _, request := range [][3]string{
		{"post", "/v1/disbursements", body},
		{"get", "/v1/disbursements/po_0VRJqTqR00W2nuqR9nC4nG", ""},
	} {
		b.Run(request[0], func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context()) // as net/http has one for each
			defer cancel()
			w := &blank{header: http.Header{}}
			sent := newRequest(strings.ToUpper(request[0]), request[1], request[2], "X-Idempotency-Key", "salary-1")
			from := strings.NewReader(request[2])
			b.ReportAllocs()
			for b.Loop() {
				r := *sent
				from.Reset(request[2])
				r.Body = io.NopCloser(from)
				rt.ServeHTTP(w, r.WithContext(ctx))
				clear(w.header)
				if w.status != http.StatusOK || w.length < 100 {
					b.Fatalf("answered %d with %d bytes", w.status, w.length)
				}
			}
		})
	}
}

// blank takes an answer and keeps nothing of it.
type blank struct {
	header         http.Header
	status, length int
}

func (w *blank) Header() http.Header         { return w.header }
func (w *blank) WriteHeader(status int)      { w.status = status }
func (w *blank) Write(b []byte) (int, error) { w.length = len(b); return len(b), nil }
