package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// BenchmarkDisbursement makes durable disbursements to wallets by concurrent callers, spread over
// a thousand merchants or all by one. With -benchmem it prints what a disbursement takes of memory. The
// server runs on this machine and shares its processors.
func BenchmarkDisbursement(b *testing.B) {
	m := newMarket(b)
	for _, merchants := range []int{1000, 1} {
		for _, callers := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("merchants=%d/callers=%d", merchants, callers), func(b *testing.B) {
				m.warm(b, merchants)
				before := m.store.Stats()
				b.ResetTimer()
				m.run(b, callers, func(ctx context.Context, n int64) error { return m.disburse(ctx, merchants, n) })
				b.StopTimer()
				now := m.store.Stats()
				b.ReportMetric(float64(now.Updates-before.Updates)/float64(now.Commits-before.Commits), "group")
			})
		}
	}
}

// market is many merchants with money, and wallets to pay.
type market struct {
	pool      *pgxpool.Pool
	store     *postgres.Store
	svc       *payments.Service
	merchants []string
	wallets   []*account.Consumer
	calls     atomic.Int64
}

func newMarket(b *testing.B) *market {
	m := &market{pool: pgtest.Pool(b, 70)}
	m.store = must.Get(postgres.Open(b.Context(), m.pool, postgres.Config{Schema: pgtest.Schema(b)}))(b)
	m.svc = must.Get(payments.New(b.Context(), m.store, payments.Config{BaseURL: "https://pay.example.com"}))(b)
	m.merchants, m.wallets = make([]string, 1000), make([]*account.Consumer, 1000)
	m.forEach(b, 1000, func(ctx context.Context, i int) error {
		merchant, err := m.svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Shop"})
		if err != nil {
			return err
		}
		m.merchants[i] = merchant.ID
		for range 9 {
			if err := m.svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: merchant.ID, Amount: decimal.NewFromInt(900_000), Source: "bench"}); err != nil {
				return err
			}
		}
		m.wallets[i], err = m.svc.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: fmt.Sprintf("024%07d", 100+i)})
		return err
	})
	return m
}

func (m *market) forEach(b *testing.B, n int, fn func(context.Context, int) error) {
	var all sync.WaitGroup
	for part := range 64 {
		all.Go(func() {
			for i := part; i < n; i += 64 {
				if err := fn(b.Context(), i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// warm loads every wallet into the cache.
func (m *market) warm(b *testing.B, merchants int) {
	m.forEach(b, 1000, func(ctx context.Context, i int) error { return m.disburse(ctx, merchants, int64(i)) })
}

func (m *market) run(b *testing.B, callers int, fn func(context.Context, int64) error) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := fn(b.Context(), n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

func (m *market) disburse(ctx context.Context, merchants int, n int64) error {
	caller := api.Caller{Merchant: m.merchants[n%int64(merchants)], IdempotencyKey: fmt.Sprintf("salary-%016d", m.calls.Add(1))}
	_, err := m.svc.Disbursements.Create(ctx, caller, disbursement.CreateParams{
		Amount:      decimal.New(1, -2),
		Destination: payout.DestinationParams{Type: "service_wallet", ServiceID: m.wallets[n*7919%1000].ServiceID},
		Reference:   "salary",
	})
	return err
}
