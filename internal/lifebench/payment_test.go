package lifebench

import (
	"fmt"
	"testing"

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
					benchmarkLives(b, ours, limit, nil, ours.ask, connections, 0)
				})
			}
		})
	}
}
