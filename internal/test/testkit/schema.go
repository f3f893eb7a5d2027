package testkit

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// schemas are those of tests that have ended, and what the first of them had declared.
var schemas struct {
	sync.Mutex
	free     []string
	declared string
}

// Schema returns the name of a schema of PostgreSQL that holds no data. A server takes longer to make the tables
// of the service than to run most tests. So this is the schema of a test that has ended, if there is one, and if
// it has declared the same kinds as the first such test of the process.
func Schema(t testing.TB, pool *pgxpool.Pool) string {
	t.Helper()
	schemas.Lock()
	defer schemas.Unlock()
	name := ""
	for name == "" && len(schemas.free) > 0 {
		last := len(schemas.free) - 1
		name, schemas.free = schemas.free[last], schemas.free[:last]
		if !emptied(t, pool, name) {
			name = ""
		}
	}
	if name == "" {
		name = pgtest.Schema(t)
	}
	t.Cleanup(func() {
		schemas.Lock()
		defer schemas.Unlock()
		schemas.free = append(schemas.free, name)
	})
	return name
}

// emptied deletes the records, postings and sequences of a schema, and keeps its log of commits. It reports
// whether the schema can be used again.
func emptied(t testing.TB, pool *pgxpool.Pool, schema string) bool {
	t.Helper()
	rows := must.Get(pool.Query(t.Context(), "SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY 1", schema))(t)
	tables := must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
	if len(tables) == 0 {
		return false // it was dropped with its test, or its test made none
	}
	var declared string
	must.Do(t, pool.QueryRow(t.Context(), "SELECT coalesce(string_agg(name || declaration, ' ' ORDER BY name), '-') FROM "+schema+".storage_kinds").Scan(&declared))
	if schemas.declared == "" {
		schemas.declared = declared
	}
	if declared != schemas.declared {
		return false
	}
	var text strings.Builder
	for _, table := range tables {
		remove := fmt.Sprintf("DELETE FROM %s.%s;", schema, table)
		switch table {
		case "storage_kinds", "storage_migrations", "storage_commits":
			continue
		case "ledger_accounts", "ledger_entries", "ledger_postings": // their triggers let nothing be deleted
			remove = fmt.Sprintf("ALTER TABLE %[1]s.%[2]s DISABLE TRIGGER USER; %[3]s ALTER TABLE %[1]s.%[2]s ENABLE TRIGGER USER;", schema, table, remove)
		}
		text.WriteString(remove)
	}
	must.Get(pool.Exec(t.Context(), text.String(), pgx.QueryExecModeSimpleProtocol))(t)
	return true
}
