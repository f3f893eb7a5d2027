package httpapi_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/bareloop"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// BenchmarkDisbursement disburses to wallets over HTTP, through all of /v1: API
// key, idempotency key, ledger and events, each disbursement durable when it is
// answered. The metric of-limit is the rate as a share of a bare loop's, which
// writes the same rows, as many disbursements a commit as the store grouped here;
// client and server share the processors, which the loop has to itself.
func BenchmarkDisbursement(b *testing.B) {
	for _, connections := range []int{1, 16, 64} {
		b.Run(fmt.Sprint("connections=", connections), func(b *testing.B) {
			s, store, wallets := disbursing(b, filepath.Join(b.TempDir(), "http.db"))
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}
			defer client.CloseIdleConnections()
			before := store.Stats()
			var next atomic.Int64
			var all sync.WaitGroup
			b.ResetTimer()
			for range connections {
				all.Go(func() {
					for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
						disburse(b, s, client, wallets, n)
					}
				})
			}
			all.Wait()
			b.StopTimer()
			each := float64(b.Elapsed()) / float64(b.N)
			now := store.Stats()
			group := float64(now.Updates-before.Updates) / float64(now.Commits-before.Commits)
			b.ReportMetric(group, "group")
			b.ReportMetric(bareDisbursement(b, int(math.Round(group)))/each, "of-limit")
		})
	}
}

// disbursing is a merchant with money on SQLite, and wallets to pay.
func disbursing(b *testing.B, path string) (*paymentstest.Shop, *sqlite.Store, []string) {
	store, err := sqlite.Open(b.Context(), path, sqlite.Config{})
	if err != nil {
		b.Fatal(err)
	}
	s := paymentstest.On(b, store, payments.Config{})
	for range 9 {
		s.Fund(s.Caller.Merchant, 900_000)
	}
	var wallets []string
	for i := range 64 {
		c, err := s.Accounts.CreateConsumer(b.Context(), account.HolderParams{Name: "Ama Mensah", Phone: fmt.Sprintf("024%07d", 100+i)})
		if err != nil {
			b.Fatal(err)
		}
		wallets = append(wallets, c.ServiceID)
	}
	return s, store, wallets
}

func disburse(b *testing.B, s *paymentstest.Shop, client *http.Client, wallets []string, n int64) {
	body := fmt.Sprintf(`{"amount":0.01,"destination":{"type":"service_wallet","service_id":%q},"reference":"salary"}`, wallets[n%int64(len(wallets))])
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, s.Server.URL+"/v1/disbursements", strings.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+s.Key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Idempotency-Key", fmt.Sprintf("salary-%016d", n))
	answer, err := client.Do(r)
	if err != nil {
		b.Error(err)
		return
	}
	defer answer.Body.Close()
	if data, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		b.Errorf("%d %s %v", answer.StatusCode, data, err)
	}
}

// bareDisbursement returns the nanoseconds that the rows of one disbursement take
// to write by a bare loop.
func bareDisbursement(b *testing.B, group int) float64 {
	path := filepath.Join(b.TempDir(), "bare.db")
	s, _, wallets := disbursing(b, path)
	for n := range int64(len(wallets)) {
		disburse(b, s, http.DefaultClient, wallets, n)
	}
	return bareloop.Call{
		Path: path, Insert: []string{"disbursements", "events", "events", "idempotency_keys"}, Moves: true,
	}.Run(b, group, b.N)
}
