package disbursement_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/bareloop"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// payer is a merchant with money on SQLite, and wallets to pay.
type payer struct {
	*payments.Service
	store   *sqlite.Store
	path    string
	caller  api.Caller
	wallets []string
	paid    atomic.Int64 // calls begun
}

func openPayer(b *testing.B) *payer {
	path := filepath.Join(b.TempDir(), "pay.db")
	store, err := sqlite.Open(b.Context(), path, sqlite.Config{})
	check(b, err)
	b.Cleanup(func() { check(b, store.Close()) })
	p := &payer{store: store, path: path}
	p.Service, p.caller = open(b, store, payments.Config{})
	for range 9 {
		check(b, p.Accounts.Deposit(b.Context(), account.Deposit{To: p.caller.Merchant, Amount: decimal.NewFromInt(900_000), Source: "test"}))
	}
	for i := range 64 {
		c, err := p.Accounts.CreateConsumer(b.Context(), account.HolderParams{Name: "Ama Mensah", Phone: fmt.Sprintf("024%07d", 100+i)})
		check(b, err)
		p.wallets = append(p.wallets, c.ServiceID)
	}
	return p
}

// pay makes n disbursements from so many goroutines and returns how long it took.
func (p *payer) pay(b *testing.B, callers, n int) time.Duration {
	until := p.paid.Load() + int64(n)
	begun := time.Now()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for {
				i := p.paid.Add(1)
				if i > until {
					return
				}
				caller := p.caller
				caller.IdempotencyKey = fmt.Sprintf("salary-%016d", i)
				caller.RequestID = fmt.Sprintf("req_%022d", i)
				_, err := p.Disbursements.Create(b.Context(), caller, disbursement.CreateParams{
					Amount:      decimal.New(1, -2),
					Destination: payout.DestinationParams{Type: payout.ServiceWallet, ServiceID: p.wallets[i%int64(len(p.wallets))]},
					Reference:   "salary",
				})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	p.paid.Store(until)
	return time.Since(begun)
}

// bare writes the rows of n disbursements by a bare loop, group of them a commit.
func (p *payer) bare(b *testing.B, group, from, n int) time.Duration {
	each := bareloop.Call{
		Path: p.path, Insert: []string{"disbursements", "events", "events", "idempotency_keys"}, Moves: true, From: from,
	}.Run(b, group, n)
	return time.Duration(each * float64(n))
}

// BenchmarkCreate disburses to wallets from Go, each disbursement durable when Create
// returns. The metric of-limit is the rate as a share of a bare loop's, which writes
// the same rows to a database of the same schema with kept prepared statements, 32
// disbursements a commit; one a commit for one caller. The two take turns, so that a
// disk that has other work is slow for both.
func BenchmarkCreate(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			ours, limit := openPayer(b), openPayer(b)
			limit.pay(b, 1, 64)
			group := 32
			if callers == 1 {
				group = 1
			}
			ours.pay(b, 1, 64)
			before := ours.store.Stats()
			turn := max(200, b.N/8)
			var mine, bare time.Duration
			b.ReportAllocs()
			b.ResetTimer()
			for done := 0; done < b.N; done += turn {
				n := min(turn, b.N-done)
				mine += ours.pay(b, callers, n)
				b.StopTimer()
				bare += limit.bare(b, group, done, n)
				b.StartTimer()
			}
			b.StopTimer()
			now := ours.store.Stats()
			b.ReportMetric(float64(now.Updates-before.Updates)/float64(now.Commits-before.Commits), "group")
			b.ReportMetric(bare.Seconds()/mine.Seconds(), "of-limit")
		})
	}
}
