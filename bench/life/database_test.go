package life

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/bench/internal/benchbase"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// database is an empty database with a store on it.
type database struct {
	store storage.Store
	// commits returns how many transactions the store has committed.
	commits func() int64
	// bare writes n lives by a bare loop, group of them a commit, and returns the nanoseconds
	// that each took. The store must be idle, and is of no use afterwards.
	bare func(b testing.TB, life benchbase.Life, group, n int) float64
	// count returns the number that a query selects. Table names are those of the store.
	count func(b testing.TB, query string) int64
}

// poolSize is how many connections to PostgreSQL a server may have.
const poolSize = 32

// backend is a kind of database.
type backend struct {
	name string
	open func(testing.TB) *database
	// thin returns the tables of a thin server, in a database of their own.
	thin func(b testing.TB, accounts int) thinTables
}

var backends = []backend{{"sqlite", openSQLite, openThinSQLite}, {"postgres", openPostgres, openThinPostgres}}

func openSQLite(b testing.TB) *database {
	b.Helper()
	path := filepath.Join(b.TempDir(), "life.db")
	store := must.Get(sqlite.Open(b.Context(), path, sqlite.Config{}))(b)
	b.Cleanup(func() { must.Do(b, store.Close()) })
	return &database{
		store:   store,
		commits: func() int64 { return store.Stats().Commits },
		bare: func(b testing.TB, life benchbase.Life, group, n int) float64 {
			b.Helper()
			return life.SQLite(b, path, group, n)
		},
		count: func(b testing.TB, query string) (n int64) {
			b.Helper()
			db := must.Get(sql.Open("sqlite", "file:"+path))(b)
			defer db.Close()
			must.Do(b, db.QueryRowContext(b.Context(), query).Scan(&n))
			return n
		},
	}
}

func openPostgres(b testing.TB) *database {
	b.Helper()
	postgresURL(b)
	return openSchema(b, pgtest.Pool(b, poolSize), pgtest.Schema(b))
}

var fillLog sync.Once

// postgresURL returns the address of PostgreSQL, ready to be measured, or skips the test.
func postgresURL(b testing.TB) string {
	b.Helper()
	url := pgtest.URL(b)
	if _, ok := b.(*testing.B); ok {
		fillLog.Do(func() { benchbase.FillLog(b, url) })
	}
	return url
}

func openSchema(b testing.TB, pool *pgxpool.Pool, schema string) *database {
	b.Helper()
	store := must.Get(postgres.Open(b.Context(), pool, postgres.Config{Schema: schema}))(b)
	b.Cleanup(func() { must.Do(b, store.Close()) })
	return &database{
		store:   store,
		commits: func() int64 { return store.Stats().Commits },
		bare: func(b testing.TB, life benchbase.Life, group, n int) float64 {
			b.Helper()
			return life.Postgres(b, pool, schema, group, n)
		},
		count: func(b testing.TB, query string) (n int64) {
			b.Helper()
			conn := must.Get(pgx.Connect(b.Context(), pgtest.URL(b)))(b)
			defer conn.Close(context.Background())
			must.Get(conn.Exec(b.Context(), "SET search_path = "+schema))(b)
			must.Do(b, conn.QueryRow(b.Context(), query).Scan(&n))
			return n
		},
	}
}
