package subscription_test

import (
	"log/slog"
	"math"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/benchbase"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage/sqlite"
	"github.com/seed-7082ffec/payments/subscription"
)

// gym is a merchant on SQLite whose members all pay for the same month.
type gym struct {
	*payments.Service
	store  *sqlite.Store
	caller api.Caller
	ahead  atomic.Int64
	ids    []string
}

func openGym(b *testing.B, path string, members int) *gym {
	b.Helper()
	g := &gym{ids: make([]string, members)}
	g.store = must.Get(sqlite.Open(b.Context(), path, sqlite.Config{}))(b)
	b.Cleanup(func() { must.Do(b, g.store.Close()) })
	start := time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)
	g.Service = must.Get(payments.New(b.Context(), g.store, payments.Config{
		Logger: slog.New(slog.DiscardHandler), Clock: func() time.Time { return start.Add(time.Duration(g.ahead.Load())) },
	}))(b)
	ctx := b.Context()
	g.caller = api.Caller{Merchant: must.Get(g.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Gym"}))(b).ID}
	customer := must.Get(g.Accounts.CreateCustomer(ctx, g.caller, account.CreateCustomerParams{Name: "Esi"}))(b)
	plan := must.Get(g.Plans.Create(ctx, g.caller, catalog.CreatePlanParams{Name: "Gold", Amount: 5000, Interval: catalog.Month}))(b)
	var next atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for n := next.Add(1) - 1; n < int64(members); n = next.Add(1) - 1 {
				made, err := g.Subscriptions.Create(ctx, g.caller, subscription.CreateParams{Customer: customer.ID, Plan: plan.ID, DaysUntilDue: new(int64(365))})
				if err != nil {
					b.Error(err)
					return
				}
				g.ids[n] = made.ID
			}
		})
	}
	all.Wait()
	return g
}

// BenchmarkRenewals renews b.N active subscriptions that are due in the same hour, on SQLite. The metric
// of-limit is the rate as a share of a bare loop's that writes the same rows: an invoice, three events, and
// the subscription at its claim and with its new period. heap-MB is the largest growth of the heap.
//
//	go test ./subscription -run - -bench Renewals -benchtime 100000x
func BenchmarkRenewals(b *testing.B) {
	g := openGym(b, filepath.Join(b.TempDir(), "gym.db"), b.N)
	before := g.store.Stats()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	start, most := memory.HeapAlloc, uint64(0)
	done, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapAlloc)
			}
		}
	}()
	g.ahead.Store(int64(31*day + 30*time.Minute))
	b.ResetTimer()
	must.Do(b, g.Drain(b.Context()))
	b.StopTimer()
	close(done)
	<-sampled
	each := float64(b.Elapsed()) / float64(b.N)
	now := g.store.Stats()
	group := float64(now.Updates-before.Updates) / float64(now.Commits-before.Commits)
	b.ReportMetric(group, "group")
	b.ReportMetric(float64(max(most, start)-start)/1e6, "heap-MB")
	is := must.Get(g.Subscriptions.Get(b.Context(), g.caller, g.ids[b.N-1]))(b)
	must.True(b, is.CurrentPeriodStart > is.Created, "it was not renewed: %+v", is)

	path := filepath.Join(b.TempDir(), "bare.db")
	bare := openGym(b, path, min(b.N, 1000))
	limit := benchbase.Call{
		Path: path, Insert: []string{"invoices", "events", "events", "events"}, Vary: map[string][]string{"invoices.token": nil},
		Touch: "subscriptions", IDs: bare.ids, Times: 2, Merchant: bare.caller.Merchant,
	}.Run(b, max(1, int(math.Round(group))), b.N)
	b.ReportMetric(limit/each, "of-limit")
}
