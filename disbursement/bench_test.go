package disbursement_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
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
	random  bool         // keys come in no order
}

// key is the idempotency key of a call.
func (p *payer) key(i int64) string {
	if p.random {
		return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64())
	}
	return fmt.Sprintf("salary-%016d", i)
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
				caller.IdempotencyKey = p.key(i)
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

// rowsVariable says with how many disbursements BenchmarkGrown begins.
const rowsVariable = "PAYMENTS_TEST_ROWS"

// BenchmarkGrown disburses where so many disbursements have been made before, with
// all that each has left: six rows, under idempotency keys in no order, as clients make them. The
// metric of-empty is the rate as a share of that on a database without them, with
// which it takes turns; heap-of-empty is what the process holds then, with the
// database open, to what it holds with the other one.
//
//	PAYMENTS_TEST_ROWS=1000000 go test ./disbursement -run '^$' -bench Grown -benchtime 20000x -timeout 60m
func BenchmarkGrown(b *testing.B) {
	rows := 30_000
	if text := os.Getenv(rowsVariable); text != "" {
		var err error
		if rows, err = strconv.Atoi(text); err != nil || rows < 1000 {
			b.Fatalf("%s is %q; it is a number from 1000 on", rowsVariable, text)
		}
	}
	empty := openPayer(b)
	empty.random = true
	empty.pay(b, 64, 2000)
	small := heap()
	grown := openPayer(b)
	grown.random = true
	grown.pay(b, 1, 64)
	bareloop.Call{
		Path: grown.path, Insert: []string{"disbursements", "events", "events", "idempotency_keys"}, Moves: true,
	}.Fill(b, rows)
	grown.pay(b, 64, 2000)
	b.Run(fmt.Sprint("rows=", rows), func(b *testing.B) {
		turn := max(200, b.N/8)
		var many, few time.Duration
		for done := 0; done < b.N; done += turn {
			n := min(turn, b.N-done)
			many += grown.pay(b, 64, n)
			b.StopTimer()
			few += empty.pay(b, 64, n)
			b.StartTimer()
		}
		b.StopTimer()
		b.ReportMetric(few.Seconds()/many.Seconds(), "of-empty")
		b.ReportMetric(float64(heap()-small)/float64(small), "heap-of-empty")
	})
}

// heap is how many bytes the process holds that are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
