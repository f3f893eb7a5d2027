package postgres

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/declared"
	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
)

// The migrations, numbered from 1 without holes. A released file is never
// edited. The numbers of those that were applied are in storage_migrations.
//
//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings a schema up to date, which it creates if there is none, and
// makes the tables of the given kinds in it: those of payments.Kinds() for the
// library. It is one transaction under a lock, so that it may run in several
// processes at once, and be killed anywhere: the next run finds all of it or
// nothing. Other updates wait for it.
//
// [Open] and [Store.Define] do the same. Migrate is for hosts whose servers may
// not change tables, and fails with [storage.ErrNewer] where the schema was
// written by a newer version of the library.
func Migrate(ctx context.Context, pool *pgxpool.Pool, schema string, kinds ...*storage.Kind) error {
	return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		return MigrateTx(ctx, tx, schema, kinds...)
	})
}

// MigrateTx is [Migrate] inside the host's own transaction, which must be READ
// COMMITTED: beside the migrations of the host's own tables.
func MigrateTx(ctx context.Context, tx pgx.Tx, schema string, kinds ...*storage.Kind) error {
	if err := checkSchema(schema); err != nil {
		return err
	}
	if err := checkKinds(kinds); err != nil {
		return err
	}
	if err := checkIsolation(ctx, tx); err != nil {
		return err
	}
	m := &migration{ctx: ctx, db: tx, schema: schema}
	if err := m.base(); err != nil {
		return fmt.Errorf("postgres: migrate: %w", err)
	}
	for _, k := range kinds {
		if err := m.define(k); err != nil {
			return fmt.Errorf("postgres: define %s: %w", k.Name, err)
		}
	}
	return nil
}

// Validate reports whether [Migrate] has nothing left to do: nil, or an error
// that says what is missing. It changes nothing.
func Validate(ctx context.Context, pool *pgxpool.Pool, schema string, kinds ...*storage.Kind) error {
	if err := checkSchema(schema); err != nil {
		return err
	}
	if err := checkKinds(kinds); err != nil {
		return err
	}
	return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		m := &migration{ctx: ctx, db: tx, schema: schema}
		applied, err := m.applied()
		if err != nil {
			return fmt.Errorf("postgres: validate: %w", err)
		}
		names, err := migrationNames()
		if err != nil {
			return err
		}
		if applied > len(names) {
			return errNewer(applied, len(names))
		}
		if applied < len(names) {
			return fmt.Errorf("postgres: schema %s has %d of %d migrations; run postgres.Migrate", schema, applied, len(names))
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
	progress func(storage.Progress) // nil for nobody
}

// tell tells how far the change of a kind's table has come.
func (m *migration) tell(k *storage.Kind, done int64) {
	if m.progress != nil {
		m.progress(storage.Progress{What: k.Name, Done: done})
	}
}

// querier is what a connection and a transaction of pgx have in common.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// script runs statements in their order.
func (m *migration) script(text string) error {
	for _, statement := range statements(text) {
		if _, err := m.db.Exec(m.ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// statements splits a script at the semicolons that end a line outside of
// quoted bodies: the server takes one statement at a time.
func statements(text string) []string {
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

// one scans the only row of a query and reports whether there was one.
func (m *migration) one(query string, args []any, dests ...any) (bool, error) {
	err := m.db.QueryRow(m.ctx, query, args...).Scan(dests...)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (m *migration) exists(query string, args ...any) (bool, error) {
	var one int
	return m.one(query, args, &one)
}

func migrationNames() ([]string, error) {
	return fs.Glob(migrations, "migrations/*.sql") // in ascending order
}

// applied returns how many migrations the schema has had.
func (m *migration) applied() (int, error) {
	there, err := m.exists(`SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'storage_migrations'`, m.schema)
	if !there || err != nil {
		return 0, err
	}
	var n int
	_, err = m.one("SELECT count(*) FROM "+sqltext.Quote(m.schema)+".storage_migrations", nil, &n)
	return n, err
}

// base brings the tables up to date that do not depend on kinds.
func (m *migration) base() error {
	names, err := migrationNames()
	if err != nil {
		return err
	}
	if n, err := m.applied(); err != nil || n == len(names) {
		return err
	}
	// The hash is of this program's own making, so that no other use of advisory
	// locks meets it but by bad luck, which would only make somebody wait.
	if _, err := m.db.Exec(m.ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 7082))", "payments/"+m.schema); err != nil {
		return err
	}
	n, err := m.applied() // again: another process may have been faster
	if err != nil || n == len(names) {
		return err
	}
	if n > len(names) {
		return errNewer(n, len(names))
	}
	there, err := m.exists(`SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1`, m.schema)
	if err != nil {
		return err
	}
	if !there {
		if err := m.script("CREATE SCHEMA " + sqltext.Quote(m.schema)); err != nil {
			return err
		}
	}
	// The path is the host's again when its transaction goes on.
	var path string
	if _, err := m.one("SELECT current_setting('search_path')", nil, &path); err != nil {
		return err
	}
	if err := m.setPath(sqltext.Quote(m.schema) + ", pg_temp"); err != nil {
		return err
	}
	if n == 0 {
		if err := m.script(`CREATE TABLE storage_migrations (
			number integer PRIMARY KEY, name text NOT NULL, at timestamptz NOT NULL DEFAULT now())`); err != nil {
			return err
		}
	}
	for i, name := range names[n:] {
		text, err := fs.ReadFile(migrations, name)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(name, fmt.Sprintf("migrations/%04d_", n+i+1)) {
			return fmt.Errorf("%s is not number %d", name, n+i+1)
		}
		if err := m.script(string(text)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := m.db.Exec(m.ctx, "INSERT INTO storage_migrations (number, name) VALUES ($1, $2)",
			n+i+1, strings.TrimPrefix(name, "migrations/")); err != nil {
			return err
		}
	}
	return m.setPath(path)
}

func (m *migration) setPath(path string) error {
	_, err := m.db.Exec(m.ctx, "SELECT set_config('search_path', $1, true)", path)
	return err
}

func errNewer(has, known int) error {
	return fmt.Errorf("%w: its tables are version %d, this program knows %d", storage.ErrNewer, has, known)
}

// kept returns what the table of a kind was made from.
func (m *migration) kept(k *storage.Kind) (kept declared.Kind, text string, found bool, err error) {
	found, err = m.one("SELECT declaration FROM "+sqltext.Quote(m.schema)+".storage_kinds WHERE name = $1", []any{k.Name}, &text)
	if err == nil && found {
		if err = json.Unmarshal([]byte(text), &kept); err != nil {
			err = fmt.Errorf("read declaration: %w", err)
		}
	}
	return kept, text, found, err
}

// missing reports whether define would change anything.
func (m *migration) missing(k *storage.Kind) (bool, error) {
	kept, text, found, err := m.kept(k)
	if !found || err != nil {
		return true, err
	}
	wanted := declared.Of(k)
	if _, err := declared.Compare(kept, wanted); err != nil {
		return false, err
	}
	is, err := json.Marshal(wanted)
	if err != nil || string(is) != text {
		return true, err
	}
	for _, index := range sqltext.Indexes(k) {
		there, err := m.hasIndex(short(index.Name))
		if !there || err != nil {
			return true, err
		}
	}
	return false, nil
}

func (m *migration) hasIndex(name string) (bool, error) {
	return m.exists("SELECT 1 FROM pg_catalog.pg_indexes WHERE schemaname = $1 AND indexname = $2", m.schema, name)
}

// define makes the table of a kind, or brings it up to date. While it runs no
// other update does.
func (m *migration) define(k *storage.Kind) error {
	if changes, err := m.missing(k); err != nil || !changes {
		return err
	}
	if _, err := m.db.Exec(m.ctx, lockWriter(m.schema)); err != nil {
		return err
	}
	m.tell(k, 0)
	kept, text, found, err := m.kept(k) // as it is now that nobody else changes it
	if err != nil {
		return err
	}
	wanted := declared.Of(k)
	if !found {
		if err := m.script(createTable(m.schema, k)); err != nil {
			return err
		}
	} else {
		changing, err := declared.Compare(kept, wanted)
		if err != nil {
			return err
		}
		if changing {
			if err := m.alter(k, kept); err != nil {
				return err
			}
		}
	}
	for _, index := range sqltext.Indexes(k) {
		there, err := m.hasIndex(short(index.Name))
		if err != nil {
			return err
		}
		if there {
			continue
		}
		if err := m.script(index.Create(short(index.Name), sqltext.Quote(m.schema)+"."+sqltext.Quote(k.Name))); err != nil {
			if isUnique(err) {
				return fmt.Errorf("%w: a record has what another one has in key %s", storage.ErrExists, short(index.Name))
			}
			return err
		}
	}
	changed, err := json.Marshal(wanted)
	if err != nil || string(changed) == text {
		return err
	}
	_, err = m.db.Exec(m.ctx, "INSERT INTO "+sqltext.Quote(m.schema)+`.storage_kinds (name, declaration) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET declaration = excluded.declaration`, k.Name, string(changed))
	return err
}
