package postgres

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// minimumVersion is the oldest major version of PostgreSQL with all statements of this package.
const minimumVersion = 13

var engineVersion = regexp.MustCompile(`^PostgreSQL (\d+)`)

// otherEngines are words in the answers of engines that call themselves PostgreSQL and do not
// lock a table as PostgreSQL does.
var otherEngines = []string{"-YB-", "Yugabyte", "Redshift", "Greenplum", "Cloudberry", "Materialize", "RisingWave", "DuckDB"}

// checkVersion judges the answer of version(). Managed PostgreSQL answers as PostgreSQL does.
func checkVersion(version string) error {
	found := engineVersion.FindStringSubmatch(version)
	for _, engine := range otherEngines {
		if strings.Contains(version, engine) {
			found = nil
		}
	}
	if found == nil {
		return fmt.Errorf("%w: postgres: the server is %q, which does not order writers as PostgreSQL does; use PostgreSQL %d or later, self-hosted or managed", storage.ErrInvalid, version, minimumVersion)
	}
	if major, err := strconv.Atoi(found[1]); err != nil || major < minimumVersion {
		return fmt.Errorf("%w: postgres: the server is %q; upgrade it to PostgreSQL %d or later", storage.ErrInvalid, version, minimumVersion)
	}
	return nil
}

// checkEngine refuses a server that is not PostgreSQL, before any other statement. The simple
// protocol passes through every proxy.
func checkEngine(ctx context.Context, db querier) error {
	var version string
	if err := db.QueryRow(ctx, "SELECT version()", pgx.QueryExecModeSimpleProtocol).Scan(&version); err != nil {
		return unavailable(fmt.Errorf("postgres: %w", err))
	}
	return checkVersion(version)
}

// checkLock refuses a server on which the writers' lock does not hold for the whole database:
// one that accepts LOCK TABLE and locks nothing, or Citus with the tables on several servers.
// It takes the lock for a moment, and waits for no other writer.
func checkLock(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return unavailable(fmt.Errorf("postgres: open: %w", err))
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // the transaction has changed nothing
	m := &migration{ctx: ctx, db: tx, schema: schema}
	distributed, err := m.distributed()
	if err == nil && distributed != "" {
		return fmt.Errorf("%w: postgres: Citus distributes the table %s.%s, so no lock covers all writers; undistribute the schema's tables, or use a database without Citus", storage.ErrInvalid, schema, distributed)
	}
	if err == nil {
		_, err = tx.Exec(ctx, lockWriterSQL(schema)+" NOWAIT")
		switch {
		case errorCode(err) == "55P03": // another writer holds the lock, so it works
			return nil
		case errorCode(err) == "42501", isReadOnly(err): // this program cannot write
			return nil
		}
	}
	holds := false
	if err == nil {
		holds, err = m.exists(`SELECT 1 FROM pg_catalog.pg_locks WHERE pid = pg_backend_pid() AND granted
			AND mode = 'ExclusiveLock' AND relation = to_regclass($1)`, sqlstore.Quote(schema)+".storage_writer")
	}
	if err != nil {
		return unavailable(fmt.Errorf("postgres: open: check the writers' lock: %w", err))
	}
	if !holds {
		return fmt.Errorf("%w: postgres: the server accepts LOCK TABLE and takes no lock; use PostgreSQL %d or later, self-hosted or managed", storage.ErrInvalid, minimumVersion)
	}
	return nil
}

// distributed returns the name of a table of the schema that Citus manages, or "".
func (m *migration) distributed() (table string, err error) {
	hasCitus, err := m.exists("SELECT 1 WHERE to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL")
	if hasCitus {
		_, err = m.queryRow(`SELECT t.relname FROM pg_catalog.pg_dist_partition AS p JOIN pg_catalog.pg_class AS t ON t.oid = p.logicalrelid
			JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace WHERE n.nspname = $1 ORDER BY 1 LIMIT 1`, []any{m.schema}, &table)
	}
	return table, err
}
