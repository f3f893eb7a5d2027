package bench

import (
	"errors"
	"log/slog"
	"math"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/bench/internal/benchbase"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
	"github.com/seed-7082ffec/payments/storage/sqlite"
	"github.com/seed-7082ffec/payments/subscription"
)

// gym is a merchant whose members all pay for the same month.
type gym struct {
	*payments.Service
	store  storage.Store
	caller api.Caller
	plan   string
	member string // the customer of all subscriptions
	ahead  atomic.Int64
	ids    []string // of the first ones
}

func (g *gym) now() time.Time {
	return time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC).Add(time.Duration(g.ahead.Load()))
}

func openGym(b *testing.B, store storage.Store, members int) *gym {
	b.Helper()
	g := &gym{store: store, ids: make([]string, min(members, 1000))}
	b.Cleanup(func() { must.Do(b, store.Close()) })
	g.Service = must.Get(payments.New(b.Context(), store, payments.Config{
		Logger: slog.New(slog.DiscardHandler), Clock: g.now,
	}))(b)
	ctx := b.Context()
	g.caller = api.Caller{Merchant: must.Get(g.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Gym"}))(b).ID}
	g.member = must.Get(g.Accounts.CreateCustomer(ctx, g.caller, account.CreateCustomerParams{Name: "Esi"}))(b).ID
	g.plan = must.Get(g.Plans.Create(ctx, g.caller, catalog.CreatePlanParams{Name: "Gold", Amount: 5000, Interval: catalog.Month}))(b).ID
	var next atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for n := next.Add(1) - 1; n < int64(members); n = next.Add(1) - 1 {
				made, err := g.Subscriptions.Create(ctx, g.caller, subscription.CreateParams{Customer: g.member, Plan: g.plan, DaysUntilDue: new(int64(365))})
				if err != nil {
					b.Error(err)
					return
				}
				if n < int64(len(g.ids)) {
					g.ids[n] = made.ID
				}
			}
		})
	}
	all.Wait()
	must.Do(b, g.Drain(ctx))
	g.ahead.Store(int64(31*24*time.Hour + 30*time.Minute))
	return g
}

// list reads pages of subscriptions: the newest ones, by each filter, and the last ones.
func (g *gym) list(b *testing.B) {
	for _, p := range []subscription.ListParams{
		{}, {Status: subscription.Active}, {Plan: g.plan}, {Customer: g.member}, {Page: api.Page{StartingAfter: g.ids[30]}},
	} {
		p.Limit = 20
		page := must.Get(g.Subscriptions.List(b.Context(), g.caller, p))(b)
		must.True(b, len(page.Data) == 20, "a page of %d", len(page.Data))
	}
}

// claim claims a batch of subscriptions that are due, and undoes it.
func (g *gym) claim(b *testing.B) {
	undo := errors.New("undo")
	err := g.store.Update(b.Context(), func(tx storage.Tx) error {
		claimed, err := tx.Claim(kind("subscriptions"), storage.Claim{Due: g.now(), Now: g.now(), Lease: time.Minute, Limit: 64})
		must.True(b, err != nil || len(claimed) == 64, "%d are claimed", len(claimed))
		return errors.Join(err, undo)
	})
	must.True(b, errors.Is(err, undo), "%v", err)
}

// flat returns what one call on a gym costs, as a multiple of what it costs on a small one. They take turns.
func flat(grown, small *gym, do func(*gym)) float64 {
	var of [2][]time.Duration
	for range 100 {
		for i, g := range []*gym{grown, small} {
			begun := time.Now()
			do(g)
			of[i] = append(of[i], time.Since(begun))
		}
	}
	for i := range of {
		slices.Sort(of[i])
	}
	return float64(of[0][50]) / float64(of[1][50])
}

// liveHeap returns the bytes that the last collection found live.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// watchHeap returns a function that returns the largest live heap since, in megabytes.
func watchHeap() (peak func() float64) {
	runtime.GC()
	most := liveHeap()
	done, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
				most = max(most, liveHeap())
			}
		}
	}()
	return func() float64 {
		close(done)
		<-sampled
		return float64(most) / 1e6
	}
}

// gymStores are the databases of BenchmarkRenewals.
var gymStores = []struct {
	name string
	// open opens an empty database. commits returns how many updates and commits it has seen. bare has a bare
	// loop write n renewals like those of the gym, group of them a commit.
	open func(b *testing.B) (store storage.Store, commits func() (int64, int64), bare func(g *gym, group, n int) float64)
}{
	{"sqlite", func(b *testing.B) (storage.Store, func() (int64, int64), func(*gym, int, int) float64) {
		path := filepath.Join(b.TempDir(), "gym.db")
		store := must.Get(sqlite.Open(b.Context(), path, sqlite.Config{}))(b)
		return store, func() (int64, int64) { s := store.Stats(); return s.Updates, s.Commits }, func(g *gym, group, n int) float64 {
			return benchbase.Call{
				Path: path, Insert: []string{"invoices", "events", "events", "events"}, Vary: map[string][]string{"invoices.token": nil},
				Touch: "subscriptions", IDs: g.ids, Times: 2, Merchant: g.caller.Merchant,
			}.Run(b, group, n)
		}
	}},
	{"postgres", func(b *testing.B) (storage.Store, func() (int64, int64), func(*gym, int, int) float64) {
		pool, schema := pgtest.Pool(b, 32), pgtest.Schema(b)
		store := must.Get(postgres.Open(b.Context(), pool, postgres.Config{Schema: schema}))(b)
		// The loop inserts a subscription where a claim rewrites one.
		tokens := map[string]any{"subscriptions.token": benchbase.OwnID, "invoices.token": benchbase.OwnID}
		renewal := benchbase.Life{Commits: []benchbase.Commit{
			{Insert: []string{"subscriptions"}, Set: tokens},
			{Insert: []string{"invoices", "events", "events", "events"}, Rewrite: []string{"subscriptions"}, Set: tokens},
		}}
		return store, func() (int64, int64) { s := store.Stats(); return s.Updates, s.Commits }, func(_ *gym, group, n int) float64 {
			return renewal.Postgres(b, pool, schema, group, n)
		}
	}},
}

// BenchmarkRenewals renews b.N active subscriptions that are due in the same hour.
//
//   - of-limit is the rate as a share of a bare loop's that writes the same rows: an invoice, three events, and
//     the subscription at its claim and with its new period.
//   - live-MB is the largest live heap. It has the caches of two stores, of up to 65,536 records each.
//   - list-of-1000 and claim-of-1000 are the times of pages of the list and of the claim of a batch, before
//     the renewals, as a multiple of those beside 1,000 subscriptions.
//
// Run it with:
//
//	go test -C bench . -run - -bench Renewals -benchtime 100000x -timeout 60m
func BenchmarkRenewals(b *testing.B) {
	for _, on := range gymStores {
		b.Run("store="+on.name, func(b *testing.B) {
			store, commits, _ := on.open(b)
			g := openGym(b, store, b.N)
			store, _, bare := on.open(b)
			small := openGym(b, store, 1000)
			list, claim := math.NaN(), math.NaN()
			if b.N >= 64 {
				list, claim = flat(g, small, func(g *gym) { g.list(b) }), flat(g, small, func(g *gym) { g.claim(b) })
			}
			updates, before := commits()
			peak := watchHeap()
			b.ResetTimer()
			must.Do(b, g.Drain(b.Context()))
			b.StopTimer()
			b.ReportMetric(peak(), "live-MB")
			b.ReportMetric(list, "list-of-1000")
			b.ReportMetric(claim, "claim-of-1000")
			each := float64(b.Elapsed()) / float64(b.N)
			after, now := commits()
			group := float64(after-updates) / float64(now-before)
			b.ReportMetric(group, "group")
			is := must.Get(g.Subscriptions.Get(b.Context(), g.caller, g.ids[len(g.ids)-1]))(b)
			must.True(b, is.CurrentPeriodStart > is.Created, "it was not renewed: %+v", is)
			b.ReportMetric(bare(small, max(1, int(math.Round(group))), b.N)/each, "of-limit")
		})
	}
}
