package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// BenchmarkDisbursement makes durable disbursements to wallets by concurrent callers, spread over
// a thousand merchants or all by one. of-limit compares with a loop of as many callers that sends
// the same prepared rows, each disbursement in one pipelined batch. The server runs on this
// machine and shares its processors.
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
				each, now := b.Elapsed(), m.store.Stats()
				b.ReportMetric(float64(now.Updates-before.Updates)/float64(now.Commits-before.Commits), "group")
				bare := m.newRawLoop(b)
				start := time.Now()
				m.run(b, callers, func(ctx context.Context, n int64) error { return bare.disburse(ctx, merchants, n) })
				b.ReportMetric(float64(time.Since(start))/float64(each), "of-limit")
			})
		}
	}
}

// market is many merchants with money, and wallets to pay.
type market struct {
	pool      *pgxpool.Pool
	schema    string
	store     *postgres.Store
	svc       *payments.Service
	merchants []string
	wallets   []*account.Consumer
	calls     atomic.Int64
	names     map[string]string // of ledger accounts, by merchant or consumer
}

func newMarket(b *testing.B) *market {
	m := &market{pool: pgtest.Pool(b, 70), schema: pgtest.Schema(b), names: map[string]string{}}
	var err error
	m.store, err = postgres.Open(b.Context(), m.pool, postgres.Config{Schema: m.schema})
	must.Do(b, err)
	m.svc, err = payments.New(b.Context(), m.store, payments.Config{BaseURL: "https://pay.example.com"})
	must.Do(b, err)
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

// rawLoop writes the rows of disbursements without their logic.
type rawLoop struct {
	*market
	inserts []string
	rows    [][]any
}

func (m *market) newRawLoop(b *testing.B) *rawLoop {
	l := &rawLoop{market: m}
	for _, table := range []string{"disbursements", "events", "events", "idempotency_keys"} {
		rows, err := m.pool.Query(b.Context(), "SELECT * FROM "+m.schema+"."+table+" ORDER BY merchant DESC, id DESC LIMIT 1")
		must.Do(b, err)
		var names, marks []string
		for i, f := range rows.FieldDescriptions() {
			names, marks = append(names, `"`+f.Name+`"`), append(marks, fmt.Sprintf("$%d", i+1))
		}
		if !rows.Next() {
			b.Fatalf("no %s: %v", table, rows.Err())
		}
		values, err := rows.Values()
		must.Do(b, err)
		rows.Close()
		l.inserts = append(l.inserts, "INSERT INTO "+m.schema+"."+table+" ("+strings.Join(names, ", ")+") VALUES ("+strings.Join(marks, ", ")+")")
		l.rows = append(l.rows, values)
	}
	for _, a := range []struct{ id, like string }{{m.merchants[0], "%merchant%"}, {m.wallets[0].ID, "%wallet%"}} {
		var name string
		err := m.pool.QueryRow(b.Context(), "SELECT name FROM "+m.schema+".ledger_accounts WHERE position($1 in name) > 0 ORDER BY entries DESC LIMIT 1", a.id).Scan(&name)
		must.Do(b, err)
		m.names[a.id] = strings.Replace(name, a.id, "%s", 1)
	}
	return l
}

func (l *rawLoop) disburse(ctx context.Context, merchants int, n int64) error {
	id := fmt.Sprintf("bare%016d", l.calls.Add(1))
	merchant := l.merchants[n%int64(merchants)]
	var q pgx.Batch
	q.Queue("BEGIN")
	for i, values := range l.rows {
		row := append([]any(nil), values...)
		row[0], row[2] = merchant, fmt.Sprint(id, i)
		q.Queue(l.inserts[i], row...)
	}
	q.Queue("INSERT INTO "+l.schema+".ledger_postings (id, type, ref, at) VALUES ($1, 'disbursement', 'dsb', 0)", id)
	move := "WITH a AS (UPDATE " + l.schema + ".ledger_accounts SET balance = balance + $2, entries = entries + 1 WHERE name = $1 RETURNING id, entries, balance)" +
		" INSERT INTO " + l.schema + ".ledger_entries (account, number, posting, amount, balance) SELECT id, entries, $3, $2, balance FROM a"
	q.Queue(move, fmt.Sprintf(l.names[l.merchants[0]], merchant), -1, id)
	q.Queue(move, fmt.Sprintf(l.names[l.wallets[0].ID], l.wallets[n*7919%1000].ID), 1, id)
	q.Queue("COMMIT")
	return l.pool.SendBatch(ctx, &q).Close()
}
