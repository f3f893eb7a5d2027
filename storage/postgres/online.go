package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// A table that holds rows is changed while others read and write it, in steps:
//
//  1. Columns are added, which may be null, and a trigger notes the rows that are
//     written from then on.
//  2. The columns are filled, some rows in each transaction.
//  3. Indexes are made concurrently.
//  4. Under the lock of the writer, the noted rows are filled once more, constraints
//     are added that hold for new rows, and the declaration is kept. From here on
//     programs that do not know it must not write.
//  5. The constraints are checked against the rows that were there.
//
// A step that needs a table for itself gives up soon and tries again, because every
// other statement waits behind it while it waits for a long read. A run that was killed
// leaves what the next run goes on from.
type online struct {
	pool     *pgxpool.Pool
	schema   string
	progress func(storage.Progress) // nil for nobody
}

// growth is a kind whose table is there and not what is wanted.
type growth struct {
	kind     *storage.Kind
	kept     int  // columns
	validate bool // whether there are, or will be, constraints for new rows alone
}

// run brings the tables of kinds up to date; change is step 4.
func (o *online) run(ctx context.Context, kinds []*storage.Kind, change func() error) error {
	m := &migration{ctx: ctx, db: o.pool, schema: o.schema, progress: o.progress}
	grown, err := m.grown(kinds)
	if err != nil {
		return err
	}
	if len(grown) == 0 {
		return o.again(ctx, change)
	}
	turn, err := o.turn(ctx)
	if err != nil {
		return fmt.Errorf("postgres: migrate: %w", err)
	}
	defer func() { _ = turn.Rollback(context.WithoutCancel(ctx)) }() // it has changed nothing
	if grown, err = m.grown(kinds); err != nil {                     // another process may have been faster
		return err
	}
	for _, g := range grown {
		if err := o.prepare(m, g); err != nil {
			return fmt.Errorf("postgres: define %s: %w", g.kind.Name, err)
		}
	}
	if err := o.again(ctx, change); err != nil {
		return err
	}
	for _, g := range grown {
		if !g.validate {
			continue
		}
		if err := o.validate(m, g.kind); err != nil {
			return fmt.Errorf("postgres: define %s: %w", g.kind.Name, err)
		}
	}
	return nil
}

// turn waits until no other process changes tables step by step. The transaction reads
// nothing, and so holds nothing back.
func (o *online) turn(ctx context.Context) (pgx.Tx, error) {
	tx, err := o.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 7083))", "payments/"+o.schema)
	if err == nil {
		// Without parameters, so that no portal keeps a snapshot, for which an index
		// that is made concurrently would wait.
		_, err = tx.Exec(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0")
	}
	if err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx)) // it has changed nothing
		return nil, err
	}
	return tx, nil
}

// again does what needs a table for itself until it gets it.
func (o *online) again(ctx context.Context, do func() error) error {
	for {
		err := do()
		if code(err) != "55P03" && code(err) != "40P01" { // lock not available, deadlock
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(time.Second):
		}
	}
}

// briefly runs statements in a transaction that waits for no table for long.
func (o *online) briefly(m *migration, statements ...string) error {
	return o.again(m.ctx, func() error {
		return pgx.BeginFunc(m.ctx, o.pool, func(tx pgx.Tx) error {
			for _, s := range append([]string{limitLocks}, statements...) {
				if _, err := tx.Exec(m.ctx, s); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// limitLocks is for statements that need a table for themselves.
const limitLocks = "SET LOCAL lock_timeout = '200ms'"

// prepare does the steps 1 to 3.
func (o *online) prepare(m *migration, g growth) error {
	k, table := g.kind, m.table(g.kind)
	filled, err := m.filled(k)
	if err != nil {
		return err
	}
	if g.kept < len(k.Columns) && !filled {
		statements := []string{
			fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s (merchant text COLLATE "C", live boolean, id text COLLATE "C",
				PRIMARY KEY (merchant, live, id))`, m.noted(k)),
			fmt.Sprintf(`CREATE OR REPLACE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				INSERT INTO %[1]s VALUES (NEW.merchant, NEW.live, NEW.id) ON CONFLICT DO NOTHING;
				RETURN NULL;
			END $$`, m.noted(k)),
			"DROP TRIGGER IF EXISTS storage_note ON " + table,
			fmt.Sprintf("CREATE TRIGGER storage_note AFTER INSERT OR UPDATE OF data ON %s FOR EACH ROW EXECUTE FUNCTION %s()", table, m.noted(k)),
		}
		for _, c := range k.Columns[g.kept:] {
			statements = append(statements, "ALTER TABLE "+table+" ADD COLUMN IF NOT EXISTS "+sqlstore.Quote(c.Name)+" "+sqlType[c.Type])
		}
		if err := o.briefly(m, statements...); err != nil {
			return err
		}
		err := m.fill(k, g.kept, table, m.teller(k), func(b *pgx.Batch) error {
			return pgx.BeginFunc(m.ctx, o.pool, func(tx pgx.Tx) error {
				// Beside no writer: each would wait for the other's rows.
				if _, err := tx.Exec(m.ctx, lockWriter(m.schema)); err != nil {
					return err
				}
				return tx.SendBatch(m.ctx, b).Close()
			})
		})
		if err != nil {
			return err
		}
		if _, err := o.pool.Exec(m.ctx, "COMMENT ON TABLE "+m.noted(k)+" IS '"+isFilled(k)+"'"); err != nil {
			return err
		}
	}
	for _, index := range sqlstore.Indexes(k) {
		if err := o.index(m, k, index); err != nil {
			return err
		}
	}
	return nil
}

// isFilled is the comment on the table of noted rows when all other rows have the
// columns that a kind declares.
func isFilled(k *storage.Kind) string { return fmt.Sprintf("filled up to column %d", len(k.Columns)) }

// filled reports whether only noted rows are left to be filled.
func (m *migration) filled(k *storage.Kind) (bool, error) {
	return m.exists("SELECT 1 WHERE pg_catalog.obj_description(to_regclass($1), 'pg_class') = $2", m.noted(k), isFilled(k))
}

// index makes an index beside readers and writers. One that is not valid is what is
// left of a run that was killed.
func (o *online) index(m *migration, k *storage.Kind, i sqlstore.Index) error {
	if there, err := m.HasIndex(i.Name); there || err != nil {
		return err
	}
	name := sqlstore.Quote(m.schema) + "." + sqlstore.Quote(short(i.Name))
	for _, statement := range []string{
		"DROP INDEX CONCURRENTLY IF EXISTS " + name,
		strings.Replace(i.Create(short(i.Name), m.table(k)), "INDEX", "INDEX CONCURRENTLY", 1),
	} {
		if _, err := o.pool.Exec(m.ctx, statement); err != nil {
			return taken(i, err)
		}
	}
	return nil
}

// validate does step 5.
func (o *online) validate(m *migration, k *storage.Kind) error {
	names, err := m.notValidated(k)
	for _, name := range names {
		if err == nil {
			_, err = o.pool.Exec(m.ctx, "ALTER TABLE "+m.table(k)+" VALIDATE CONSTRAINT "+sqlstore.Quote(name))
		}
	}
	return err
}

// notValidated returns the constraints of a kind's table that hold for new rows alone.
func (m *migration) notValidated(k *storage.Kind) ([]string, error) {
	rows, err := m.db.Query(m.ctx, `SELECT conname FROM pg_catalog.pg_constraint AS c
		JOIN pg_catalog.pg_class AS t ON t.oid = c.conrelid JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace
		WHERE n.nspname = $1 AND t.relname = $2 AND NOT convalidated`, m.schema, k.Name)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// grown returns the kinds whose tables are there and not what is wanted.
func (m *migration) grown(kinds []*storage.Kind) (all []growth, err error) {
	for _, k := range kinds {
		kept, text, err := sqlstore.Kept(m, k)
		missing := false
		if err == nil && text != "" {
			missing, err = m.missing(k)
		}
		if err != nil {
			return nil, fmt.Errorf("postgres: define %s: %w", k.Name, err)
		}
		if !missing {
			continue
		}
		g := growth{kind: k, kept: len(kept.Columns), validate: true}
		names, err := m.notValidated(k)
		if err != nil {
			return nil, fmt.Errorf("postgres: define %s: %w", k.Name, err)
		}
		if len(names) == 0 {
			g.validate = slices.ContainsFunc(k.Columns[g.kept:], func(c storage.Column) bool { return !c.Null || len(c.OneOf) > 0 })
			for i, was := range kept.Columns {
				g.validate = g.validate || len(was.OneOf) < len(k.Columns[i].OneOf)
			}
		}
		all = append(all, g)
	}
	return all, nil
}

// missing reports whether a kind's table is not what is wanted, or has constraints that
// hold for new rows alone.
func (m *migration) missing(k *storage.Kind) (bool, error) {
	missing, err := sqlstore.Missing(m, k)
	if missing || err != nil {
		return missing, err
	}
	names, err := m.notValidated(k)
	return len(names) > 0, err
}

func (m *migration) table(k *storage.Kind) string {
	return sqlstore.Quote(m.schema) + "." + sqlstore.Quote(k.Name)
}

// noted names the table of the rows that were written since columns were added.
func (m *migration) noted(k *storage.Kind) string {
	return sqlstore.Quote(m.schema) + "." + sqlstore.Quote(k.Name+".noted")
}

func (m *migration) teller(k *storage.Kind) func(done int64) {
	return func(done int64) {
		if m.progress != nil {
			m.progress(storage.Progress{What: k.Name, Done: done})
		}
	}
}
