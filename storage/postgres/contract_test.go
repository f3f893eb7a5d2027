package postgres_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
	"github.com/seed-7082ffec/payments/storage/storagetest"
)

func TestContract(t *testing.T) {
	contract(t, pgtest.Pool(t, 16))
}

// contract runs the suite on stores with the given pool. The server takes longer to make a schema than to run
// most of the tests. So a test gets the emptied schema of the one before it, unless that one has declared more
// than the first test did.
func contract(t *testing.T, pool *pgxpool.Pool) {
	var schema, declared string
	reopen := func(t *testing.T) storage.Store {
		return must.Get(postgres.Open(t.Context(), pool, postgres.Config{Schema: schema}))(t)
	}
	storagetest.Run(t, func(t *testing.T) storage.Store {
		if schema != "" {
			var now string
			must.Do(t, pool.QueryRow(t.Context(), "SELECT string_agg(name || declaration, ' ' ORDER BY name) FROM "+schema+".storage_kinds").Scan(&now))
			if declared == "" {
				declared = now
			}
			if now == declared {
				empty(t, pool, schema)
				return reopen(t)
			}
		}
		schema = pgtest.Schema(t)
		return reopen(t)
	}, storagetest.Reopens(reopen))
}

// empty deletes the records, postings and sequences of a schema. The log of commits goes on.
func empty(t *testing.T, pool *pgxpool.Pool, schema string) {
	t.Helper()
	text := ""
	for _, table := range tablesOf(t, pool, schema) {
		switch table {
		case "storage_kinds", "storage_migrations", "storage_commits":
		default:
			text += emptyTable(schema, table, "")
		}
	}
	must.Get(pool.Exec(t.Context(), text, pgx.QueryExecModeSimpleProtocol))(t)
}

// emptyTable deletes the rows of a table, some of which the table's triggers keep, and runs another statement
// before the triggers are back.
func emptyTable(schema, table, then string) string {
	return fmt.Sprintf("ALTER TABLE %[1]s.%[2]s DISABLE TRIGGER USER; DELETE FROM %[1]s.%[2]s; %[3]s; ALTER TABLE %[1]s.%[2]s ENABLE TRIGGER USER;",
		schema, table, then)
}

func tablesOf(t *testing.T, pool *pgxpool.Pool, schema string) []string {
	t.Helper()
	rows := must.Get(pool.Query(t.Context(), "SELECT tablename FROM pg_tables WHERE schemaname = $1", schema))(t)
	return must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
}
