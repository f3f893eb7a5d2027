package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
	"github.com/seed-7082ffec/payments/storage/storagetest"
)

// A pool behind a proxy prepares nothing that lasts.
func TestContractBehindAProxy(t *testing.T) {
	config, err := pgxpool.ParseConfig(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	storagetest.Run(t, func(t *testing.T) storage.Store {
		schema := pgtest.Schema(t)
		store, err := postgres.Open(t.Context(), pool, postgres.Config{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		return store
	})
}
