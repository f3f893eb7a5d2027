package postgres_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// rowsVariable sets the number of rows in the large tables.
const rowsVariable = "PAYMENTS_TEST_ROWS"

// rowsBy is the number of merchants that own the rows.
const rowsBy = 40

// BenchmarkGrowth runs the same queries on tables with many rows and on tables of ten thousand,
// in turns. Each metric is the median time on the large tables as a multiple of that on the small
// ones. The tables are those of disbursements and webhooks, with forty merchants. Filling the
// tables takes minutes, and is not counted:
//
//	PAYMENTS_TEST_ROWS=5000000 go test -C bench ./postgres -run '^$' -bench Growth -benchtime 300x -timeout 60m
func BenchmarkGrowth(b *testing.B) {
	rows := 20_000
	if text := os.Getenv(rowsVariable); text != "" {
		var err error
		if rows, err = strconv.Atoi(text); err != nil || rows < 10_000 {
			b.Fatalf("%s is %q; it is a number from 10000 on", rowsVariable, text)
		}
	}
	pool := pgtest.Pool(b, 8)
	small, large := newGrown(b, pool, 10_000), newGrown(b, pool, rows)
	if _, err := pool.Exec(b.Context(), "CHECKPOINT"); err != nil {
		b.Log(err) // the user may not
	}
	for _, q := range questions {
		b.Run(fmt.Sprintf("rows=%d/%s", rows, q.name), func(b *testing.B) {
			took := map[*grown][]time.Duration{}
			for n := range b.N + 20 {
				for _, g := range []*grown{small, large} {
					begun := time.Now()
					must.Do(b, q.ask(b.Context(), g, n))
					if n >= 20 { // the statements are prepared
						took[g] = append(took[g], time.Since(begun))
					}
				}
			}
			median := func(g *grown) float64 {
				slices.Sort(took[g])
				return float64(took[g][len(took[g])/2])
			}
			b.ReportMetric(median(large), "ns/op")
			b.ReportMetric(median(large)/median(small), "of-small")
		})
	}
}

var questions = []struct {
	name string
	ask  func(ctx context.Context, g *grown, n int) error
}{
	{"create", func(ctx context.Context, g *grown, n int) error {
		caller := api.Caller{Merchant: g.merchants[n%len(g.merchants)], IdempotencyKey: fmt.Sprintf("grown-%d-%d", time.Now().UnixNano(), n)}
		_, err := g.svc.Disbursements.Create(ctx, caller, disbursement.CreateParams{
			Amount: decimal.New(1, -2), Destination: payout.DestinationParams{Type: "service_wallet", ServiceID: g.wallet},
		})
		return err
	}},
	{"get", func(ctx context.Context, g *grown, n int) error {
		i := n * 7919 % g.rows
		_, err := g.store.GetOne(ctx, g.kind("disbursements"), g.scope(i), g.id(i))
		return err
	}},
	{"list", func(ctx context.Context, g *grown, n int) error {
		return g.list(ctx, "disbursements", 20, storage.Query{Scope: g.scope(n)})
	}},
	{"list-deep", func(ctx context.Context, g *grown, n int) error {
		return g.list(ctx, "disbursements", 20, storage.Query{Scope: g.scope(n), After: g.id(g.rows / 2)})
	}},
	{"events-by-type", func(ctx context.Context, g *grown, n int) error {
		return g.list(ctx, "events", 20, storage.Query{
			Scope: g.scope(n % rowsBy), Where: []storage.Equal{{Column: "type", Value: fmt.Sprint("type", (n%rowsBy+1)%rowsBy%8)}}, After: g.id(g.rows / 2),
		})
	}},
	{"claim", func(ctx context.Context, g *grown, _ int) error {
		g.now = g.now.Add(time.Second) // the lease of the last one is over
		now := g.now
		return g.store.Update(ctx, func(tx storage.Tx) error {
			found, err := tx.Claim(g.kind("webhook_deliveries"), storage.Claim{Due: now, Now: now, Lease: time.Nanosecond, Limit: 10})
			if err == nil && len(found) != 10 {
				err = fmt.Errorf("%d are due", len(found))
			}
			return err
		})
	}},
}

// grown is a service over filled tables.
type grown struct {
	rows      int
	store     *postgres.Store
	svc       *payments.Service
	merchants []string
	wallet    string
	now       time.Time // of claims
}

func newGrown(b *testing.B, pool *pgxpool.Pool, rows int) *grown {
	g := &grown{rows: rows, now: time.Now()}
	schema := pgtest.Schema(b)
	check := func(err error) {
		b.Helper()
		must.Do(b, err)
	}
	var err error
	g.store, err = postgres.Open(b.Context(), pool, postgres.Config{Schema: schema})
	check(err)
	g.svc, err = payments.New(b.Context(), g.store, payments.Config{BaseURL: "https://pay.example.com"})
	check(err)
	for range rowsBy {
		m, err := g.svc.Accounts.CreateMerchant(b.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Shop"})
		check(err)
		check(g.svc.Accounts.Deposit(b.Context(), api.Caller{}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(9000), Source: "bench"}))
		g.merchants = append(g.merchants, m.ID)
	}
	c, err := g.svc.Accounts.CreateConsumer(b.Context(), api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: "0241000001"})
	check(err)
	g.wallet = c.ServiceID
	check(g.fill(b.Context(), pool, schema))
	return g
}

func (g *grown) kind(name string) *storage.Kind {
	for _, k := range payments.Kinds() {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// id returns the id of row i, counted from 0, and scope its scope.
func (g *grown) id(i int) string { return fmt.Sprintf("id_%09d", i%g.rows+1) }

func (g *grown) scope(i int) storage.Scope {
	return storage.Scope{Merchant: g.merchants[(i%g.rows+1)%len(g.merchants)]}
}

func (g *grown) list(ctx context.Context, kind string, n int, q storage.Query) error {
	q.Limit = n
	return g.store.View(ctx, func(tx storage.ReadTx) error {
		found, err := tx.List(g.kind(kind), q)
		if err == nil && len(found) != n {
			err = fmt.Errorf("%d of %s are listed", len(found), kind)
		}
		return err
	})
}
