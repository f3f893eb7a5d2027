package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// queryKiller ends the connection before a chosen statement.
type queryKiller struct{ left atomic.Int64 }

func (c *queryKiller) TraceQueryStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	if c.left.Add(-1) == 0 {
		_ = conn.PgConn().Conn().Close() // as if the process were gone
	}
	return ctx
}

func (c *queryKiller) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// The next migration completes one whose process died before any of its statements: for a
// new schema, and for a kind that gets columns, a key and a due time.
func TestKilledMigrationIsResumed(t *testing.T) {
	old := *things
	old.Columns, old.Keys, old.Due = things.Columns[:3], things.Keys[:1], ""
	whole := *things
	whole.Backfill = func([]byte) ([]any, error) { return []any{nil, int64(7), true, epoch, epoch, "token"}, nil }
	pool := pgtest.Pool(t, 4)
	for what, prepare := range map[string]func(schema string) error{
		"new": func(string) error { return nil },
		"grown": func(schema string) error {
			s, err := postgres.Open(t.Context(), pool, postgres.Config{Schema: schema})
			if err != nil {
				return err
			}
			if err := s.Define(t.Context(), &old); err != nil {
				return err
			}
			return s.Update(t.Context(), func(tx storage.Tx) error {
				return tx.Insert(&old, storage.Record{Scope: scope, ID: "th_1", Columns: []any{nil, int64(7), true}})
			})
		},
	} {
		t.Run(what, func(t *testing.T) {
			schema := pgtest.Schema(t)
			must.Do(t, prepare(schema))
			if err := postgres.Validate(t.Context(), pool, schema, &whole); err == nil {
				t.Error("a schema that is not ready is valid")
			}
			killed, every := 0, effort.Of(5, 1)
			for n := int64(1); ; n += int64(every) {
				config := pool.Config()
				cut := &queryKiller{}
				cut.left.Store(n)
				config.ConnConfig.Tracer = cut
				dying := must.Get(pgxpool.NewWithConfig(t.Context(), config))(t)
				err := postgres.Migrate(t.Context(), dying, schema, &whole)
				dying.Close()
				if cut.left.Load() > 0 { // it finished before the chosen statement
					must.Do(t, err)
					break
				}
				if err == nil {
					break // it was cut after the commit
				}
				killed++
				if err := postgres.Validate(t.Context(), pool, schema, &whole); err == nil {
					t.Errorf("killed before statement %d, and all of it was done", n)
				}
			}
			expect.True(t, killed >= 25/every, "it was killed at %d statements only", killed)
			expect.NoError(t, postgres.Validate(t.Context(), pool, schema, &whole), "Validate")
			s := must.Get(postgres.Open(t.Context(), pool, postgres.Config{Schema: schema, ReadOnlySchema: true}))(t)
			must.Do(t, s.Define(t.Context(), &whole))
			if what != "grown" {
				return
			}
			err := s.View(t.Context(), func(tx storage.ReadTx) error {
				r, err := tx.Find(&whole, "token", scope, "token")
				if err != nil {
					return err
				}
				expect.Equal(t, r.ID, "th_1", "the record that has the token")
				expect.Equal(t, r.Columns[4], any(epoch), "column 4 of it")
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// The library's migration is part of the host's, or leaves nothing.
func TestMigrateTxEndsWithHostTransaction(t *testing.T) {
	pool, schema := pgtest.Pool(t, 4), pgtest.Schema(t)
	for _, end := range []string{"rollback", "commit"} {
		tx := must.Get(pool.Begin(t.Context()))(t)
		must.Do(t, postgres.MigrateTx(t.Context(), tx, schema, payments.Kinds()...))
		var path string
		if err := tx.QueryRow(t.Context(), "SELECT current_setting('search_path')").Scan(&path); err != nil || strings.Contains(path, schema) {
			t.Errorf("the host's search_path has become %s, %v", path, err)
		}
		must.Get(tx.Exec(t.Context(), end))(t)
		_ = tx.Rollback(t.Context()) // it has ended
		if err := postgres.Validate(t.Context(), pool, schema, payments.Kinds()...); (err == nil) != (end == "commit") {
			t.Errorf("after %s: %v", end, err)
		}
	}
	tx := must.Get(pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.Serializable}))(t)
	defer tx.Rollback(t.Context())
	expect.ErrorIs(t, postgres.MigrateTx(t.Context(), tx, schema), storage.ErrInvalid, "in a serializable transaction")
}

// A migration reports its progress. One that changes nothing reports nothing.
func TestMigrationReportsProgress(t *testing.T) {
	var told []storage.Progress
	s := must.Get(postgres.Open(t.Context(), pgtest.Pool(t, 4), postgres.Config{
		Schema: pgtest.Schema(t), MigrationProgress: func(p storage.Progress) { told = append(told, p) },
	}))(t)
	defer s.Close()
	old := *things
	old.Columns, old.Keys, old.Due = things.Columns[:4], things.Keys[:1], ""
	whole := *things
	whole.Backfill = func([]byte) ([]any, error) { return []any{nil, int64(7), true, epoch, epoch, nil}, nil }
	must.Do(t, s.Define(t.Context(), &old))
	const rows = 700
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
		for n := range rows {
			r := storage.Record{Scope: scope, ID: fmt.Sprintf("th_%04d", n), Columns: []any{nil, int64(7), true, epoch}}
			if err := tx.Insert(&old, r); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, test := range []struct {
		what string
		kind *storage.Kind
		last int64
	}{{"the same", &old, -1}, {"columns more", &whole, rows}} {
		told = nil
		if err := s.Define(t.Context(), test.kind); err != nil {
			t.Fatal(test.what, err)
		}
		last := int64(-1)
		for _, p := range told {
			expect.Equal(t, p.What, things.Name, "%s: what", test.what)
			expect.True(t, p.Done >= last, "%s: told %v", test.what, told)
			last = p.Done
		}
		expect.Equal(t, last, test.last, "%s: ended with %d of %d", test.what, last, test.last)
	}
}

// A migration makes a missing index again, and drops those that a kind does not need as one queue.
func TestObsoleteIndexesAreDropped(t *testing.T) {
	pool, schema := pgtest.Pool(t, 4), pgtest.Schema(t)
	must.Do(t, postgres.Migrate(t.Context(), pool, schema, things))
	must.Get(pool.Exec(t.Context(), fmt.Sprintf(`DROP INDEX %s."%s.due.mode"`, schema, things.Name)))(t)
	if err := postgres.Validate(t.Context(), pool, schema, things); err == nil {
		t.Error("a schema without an index is valid")
	}
	must.Do(t, postgres.Migrate(t.Context(), pool, schema, things))
	check := func(want string) {
		t.Helper()
		rows := must.Get(pool.Query(t.Context(), "SELECT indexname FROM pg_indexes WHERE schemaname = $1 AND indexname LIKE $2 ORDER BY 1", schema, things.Name+".due%"))(t)
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if want = fmt.Sprintf(want, things.Name); err != nil || fmt.Sprint(names) != want {
			t.Errorf("indexes %v, %v, want %s", names, err, want)
		}
	}
	check("[%[1]s.due.mode %[1]s.due.scope]")
	queue := *things
	queue.OneQueue = true
	must.Do(t, postgres.Migrate(t.Context(), pool, schema, &queue))
	check("[%s.due.mode]")
}

// A program that upgrades the tables waits for the writers, which write to them under the lock.
func TestMigrationBesideWriters(t *testing.T) {
	pool, schema := pgtest.Pool(t, 8), pgtest.Schema(t)
	must.Do(t, postgres.Migrate(t.Context(), pool, schema))
	// The tables of the version before.
	must.Get(pool.Exec(t.Context(), fmt.Sprintf(`DROP TABLE %[1]s.storage_order; DROP INDEX %[1]s.storage_commits_token;
		ALTER TABLE %[1]s.storage_commits DROP COLUMN hashes; ALTER TABLE %[1]s.storage_commits DROP COLUMN dead;
		DELETE FROM %[1]s.storage_migrations WHERE number = 4`, schema), pgx.QueryExecModeSimpleProtocol))(t)
	var writers sync.WaitGroup
	ended, started := make(chan struct{}), make(chan struct{}, 3)
	for range cap(started) {
		writers.Go(func() {
			for n := 0; ; n++ {
				_, err := pool.Exec(t.Context(), fmt.Sprintf(`BEGIN; LOCK TABLE %[1]s.storage_writer IN EXCLUSIVE MODE; SELECT pg_sleep(0.01);
					INSERT INTO %[1]s.storage_commits (number, token)
					SELECT coalesce(max(number), 0) + 1, coalesce(max(number), 0) + 1 FROM %[1]s.storage_commits; COMMIT`, schema), pgx.QueryExecModeSimpleProtocol)
				expect.NoError(t, err, "a writer")
				if n == 0 {
					started <- struct{}{}
				}
				select {
				case <-ended:
					return
				default:
				}
			}
		})
	}
	for range cap(started) {
		<-started
	}
	expect.NoError(t, postgres.Migrate(t.Context(), pool, schema), "Migrate")
	close(ended)
	writers.Wait()
}
