package httpapi_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
)

// BenchmarkRead reads disbursements over HTTP from SQLite with 16 connections: one,
// the first page of 20, and a page behind all others. The metric of-limit is the rate
// as a share of that of a bare handler, which hashes the key and writes a fixed body
// of the same size.
func BenchmarkRead(b *testing.B) {
	s, _, wallets := disbursing(b, filepath.Join(b.TempDir(), "read.db"))
	const rows = 2000
	for n := range int64(rows) {
		disburse(b, s, http.DefaultClient, wallets, n)
	}
	_, data := s.Do("GET", "/v1/disbursements?limit=1", nil)
	last := field(b, data, "data.0.id")
	oldest := ""
	for after := ""; ; {
		_, data := s.Do("GET", "/v1/disbursements?limit=100&starting_after="+after, nil)
		if after == "" {
			_, data = s.Do("GET", "/v1/disbursements?limit=100", nil)
		}
		after = field(b, data, "data.99.id")
		if field(b, data, "has_more") != "true" {
			oldest = field(b, data, "data.78.id")
			break
		}
	}
	for name, path := range map[string]string{
		"get":  "/v1/disbursements/" + last,
		"list": "/v1/disbursements?limit=20",
		"deep": "/v1/disbursements?limit=20&starting_after=" + oldest,
	} {
		b.Run(name, func(b *testing.B) {
			_, body := s.Do("GET", path, nil)
			b.ResetTimer()
			read(b, s, s.Server.URL+path)
			b.StopTimer()
			each := float64(b.Elapsed())
			bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sum := sha256.Sum256([]byte(r.Header.Get("Authorization")))
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("X-Sum", fmt.Sprintf("%x", sum[:8]))
				_, _ = w.Write(body)
			}))
			defer bare.Close()
			b.ResetTimer()
			b.StartTimer()
			read(b, s, bare.URL)
			b.StopTimer()
			b.ReportMetric(float64(b.Elapsed())/each, "of-limit")
		})
	}
}

// read makes b.N requests over 16 connections.
func read(b *testing.B, s *paymentstest.Shop, url string) {
	const connections = 16
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			for next.Add(1) <= int64(b.N) {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
				if err != nil {
					b.Error(err)
					return
				}
				r.Header.Set("Authorization", "Bearer "+s.Key)
				answer, err := client.Do(r)
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				if answer.StatusCode != http.StatusOK {
					b.Errorf("%s answered %d", url, answer.StatusCode)
					return
				}
			}
		})
	}
	all.Wait()
}
