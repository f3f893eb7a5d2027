package bench

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/bench/internal/benchbase"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/sqlite"
	"github.com/seed-7082ffec/payments/webhook"
)

// BenchmarkDeliveries delivers events to a receiver on this machine, each outcome
// durable on SQLite, over so many endpoints. The metrics are the rate as a share of a
// bare loop's that signs and posts the same bodies with one client, ten at a time for
// each endpoint: of-posts of one that does nothing else, of-limit of one that also
// stores each outcome, as many a commit as there are. Beside that, the library reads each
// event and writes it twice.
func BenchmarkDeliveries(b *testing.B) {
	for _, n := range []int{1, 7} {
		b.Run(fmt.Sprint("endpoints=", n), func(b *testing.B) {
			var got atomic.Int64
			arrived := make(chan struct{}, b.N+n)
			var sample atomic.Pointer[[]byte]
			receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				sample.CompareAndSwap(nil, &body)
				got.Add(1)
				select {
				case arrived <- struct{}{}:
				default: // the bare loop's
				}
			}))
			defer receiver.Close()
			path := filepath.Join(b.TempDir(), "webhooks.db")
			store := must.Get(sqlite.Open(b.Context(), path, sqlite.Config{}))(b)
			defer store.Close()
			svc := must.Get(payments.New(b.Context(), store, payments.Config{WebhookAllow: paymentstest.Loopback(), Logger: slog.New(slog.DiscardHandler)}))(b)
			m := must.Get(svc.Accounts.CreateMerchant(b.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(b)
			caller := api.Caller{Merchant: m.ID}
			for range n {
				must.Get(svc.Webhooks.Create(b.Context(), caller, webhook.CreateParams{URL: receiver.URL, Events: []event.Type{"*"}}))(b)
			}
			object := map[string]string{"id": "plan_1", "note": string(bytes.Repeat([]byte("x"), 600))}
			for range (b.N + n - 1) / n {
				must.Get(svc.Events.Record(b.Context(), caller, event.RecordParams{Type: "plan.created", Object: object}))(b)
			}
			b.ResetTimer()
			svc.Start(b.Context())
			for n := int64(0); n < int64(b.N); n++ {
				<-arrived
			}
			// All that has arrived is also written down before the time is taken.
			must.Do(b, svc.Stop(b.Context()))
			b.StopTimer()
			each := float64(b.Elapsed()) / float64(got.Load())
			sent := int(got.Load())
			b.ReportMetric(barePosts(b, receiver.URL, *sample.Load(), 10*n, sent, nil)/each, "of-posts")
			record := benchbase.Rewrite(b, path, "webhook_deliveries")
			defer record.Close()
			b.ReportMetric(barePosts(b, receiver.URL, *sample.Load(), 10*n, sent, record.Write)/each, "of-limit")
		})
	}
}

// barePosts returns the nanoseconds that one signed post takes without a store, or with one
// in which record stores those that were answered meanwhile.
func barePosts(b *testing.B, url string, body []byte, parallel, n int, record func(rows int)) float64 {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: parallel, DisableCompression: true}}
	defer client.CloseIdleConnections()
	var next, answered atomic.Int64
	var all, recorder sync.WaitGroup
	start := time.Now()
	if record != nil {
		recorder.Go(func() {
			for done := 0; done < n; {
				if rows := min(int(answered.Load())-done, 256); rows > 0 {
					record(rows)
					done += rows
				} else {
					time.Sleep(50 * time.Microsecond)
				}
			}
		})
	}
	for range parallel {
		all.Go(func() {
			for next.Add(1) <= int64(n) {
				h := hmac.New(sha256.New, []byte("whsec_x"))
				h.Write(body)
				r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				r.Header.Set("Service-Signature", hex.EncodeToString(h.Sum(nil)))
				answer, err := client.Do(r)
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				answered.Add(1)
			}
		})
	}
	all.Wait()
	recorder.Wait()
	return float64(time.Since(start)) / float64(n)
}
