package life

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/bench/internal/benchbase"
	"github.com/seed-7082ffec/payments/bench/internal/httpload"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payout"
)

// latencyWriters is how many connections transfer to wallets beside the measured calls.
const latencyWriters = 16

// BenchmarkLatency measures how long the calls of one client take, who makes one after another, alone
// and beside 16 connections that transfer to wallets without a pause. get reads a transfer by id,
// post makes one to a mobile phone, and bare calls a handler of the same process that hashes the key
// and reads nothing: what it takes longer beside the writers is the wait for the processors.
//
// p50-ms and p99-ms are beside the writers. p50-of-alone and p99-of-alone are these as multiples of
// the same call alone. Alone and beside writers take turns.
func BenchmarkLatency(b *testing.B) {
	for _, on := range backends {
		b.Run("store="+on.name, func(b *testing.B) {
			s := openServer(b, on.open(b))
			ids := s.transfers(b, 200)
			writers := s.load(latencyWriters, 1<<30)
			writers.Phones, writers.Wallets = nil, s.wallets
			get, post, bare := s.load(1, 0), s.load(1, 0), s.load(1, 0)
			get.ReadIDs, get.GetOnly = ids, true
			bare.ReadIDs, bare.GetOnly = ids, true
			bare.Address, _ = listen(b, http.HandlerFunc(answerBare))
			s.gate.reset(1<<30, 0)
			for _, call := range []struct {
				name string
				load httpload.Load
			}{{"bare", bare}, {"get", get}, {"post", post}} {
				b.Run("call="+call.name, func(b *testing.B) { benchmarkLatency(b, call.load, writers) })
			}
		})
	}
}

func benchmarkLatency(b *testing.B, call, writers httpload.Load) {
	turns := benchbase.Turns(b, 4)
	call.Requests, call.Limit = max(b.N/turns, 50), processLimit
	warm := call
	warm.Requests, warm.Limit = 1<<30, processLimit/4
	var alone, beside []time.Duration
	for range turns {
		alone = append(alone, run(b, call).Durations...)
		stop := startLoad(b, writers)
		run(b, warm) // until the writers write
		beside = append(beside, run(b, call).Durations...)
		stop()
	}
	slices.Sort(alone)
	slices.Sort(beside)
	for _, percent := range []int{50, 99} {
		was, is := httpload.Percentile(alone, percent), httpload.Percentile(beside, percent)
		b.ReportMetric(float64(is.Microseconds())/1000, fmt.Sprintf("p%d-ms", percent))
		b.ReportMetric(float64(is)/float64(was), fmt.Sprintf("p%d-of-alone", percent))
	}
}

// startLoad sends a load from a child process until stop is called.
func startLoad(b testing.TB, l httpload.Load) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	var child sync.WaitGroup
	child.Go(func() {
		if _, err := httpload.Run(ctx, l); ctx.Err() == nil {
			b.Errorf("the writers stopped: %v", err)
		}
	})
	return func() {
		cancel()
		child.Wait()
	}
}

// transfers makes transfers to wallets, and returns their ids.
func (s *server) transfers(b testing.TB, n int) (ids []string) {
	b.Helper()
	for i := range n {
		caller := api.Caller{Merchant: s.merchant, IdempotencyKey: s.svc.NewID("order-")}
		made := must.Get(s.svc.Disbursements.Create(b.Context(), caller, disbursement.CreateParams{
			Amount:      decimal.New(1, -2),
			Destination: payout.DestinationParams{Type: payout.ServiceWallet, ServiceID: s.wallets[i%len(s.wallets)]},
		}))(b)
		ids = append(ids, made.ID)
	}
	return ids
}

// bareBody has the size of a transfer.
var bareBody = fmt.Sprintf("%0600d", 0)

// answerBare hashes the key, and answers the same each time.
func answerBare(w http.ResponseWriter, r *http.Request) {
	_ = sha256.Sum256([]byte(r.Header.Get("Authorization")))
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, bareBody)
}
