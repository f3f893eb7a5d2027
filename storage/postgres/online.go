package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// onlineMigration changes tables that hold rows while others read and write them, in steps:
//
//  1. Add columns, which may be null or have a default, and a trigger that notes the rows
//     written from then on.
//  2. Fill the columns, some rows in each transaction.
//  3. Create indexes concurrently.
//  4. Under the writers' lock, fill the noted rows once more, add constraints that hold
//     for new rows, and store the declaration. From here on older programs must not
//     write.
//  5. Validate the constraints for the old rows.
//
// A step that needs an exclusive lock gives up soon and tries again: while it waits for a
// long read, every other statement on the table waits behind it. After a kill, the next run
// goes on where the last one stopped.
type onlineMigration struct {
	pool     *pgxpool.Pool
	schema   string
	progress func(storage.Progress) // may be nil
}

// kindChange is a kind whose table exists and must change.
type kindChange struct {
	kind        *storage.Kind
	keptColumns int  // number of stored columns
	getsNumber  bool // whether it becomes Ordered
}

// run brings the tables of kinds up to date. change is step 4.
func (o *onlineMigration) run(ctx context.Context, kinds []*storage.Kind, change func() error) error {
	m := &migration{ctx: ctx, db: o.pool, schema: o.schema, progress: o.progress}
	grown, err := m.changedKinds(kinds)
	if err != nil {
		return err
	}
	if len(grown) == 0 {
		return o.retryOnLockTimeout(ctx, change)
	}
	turn, err := o.lock(ctx)
	if err != nil {
		return fmt.Errorf("postgres: migrate: %w", err)
	}
	defer func() { _ = turn.Rollback(context.WithoutCancel(ctx)) }() // the transaction has changed nothing
	if grown, err = m.changedKinds(kinds); err != nil {              // another process may have changed them meanwhile
		return err
	}
	for _, g := range grown {
		if err := o.prepare(m, g); err != nil {
			return fmt.Errorf("postgres: define %s: %w", g.kind.Name, err)
		}
	}
	if err := o.retryOnLockTimeout(ctx, change); err != nil {
		return err
	}
	for _, g := range grown {
		if err := o.validate(m, g.kind); err != nil {
			return fmt.Errorf("postgres: define %s: %w", g.kind.Name, err)
		}
	}
	return nil
}

// lock waits until no other process runs an onlineMigration. Its transaction reads
// nothing, so it holds back no vacuum.
func (o *onlineMigration) lock(ctx context.Context) (pgx.Tx, error) {
	tx, err := o.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 7083))", "payments/"+o.schema)
	if err == nil {
		// Without parameters there is no portal with a snapshot, for which a concurrent
		// index would wait.
		_, err = tx.Exec(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0")
	}
	if err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx)) // the transaction has changed nothing
		return nil, err
	}
	return tx, nil
}

// retryOnLockTimeout retries a step until it gets the locks that it needs.
func (o *onlineMigration) retryOnLockTimeout(ctx context.Context, do func() error) error {
	for {
		err := do()
		if errorCode(err) != "55P03" && errorCode(err) != "40P01" { // lock not available, deadlock
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(time.Second):
		}
	}
}

// execShortLock runs statements in a transaction with a short lock timeout.
func (o *onlineMigration) execShortLock(m *migration, statements ...string) error {
	return o.retryOnLockTimeout(m.ctx, func() error {
		return pgx.BeginFunc(m.ctx, o.pool, func(tx pgx.Tx) error {
			for _, s := range append([]string{shortLockTimeout}, statements...) {
				if _, err := tx.Exec(m.ctx, s); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// shortLockTimeout is for statements that need an exclusive lock on a table.
const shortLockTimeout = "SET LOCAL lock_timeout = '200ms'"

// prepare runs steps 1 to 3.
func (o *onlineMigration) prepare(m *migration, g kindChange) error {
	k, table := g.kind, m.table(g.kind)
	filled, err := m.isBackfilled(k)
	if err != nil {
		return err
	}
	if g.keptColumns < len(k.Columns) && !filled {
		statements := []string{
			fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s (merchant text COLLATE "C", live boolean, id text COLLATE "C",
				PRIMARY KEY (merchant, live, id))`, m.changedRowsTable(k)),
			fmt.Sprintf(`CREATE OR REPLACE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				INSERT INTO %[1]s VALUES (NEW.merchant, NEW.live, NEW.id) ON CONFLICT DO NOTHING;
				RETURN NULL;
			END $$`, m.changedRowsTable(k)),
			"DROP TRIGGER IF EXISTS storage_note ON " + table,
			fmt.Sprintf("CREATE TRIGGER storage_note AFTER INSERT OR UPDATE OF data ON %s FOR EACH ROW EXECUTE FUNCTION %s()", table, m.changedRowsTable(k)),
		}
		for _, c := range k.Columns[g.keptColumns:] {
			statements = append(statements, "ALTER TABLE "+table+" ADD COLUMN IF NOT EXISTS "+sqlstore.Quote(c.Name)+" "+sqlType[c.Type])
		}
		if err := o.execShortLock(m, statements...); err != nil {
			return err
		}
		err := m.backfill(k, g.keptColumns, table, m.progressOf(k), func(b *pgx.Batch) error {
			return pgx.BeginFunc(m.ctx, o.pool, func(tx pgx.Tx) error {
				// The lock excludes writers: each would wait for the other's rows.
				if _, err := tx.Exec(m.ctx, lockWriterSQL(m.schema)); err != nil {
					return err
				}
				return tx.SendBatch(m.ctx, b).Close()
			})
		})
		if err != nil {
			return err
		}
		if _, err := o.pool.Exec(m.ctx, "COMMENT ON TABLE "+m.changedRowsTable(k)+" IS '"+backfilledComment(k)+"'"); err != nil {
			return err
		}
	}
	if g.getsNumber {
		if err := o.execShortLock(m, "ALTER TABLE "+table+addNumber); err != nil {
			return err
		}
	}
	for _, index := range sqlstore.Indexes(k) {
		if err := o.createIndex(m, k, index); err != nil {
			return err
		}
	}
	return nil
}

// backfilledComment is the comment on the table of noted rows once all other rows have
// the columns of a kind.
func backfilledComment(k *storage.Kind) string {
	return fmt.Sprintf("filled up to column %d", len(k.Columns))
}

// isBackfilled reports whether only the noted rows must still be filled.
func (m *migration) isBackfilled(k *storage.Kind) (bool, error) {
	return m.exists("SELECT 1 WHERE pg_catalog.obj_description(to_regclass($1), 'pg_class') = $2", m.changedRowsTable(k), backfilledComment(k))
}

// createIndex creates an index concurrently. An invalid index is the remainder of a
// killed run.
func (o *onlineMigration) createIndex(m *migration, k *storage.Kind, i sqlstore.Index) error {
	if there, err := m.HasIndex(i.Name); there || err != nil {
		return err
	}
	name := sqlstore.Quote(m.schema) + "." + sqlstore.Quote(shortName(i.Name))
	for _, statement := range []string{
		"DROP INDEX CONCURRENTLY IF EXISTS " + name,
		strings.Replace(i.CreateStatement(shortName(i.Name), m.table(k)), "INDEX", "INDEX CONCURRENTLY", 1),
	} {
		if _, err := o.pool.Exec(m.ctx, statement); err != nil {
			return indexError(i, err)
		}
	}
	return nil
}

// validate runs step 5.
func (o *onlineMigration) validate(m *migration, k *storage.Kind) error {
	names, err := m.notValidated(k)
	for _, name := range names {
		if err == nil {
			_, err = o.pool.Exec(m.ctx, "ALTER TABLE "+m.table(k)+" VALIDATE CONSTRAINT "+sqlstore.Quote(name))
		}
	}
	return err
}

// notValidated returns the constraints of a kind's table that are NOT VALID.
func (m *migration) notValidated(k *storage.Kind) ([]string, error) {
	rows, err := m.db.Query(m.ctx, `SELECT conname FROM pg_catalog.pg_constraint AS c
		JOIN pg_catalog.pg_class AS t ON t.oid = c.conrelid JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace
		WHERE n.nspname = $1 AND t.relname = $2 AND NOT convalidated`, m.schema, k.Name)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// changedKinds returns the kinds whose tables exist and must change.
func (m *migration) changedKinds(kinds []*storage.Kind) (all []kindChange, err error) {
	for _, k := range kinds {
		kept, text, err := sqlstore.StoredDeclaration(m, k)
		missing := false
		if err == nil && text != "" {
			missing, err = m.missing(k)
		}
		if err != nil {
			return nil, fmt.Errorf("postgres: define %s: %w", k.Name, err)
		}
		if missing {
			all = append(all, kindChange{k, len(kept.Columns), k.Ordered && !kept.Ordered})
		}
	}
	return all, nil
}

// missing reports whether a kind's table must change, or has constraints that are NOT
// VALID.
func (m *migration) missing(k *storage.Kind) (bool, error) {
	missing, err := sqlstore.NeedsDefine(m, k)
	if missing || err != nil {
		return missing, err
	}
	names, err := m.notValidated(k)
	return len(names) > 0, err
}

func (m *migration) table(k *storage.Kind) string {
	return sqlstore.Quote(m.schema) + "." + sqlstore.Quote(k.Name)
}

// changedRowsTable returns the name of the table that notes the rows written since
// columns were added.
func (m *migration) changedRowsTable(k *storage.Kind) string {
	return sqlstore.Quote(m.schema) + "." + sqlstore.Quote(k.Name+".noted")
}

// progressOf returns the function that reports the progress of a kind.
func (m *migration) progressOf(k *storage.Kind) func(done int64) {
	return func(done int64) {
		if m.progress != nil {
			m.progress(storage.Progress{What: k.Name, Done: done})
		}
	}
}
