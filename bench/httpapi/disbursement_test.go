package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/bench/internal/benchbase"
	"github.com/seed-7082ffec/payments/bench/internal/httpload"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// BenchmarkDisbursement disburses to wallets over HTTP, through all of /v1: API
// key, idempotency key, ledger and events, each disbursement durable when it is
// answered. The load comes from another process, and shares the processors.
//
// The metric of-limit is the rate as a share of a bare loop's, which writes the same
// rows, 32 disbursements a commit, and has the processors to itself. p99-of-alone is the
// 99th percentile as a share of that of the same server with a commit for each
// disbursement, p50-of-alone the median. All take turns, and what is told is the median of
// the turns; a percentile is that of all requests of all turns. cpu-us/op is the processor
// time of this process for each disbursement, load-us/op that of the other.
//
// docs/notes/performance.md says where the time goes and what was tried.
func BenchmarkDisbursement(b *testing.B) {
	for _, connections := range []int{1, 16, 64} {
		b.Run(fmt.Sprint("connections=", connections), func(b *testing.B) {
			ours, alone, limit := openDesk(b, sqlite.Config{}), openDesk(b, sqlite.Config{MaxBatchSize: 1}), openDesk(b, sqlite.Config{})
			before := ours.store.Stats()
			turns := benchbase.Turns(b, 8)
			share := max(b.N/turns, 4*connections)
			var each, shares []float64
			var together, apart []time.Duration
			var cpu, load time.Duration
			for turn := range turns {
				own := httpload.CPUTime()
				done := ours.disburse(b, connections, share)
				cpu, load = cpu+httpload.CPUTime()-own, load+done.CPUTime
				together = append(together, done.Durations...)
				bare := limit.bare(b, 32, turn*share, share)
				apart = append(apart, alone.disburse(b, connections, max(share/3, 4*connections)).Durations...)
				each = append(each, float64(done.Elapsed)/float64(share))
				shares = append(shares, bare/each[turn])
			}
			now := ours.store.Stats()
			slices.Sort(together)
			slices.Sort(apart)
			b.ReportMetric(httpload.Median(each), "ns/op")
			b.ReportMetric(httpload.Median(shares), "of-limit")
			b.ReportMetric(float64(now.Updates-before.Updates)/float64(now.Commits-before.Commits), "group")
			b.ReportMetric(float64(httpload.Percentile(together, 99).Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(httpload.Percentile(together, 50))/float64(httpload.Percentile(apart, 50)), "p50-of-alone")
			b.ReportMetric(float64(httpload.Percentile(together, 99))/float64(httpload.Percentile(apart, 99)), "p99-of-alone")
			b.ReportMetric(float64(cpu.Microseconds())/float64(turns*share), "cpu-us/op")
			b.ReportMetric(float64(load.Microseconds())/float64(turns*share), "load-us/op")
		})
	}
}

// desk is a server as a host runs it, over a database in which a merchant has money,
// and wallets to pay.
type desk struct {
	*served
	path, key string
	caller    api.Caller // the merchant with money
	wallets   []string
}

func openDesk(b *testing.B, config sqlite.Config) *desk {
	d := &desk{path: filepath.Join(b.TempDir(), "desk.db")}
	var err error
	d.served, err = serveFile(b.Context(), d.path, config)
	must.Do(b, err)
	b.Cleanup(func() { must.Do(b, d.close()) })
	ctx := b.Context()
	merchant := must.Get(d.svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: "0301000000"}))(b)
	d.caller.Merchant = merchant.ID
	key := must.Get(d.svc.Accounts.CreateKey(ctx, d.caller, account.CreateKeyParams{Name: "bench"}))(b)
	d.key = key.Secret
	for range 9 {
		must.Do(b, d.svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: merchant.ID, Amount: decimal.NewFromInt(900_000), Source: "test"}))
	}
	for i := range 64 {
		c := must.Get(d.svc.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: fmt.Sprintf("024%07d", 100+i)}))(b)
		d.wallets = append(d.wallets, c.ServiceID)
	}
	d.disburse(b, 16, 640)
	return d
}

// disburse has another process send so many disbursements.
func (d *desk) disburse(b *testing.B, connections, n int) httpload.Load {
	done, err := httpload.Run(b.Context(), httpload.Load{
		Address: d.address, Connections: connections, Requests: n, Keys: []string{d.key}, Wallets: d.wallets,
	})
	must.Do(b, err)
	return done
}

// left are the tables that a disbursement leaves a row in.
var left = []string{"disbursements", "events", "events", "idempotency_keys"}

// bare returns the nanoseconds that the rows of a disbursement take to write by a bare
// loop, so many a commit.
func (d *desk) bare(b *testing.B, group, from, n int) float64 {
	return benchbase.Call{Path: d.path, Insert: left, Moves: true, From: from}.Run(b, group, n)
}

// served is the library over a file, answering on an address.
type served struct {
	svc     *payments.Service
	store   *sqlite.Store
	server  *http.Server
	address string
	close   func() error // may be called again
}

func serveFile(ctx context.Context, path string, config sqlite.Config) (*served, error) {
	store, err := sqlite.Open(ctx, path, config)
	if err != nil {
		return nil, err
	}
	quiet := slog.New(slog.DiscardHandler)
	svc, err := payments.New(ctx, store, payments.Config{Logger: quiet})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	s := &served{
		svc: svc, store: store, server: httpapi.NewServer("", httpapi.New(svc, httpapi.Config{Logger: quiet})),
		address: listener.Addr().String(),
	}
	ended := make(chan error, 1)
	go func() { ended <- s.server.Serve(listener) }()
	s.close = sync.OnceValue(func() error {
		err := s.server.Close()
		if why := <-ended; !errors.Is(why, http.ErrServerClosed) {
			err = errors.Join(err, why)
		}
		return errors.Join(err, s.store.Close())
	})
	return s, nil
}
