package lifebench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/benchbase"
	"github.com/seed-7082ffec/payments/internal/httpload"
)

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
					benchmarkPayment(b, ours, limit, connections)
				})
			}
		})
	}
}

func benchmarkPayment(b *testing.B, ours *server, limit *bareLoop, connections int) {
	const turns = 4
	share, open := max(b.N/turns, connections), maxOpen(connections, 0)
	ours.live(b, ours.ask(connections, max(share/4, connections)), open)
	var each, ofBare []float64
	var took []time.Duration
	var cpu, bareCPU time.Duration
	peak := 0
	commits := ours.commits()
	for turn := range turns {
		var bare float64
		loop := func() {
			begun := httpload.CPUTime()
			bare = limit.run(b, share)
			bareCPU += httpload.CPUTime() - begun
		}
		if turn%2 == 1 { // so that neither is always the one after the other
			loop()
		}
		done := ours.live(b, ours.ask(connections, share), open)
		if turn%2 == 0 {
			loop()
		}
		each, ofBare = append(each, done.each()), append(ofBare, bare/done.each())
		cpu, peak, took = cpu+done.cpu, max(peak, done.peak), slices.Concat(took, done.took)
	}
	commits = ours.commits() - commits
	total := float64(turns * share)
	b.ReportMetric(httpload.Median(each), "ns/op")
	b.ReportMetric(httpload.Median(ofBare), "of-bare")
	b.ReportMetric(float64(peak), "backlog")
	reportRequests(b, took, float64(commits)/total, float64(cpu.Microseconds())/total)
	b.ReportMetric(float64(bareCPU.Microseconds())/total, "bare-cpu-us/op")
}
