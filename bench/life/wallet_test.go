package life

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/bench/internal/benchbase"
	"github.com/seed-7082ffec/payments/bench/internal/httpload"
)

// BenchmarkWallet disburses to wallets over HTTP. Such a transfer has its outcome in its one
// commit. of-thin is the rate as a share of a thin server's under the same load. The two take
// turns, and the median of the turns counts.
func BenchmarkWallet(b *testing.B) {
	for _, on := range backends {
		b.Run("store="+on.name, func(b *testing.B) {
			ours, thin := openServer(b, on.open(b)), openThin(b, on)
			for _, connections := range []int{1, 16, 64} {
				b.Run(fmt.Sprint("connections=", connections), func(b *testing.B) {
					benchmarkWallet(b, ours, thin, connections)
				})
			}
		})
	}
}

func benchmarkWallet(b *testing.B, ours *server, thin *thinServer, connections int) {
	turns := benchbase.Turns(b, 6)
	share := max(b.N/turns, connections)
	load := ours.load(connections, share)
	load.Phones, load.Wallets = nil, ours.wallets
	other := load
	other.Address, other.Keys = thin.address, []string{thin.key}
	ours.gate.reset(1<<30, 0)
	run(b, load)
	var each, ofThin []float64
	var took []time.Duration
	var cpu time.Duration
	commits := ours.commits()
	for turn := range turns {
		var theirs float64
		if turn%2 == 1 { // so that neither is always the one after the other
			theirs = float64(run(b, other).Elapsed)
		}
		begun := httpload.CPUTime()
		done := run(b, load)
		cpu += httpload.CPUTime() - begun
		if turn%2 == 0 {
			theirs = float64(run(b, other).Elapsed)
		}
		each = append(each, float64(done.Elapsed)/float64(share))
		ofThin = append(ofThin, theirs/float64(done.Elapsed))
		took = slices.Concat(took, done.Durations)
	}
	total := float64(turns * share)
	commits = ours.commits() - commits
	b.ReportMetric(httpload.Median(each), "ns/op")
	b.ReportMetric(httpload.Median(ofThin), "of-thin")
	reportRequests(b, took, float64(commits)/total, float64(cpu.Microseconds())/total)
}

// paymentLife is what a payment from a phone writes: when it is made and submitted, and with its
// outcome. The amount is GHS 0.01, and there is no fee.
var paymentLife = benchbase.Life{Commits: []benchbase.Commit{
	{
		Insert: []string{"payments", "charge_orders", "events", "events", "events", "idempotency_keys"},
		Set:    map[string]any{"payments.status": "processing", "payments.due": int64(1), "charge_orders.open": true},
	},
	{
		Insert:  []string{"events", "messages", "messages"},
		Rewrite: []string{"payments", "charge_orders"},
		Moves:   []benchbase.Move{{Account: "/clearing/charges", Amount: -1}, {Account: "/available", Amount: 1}},
	},
}}

// ask returns the load that asks the phones for money.
func (s *server) ask(connections, n int) httpload.Load {
	l := s.load(connections, n)
	l.Ask = true
	return l
}

// watchPayments makes the outcome of a payment the end of a life.
func (s *server) watchPayments() { s.gate.watch("payments", "paid") }

func newBarePayments(b testing.TB, db *database) *bareLoop {
	b.Helper()
	return newBareLoop(b, db, paymentLife, (*server).ask, (*server).watchPayments)
}

// BenchmarkPayment asks phones for money over HTTP, until each payment is completed, the merchant
// has the money and the event of it is written. The simulated charger answers at once. The load, the
// gate and the turns are those of BenchmarkTransfer, and so are the figures; of-bare is the rate as a
// share of that of a bare loop, which writes the same rows in two commits in groups of 32.
func BenchmarkPayment(b *testing.B) {
	for _, backend := range backends {
		b.Run("store="+backend.name, func(b *testing.B) {
			ours := openServer(b, backend.open(b))
			ours.watchPayments()
			limit := newBarePayments(b, backend.open(b))
			for _, connections := range []int{16, 64} {
				b.Run(fmt.Sprint("connections=", connections), func(b *testing.B) {
					benchmarkLives(b, ours, limit, nil, ours.ask, connections, 0)
				})
			}
		})
	}
}
