package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
	"github.com/seed-7082ffec/payments/storage/storagetest"
)

func TestContract(t *testing.T) {
	contract(t, pgtest.Pool(t, 16))
}

// contract runs the suite on stores with the given pool.
func contract(t *testing.T, pool *pgxpool.Pool) {
	var schema string
	reopen := func(t *testing.T) storage.Store {
		return must.Get(postgres.Open(t.Context(), pool, postgres.Config{Schema: schema}))(t)
	}
	storagetest.Run(t, func(t *testing.T) storage.Store {
		schema = testkit.Schema(t, pool)
		return reopen(t)
	}, storagetest.Reopens(reopen))
}
