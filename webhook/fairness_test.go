package webhook_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage/sqlite"
	"github.com/seed-7082ffec/payments/webhook"
)

// BenchmarkFairness delivers events to 1,000 endpoints of ten merchants, first when
// all answer, and then when a tenth of them hangs and a tenth refuses. The metric
// slower is the 99th percentile of the delay of those that answer in the second
// case as a multiple of the first.
func BenchmarkFairness(b *testing.B) {
	const merchants, each, rounds = 10, 100, 3
	for b.Loop() {
		var p99 [2]time.Duration
		for run, bad := range []bool{false, true} {
			delays, healthy := tellAll(b, merchants, each, rounds, bad)
			if len(delays) != healthy*rounds {
				b.Fatalf("%d of %d came", len(delays), healthy*rounds)
			}
			slices.Sort(delays)
			p99[run] = delays[len(delays)*99/100]
		}
		b.ReportMetric(float64(p99[1])/float64(p99[0]), "slower")
	}
}

// tellAll returns the delays of the deliveries to endpoints that answer, and how
// many of these there are.
func tellAll(b *testing.B, merchants, each, rounds int, bad bool) (delays []time.Duration, healthy int) {
	var mu sync.Mutex
	let := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.HasPrefix(r.URL.Path, "/hangs"):
			<-let
		case strings.HasPrefix(r.URL.Path, "/refuses"):
			w.WriteHeader(http.StatusInternalServerError)
		default:
			var e event.Event
			if err := json.Unmarshal(body, &e); err != nil {
				b.Error(err)
				return
			}
			mu.Lock()
			delays = append(delays, time.Since(e.CreatedAt.Time))
			mu.Unlock()
		}
	}))
	defer receiver.Close()
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "fair.db"), sqlite.Config{})
	must.Do(b, err)
	defer store.Close()
	svc, err := payments.New(b.Context(), store, payments.Config{WebhookAllow: loopback, Logger: slog.New(slog.DiscardHandler)})
	must.Do(b, err)
	var callers []api.Caller
	for range merchants {
		m, err := svc.Accounts.CreateMerchant(b.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"})
		must.Do(b, err)
		caller := api.Caller{Merchant: m.ID}
		callers = append(callers, caller)
		for i := range each {
			path := "answers"
			if bad && i%10 == 0 {
				path = "hangs"
			} else if bad && i%10 == 1 {
				path = "refuses"
			} else {
				healthy++
			}
			url := fmt.Sprintf("%s/%s/%d", receiver.URL, path, i)
			must.Get(svc.Webhooks.Create(b.Context(), caller, webhook.CreateParams{URL: url, Events: []event.Type{"*"}}))(b)
		}
	}
	svc.Start(b.Context())
	for round := range rounds {
		for _, caller := range callers {
			must.Get(svc.Events.Record(b.Context(), caller, event.RecordParams{Type: "plan.created", Object: map[string]int{"n": round}}))(b)
		}
		for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(time.Millisecond) {
			mu.Lock()
			came := len(delays)
			mu.Unlock()
			if came >= healthy*(round+1) {
				break
			}
		}
	}
	close(let)
	must.Do(b, svc.Stop(b.Context()))
	return delays, healthy
}
