package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// storage_migrations holds the numbers of the applied migrations.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

var migrations = sqlstore.ReadMigrations(migrationFiles)

// Migrate creates a schema or brings it up to date, and makes the tables of the given kinds in it:
// those of payments.Kinds() for the library. It may run in several processes at once, beside
// programs that read and write, and be killed anywhere: the next run goes on. Tables that hold rows
// change in steps: columns are filled in batches, indexes are made concurrently, constraints are
// validated last. No step waits long for a table that others read; it tries again until ctx ends.
// An older program can write until the migration ends. Then its writes fail with
// [storage.ErrNewer], and its reads go on. A concurrent index waits for all transactions that began
// before it.
//
// [Open] and [Store.Define] do the same. Migrate is for hosts whose servers may not
// change tables. It fails with [storage.ErrNewer] if a newer version of the library wrote
// the schema.
func Migrate(ctx context.Context, pool *pgxpool.Pool, schema string, kinds ...*storage.Kind) error {
	change := func(kinds ...*storage.Kind) error {
		return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			m := &migration{ctx: ctx, db: tx, schema: schema, isOnline: true}
			return m.run(kinds)
		})
	}
	if err := change(); err != nil || len(kinds) == 0 {
		return err
	}
	o := &onlineMigration{pool: pool, schema: schema}
	return o.run(ctx, kinds, func() error { return change(kinds...) })
}

// MigrateTx is [Migrate] inside the host's own transaction, which must be READ COMMITTED,
// beside the migrations of the host's own tables. All steps are in that transaction.
// Other updates wait until it ends, and so do reads of tables that it has changed. For
// large tables run [Migrate] instead.
func MigrateTx(ctx context.Context, tx pgx.Tx, schema string, kinds ...*storage.Kind) error {
	m := &migration{ctx: ctx, db: tx, schema: schema}
	return m.run(kinds)
}

// run applies all migrations within its transaction.
func (m *migration) run(kinds []*storage.Kind) error {
	if err := checkSchema(m.schema); err != nil {
		return err
	}
	if err := sqlstore.CheckKinds(kinds); err != nil {
		return err
	}
	if err := checkEngine(m.ctx, m.db); err != nil {
		return err
	}
	if err := checkIsolation(m.ctx, m.db); err != nil {
		return err
	}
	changed, err := m.migrateBase()
	if err != nil {
		return fmt.Errorf("postgres: migrate: %w", err)
	}
	for _, k := range kinds {
		this, err := m.define(k)
		if err != nil {
			return fmt.Errorf("postgres: define %s: %w", k.Name, err)
		}
		changed = changed || this
	}
	if changed {
		if err := errors.Join(m.bumpSchemaVersion(), m.addCommit()); err != nil {
			return fmt.Errorf("postgres: migrate: %w", err)
		}
	}
	return nil
}

// Validate returns nil if [Migrate] has nothing left to do, or else an error that says
// what is missing. It changes nothing.
func Validate(ctx context.Context, pool *pgxpool.Pool, schema string, kinds ...*storage.Kind) error {
	if err := checkSchema(schema); err != nil {
		return err
	}
	if err := sqlstore.CheckKinds(kinds); err != nil {
		return err
	}
	return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		m := &migration{ctx: ctx, db: tx, schema: schema}
		applied, err := m.applied()
		if err != nil {
			return fmt.Errorf("postgres: validate: %w", err)
		}
		if err := migrations.Check(applied); err != nil {
			return err
		}
		if applied < migrations.Len() {
			return fmt.Errorf("postgres: schema %s has %d of %d migrations; run postgres.Migrate", schema, applied, migrations.Len())
		}
		for _, k := range kinds {
			changes, err := m.missing(k)
			if err != nil {
				return fmt.Errorf("postgres: validate %s: %w", k.Name, err)
			}
			if changes {
				return fmt.Errorf("postgres: schema %s is not ready for %s; run postgres.Migrate with payments.Kinds()", schema, k.Name)
			}
		}
		return nil
	})
}

// migration is a transaction that changes tables.
type migration struct {
	ctx      context.Context
	db       querier
	schema   string
	progress func(storage.Progress) // may be nil
	// isOnline says that this transaction is step 4 of [onlineMigration].
	isOnline bool
}

// script runs a script statement by statement.
func (m *migration) script(text string) error {
	for _, statement := range splitScript(text) {
		if _, err := m.db.Exec(m.ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// splitScript splits a script at semicolons at the end of a line, outside of $$ bodies:
// the server takes one statement at a time.
func splitScript(text string) []string {
	var all []string
	var s strings.Builder
	quoted := false
	for line := range strings.Lines(text) {
		s.WriteString(line)
		if strings.Count(line, "$$")%2 == 1 {
			quoted = !quoted
		}
		if !quoted && strings.HasSuffix(strings.TrimSpace(line), ";") {
			all = append(all, s.String())
			s.Reset()
		}
	}
	if strings.TrimSpace(s.String()) != "" {
		all = append(all, s.String())
	}
	return all
}

// queryRow scans the only row of a query and reports whether there was one.
func (m *migration) queryRow(query string, args []any, dests ...any) (bool, error) {
	err := m.db.QueryRow(m.ctx, query, args...).Scan(dests...)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (m *migration) exists(query string, args ...any) (bool, error) {
	var one int
	return m.queryRow(query, args, &one)
}

func (m *migration) applied() (int, error) {
	there, err := m.exists(`SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'storage_migrations'`, m.schema)
	if !there || err != nil {
		return 0, err
	}
	var n int
	_, err = m.queryRow("SELECT count(*) FROM "+sqlstore.Quote(m.schema)+".storage_migrations", nil, &n)
	return n, err
}

// migrateBase applies the migrations, which make the tables that do not depend on kinds.
// It reports whether it changed anything.
func (m *migration) migrateBase() (changed bool, err error) {
	if n, err := m.applied(); err != nil || n == migrations.Len() {
		return false, err
	}
	// Another use of advisory locks can have the same hash by chance, and would only wait.
	if _, err := m.db.Exec(m.ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 7082))", "payments/"+m.schema); err != nil {
		return false, err
	}
	n, err := m.applied() // another process may have migrated meanwhile
	if err != nil || n == migrations.Len() {
		return false, err
	}
	if err := migrations.Check(n); err != nil {
		return false, err
	}
	there, err := m.exists(`SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1`, m.schema)
	if err != nil {
		return false, err
	}
	if !there {
		if err := m.script("CREATE SCHEMA " + sqlstore.Quote(m.schema)); err != nil {
			return false, err
		}
	}
	// The host's transaction gets its own path back at the end.
	var path string
	if _, err := m.queryRow("SELECT current_setting('search_path')", nil, &path); err != nil {
		return false, err
	}
	if err := m.setPath(sqlstore.Quote(m.schema) + ", pg_temp"); err != nil {
		return false, err
	}
	if n == 0 {
		if err := m.script(`CREATE TABLE storage_migrations (
			number integer PRIMARY KEY, name text NOT NULL, at timestamptz NOT NULL DEFAULT now())`); err != nil {
			return false, err
		}
	}
	if n > 0 {
		// Before the tables change: a writer holds the lock when it writes to them.
		if _, err := m.db.Exec(m.ctx, lockWriterSQL(m.schema)); err != nil {
			return false, err
		}
	}
	err = migrations.Apply(n, func(number int, name, text string) error {
		if err := m.script(text); err != nil {
			return err
		}
		_, err := m.db.Exec(m.ctx, "INSERT INTO storage_migrations (number, name) VALUES ($1, $2)", number, name)
		return err
	})
	if err != nil {
		return false, err
	}
	return true, m.setPath(path)
}

func (m *migration) setPath(path string) error {
	_, err := m.db.Exec(m.ctx, "SELECT set_config('search_path', $1, true)", path)
	return err
}
