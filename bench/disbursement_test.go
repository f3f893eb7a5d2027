package bench

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/bench/internal/benchbase"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage"
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
	random  bool         // random order of keys
	ids     []string     // of disbursements, for reading
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
	store := must.Get(sqlite.Open(b.Context(), path, sqlite.Config{}))(b)
	b.Cleanup(func() { must.Do(b, store.Close()) })
	p := &payer{store: store, path: path}
	p.Service = must.Get(payments.New(b.Context(), store, payments.Config{Logger: slog.New(slog.DiscardHandler)}))(b)
	p.caller.Merchant = must.Get(p.Accounts.CreateMerchant(b.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: "0301000000"}))(b).ID
	for range 9 {
		must.Do(b, p.Accounts.Deposit(b.Context(), api.Caller{}, account.DepositParams{To: p.caller.Merchant, Amount: decimal.NewFromInt(900_000), Source: "test"}))
	}
	for i := range 64 {
		c := must.Get(p.Accounts.CreateConsumer(b.Context(), api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: fmt.Sprintf("024%07d", 100+i)}))(b)
		p.wallets = append(p.wallets, c.ServiceID)
	}
	return p
}

// pay makes n disbursements from callers goroutines and returns the time that it took.
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

// bare writes the rows of n disbursements in a bare loop, group of them in a commit.
func (p *payer) bare(b *testing.B, group, from, n int) time.Duration {
	each := benchbase.Call{
		Path: p.path, Insert: []string{"disbursements", "events", "events", "idempotency_keys"}, Moves: true, From: from,
	}.Run(b, group, n)
	return time.Duration(each * float64(n))
}

// BenchmarkCreate disburses to wallets from Go. Each disbursement is durable when Create returns.
// The metric of-limit is the rate as a share of a bare loop's. The loop writes the same rows to
// the same schema with prepared statements, 32 disbursements in a commit, or one for a single
// caller. The two take turns, so that other work of the disk slows both. See docs/performance.md.
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

// rowsVariable sets the number of earlier disbursements in BenchmarkGrown.
const rowsVariable = "PAYMENTS_TEST_ROWS"

// BenchmarkGrown works on a database with many earlier disbursements and their rows. Each has six
// rows, an idempotency key in random order, and a webhook delivery. One delivery in a thousand is
// still to be made. The metric of-empty is the rate as a share of the rate on a database with
// some thousand, with which it takes turns. heap-of-empty compares the memory that the large
// database adds with the memory for the small one.
//
//	PAYMENTS_TEST_ROWS=1000000 go test -C bench . -run '^$' -bench Grown -benchtime 20000x -timeout 60m
func BenchmarkGrown(b *testing.B) {
	rows := 30_000
	if text := os.Getenv(rowsVariable); text != "" {
		var err error
		rows, err = strconv.Atoi(text)
		must.True(b, err == nil && rows >= 1000, "%s is %q; it is a number from 1000 on", rowsVariable, text)
	}
	empty := openPayer(b)
	empty.random = true
	empty.pay(b, 64, 2000)
	empty.owe(b, 1000)
	empty.ids = empty.list(b, payout.ListParams{Page: api.Page{Limit: 100}})
	small := heap()
	grown := openPayer(b)
	grown.random = true
	grown.pay(b, 64, 2000)
	grown.owe(b, 1)
	benchbase.Call{
		Path: grown.path, Insert: []string{"disbursements", "events", "events", "idempotency_keys", "webhook_deliveries"}, Moves: true,
	}.Fill(b, rows)
	made := grown.list(b, payout.ListParams{Page: api.Page{Limit: 1}})[0]
	for i := range 1000 {
		grown.ids = append(grown.ids, fmt.Sprintf("%s0%018d", made[:4], 1+(i*7919)%rows))
	}

	b.Run(fmt.Sprint("rows=", rows, "/create"), func(b *testing.B) {
		turns(b, empty, grown, func(p *payer, n int) time.Duration { return p.pay(b, 64, n) })
		b.ReportMetric(float64(heap()-small)/float64(small), "heap-of-empty")
	})
	b.Run(fmt.Sprint("rows=", rows, "/start"), func(b *testing.B) {
		turns(b, empty, grown, func(p *payer, n int) time.Duration {
			var all time.Duration
			for range n {
				all += p.start(b)
			}
			return all
		})
	})
	for name, read := range map[string]func(p *payer, i int){
		"get":  func(p *payer, i int) { must.Get(p.Disbursements.Get(b.Context(), p.caller, p.ids[i%len(p.ids)]))(b) },
		"list": func(p *payer, _ int) { p.list(b, payout.ListParams{Page: api.Page{Limit: 20}}) },
		"list-deep": func(p *payer, i int) {
			p.list(b, payout.ListParams{Page: api.Page{Limit: 20, StartingAfter: p.ids[1+i%50]}})
		},
		"list-by-status": func(p *payer, _ int) {
			p.list(b, payout.ListParams{Page: api.Page{Limit: 20}, Status: payout.Completed})
		},
		"events-by-type": func(p *payer, _ int) {
			all := must.Get(p.Events.List(b.Context(), p.caller, event.ListParams{Page: api.Page{Limit: 20}, Type: "disbursement.completed"}))(b)
			must.True(b, len(all.Data) == 20, "%d events", len(all.Data))
		},
		"webhook-claim": func(p *payer, _ int) { p.claim(b) },
	} {
		b.Run(fmt.Sprint("rows=", rows, "/", name), func(b *testing.B) {
			turns(b, empty, grown, func(p *payer, n int) time.Duration {
				begun := time.Now()
				for i := range n {
					read(p, i)
				}
				return time.Since(begun)
			})
		})
	}
}

// turns has two payers do the same in turns, and reports the rate of the grown one as a share of
// the other's.
func turns(b *testing.B, empty, grown *payer, do func(p *payer, n int) time.Duration) {
	turn := max(10, b.N/8)
	var many, few time.Duration
	b.ResetTimer()
	for done := 0; done < b.N; done += turn {
		n := min(turn, b.N-done)
		many += do(grown, n)
		b.StopTimer()
		few += do(empty, n)
		b.StartTimer()
	}
	b.StopTimer()
	b.ReportMetric(few.Seconds()/many.Seconds(), "of-empty")
}

// start opens the file again, as a new process does, and returns the time until it serves calls.
func (p *payer) start(b *testing.B) time.Duration {
	begun := time.Now()
	store := must.Get(sqlite.Open(b.Context(), p.path, sqlite.Config{}))(b)
	must.Get(payments.New(b.Context(), store, payments.Config{Logger: slog.New(slog.DiscardHandler)}))(b)
	took := time.Since(begun)
	must.Do(b, store.Close())
	return took
}

// list returns the ids of a page.
func (p *payer) list(b *testing.B, params payout.ListParams) (ids []string) {
	all := must.Get(p.Disbursements.List(b.Context(), p.caller, params))(b)
	must.True(b, len(all.Data) == params.Limit, "%d disbursements", len(all.Data))
	for _, d := range all.Data {
		ids = append(ids, d.ID)
	}
	return ids
}

// owe writes deliveries that are due.
func (p *payer) owe(b *testing.B, n int) {
	must.Do(b, p.store.Update(b.Context(), func(tx storage.Tx) error {
		for i := range n {
			r := storage.Record{
				Scope: storage.Scope{Merchant: p.caller.Merchant}, ID: fmt.Sprintf("wd_1%019d", i),
				Columns: []any{"we_1", fmt.Sprintf("evt_%d", i), time.UnixMilli(1000)}, Data: []byte("{}"),
			}
			if err := tx.Insert(kind("webhook_deliveries"), r); err != nil {
				return err
			}
		}
		return nil
	}))
}

// claim claims one delivery, with a lease that ends at once.
func (p *payer) claim(b *testing.B) {
	now := time.Now()
	must.Do(b, p.store.Update(b.Context(), func(tx storage.Tx) error {
		claimed, err := tx.Claim(kind("webhook_deliveries"), storage.Claim{Due: now, Now: now, Lease: time.Millisecond, Limit: 1})
		if err == nil && len(claimed) != 1 {
			return fmt.Errorf("%d deliveries claimed", len(claimed))
		}
		return err
	}))
}

// kind returns the kind of record with this name.
func kind(name string) *storage.Kind {
	kinds := payments.Kinds()
	return kinds[slices.IndexFunc(kinds, func(k *storage.Kind) bool { return k.Name == name })]
}

// heap returns the number of heap bytes in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
