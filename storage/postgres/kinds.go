package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/declared"
	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
)

// The table of a kind is made from its declaration, as in storage/sqlite, which
// says why. What a table was made from is kept in storage_kinds.

// Define implements [storage.Store]. All kinds are made ready in one
// transaction, beside which no other update runs.
//
// What a later release may add to a kind, and what is then [storage.ErrNewer] to
// the program before it, is as in storage/sqlite: a column at the end, a key, a
// due column, values at the end of OneOf, an index. A program that defines a kind
// with a further column while an older one runs makes the older one's writes of
// that kind fail if the column must not be null. Stop it first.
func (s *Store) Define(ctx context.Context, kinds ...*storage.Kind) error {
	if err := checkKinds(kinds); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.running.Done()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.config.ReadOnlySchema {
		if err := Validate(ctx, s.pool, s.config.Schema, kinds...); err != nil {
			return err
		}
		s.learn(kinds)
		return nil
	}
	changed := false
	err := s.writer.update(ctx, func(t *tx) error {
		m := &migration{ctx: t.ctx, db: t.session.db, schema: s.config.Schema, progress: s.config.Migrating}
		for _, k := range kinds {
			changes, err := m.missing(k)
			if err != nil {
				return fmt.Errorf("postgres: define %s: %w", k.Name, err)
			}
			if !changes {
				continue
			}
			if err := t.direct(); err != nil {
				return err
			}
			if err := t.session.send(t.io, func(*pgx.Batch) {}); err != nil { // the savepoint
				return t.trouble(t.fail("define", k.Name, err))
			}
			changed, t.group.wrote = true, true
			if err := m.define(k); err != nil {
				return fmt.Errorf("postgres: define %s: %w", k.Name, err)
			}
		}
		if changed {
			t.group.changes.all = true // what is remembered has other columns
		}
		return nil
	}, true)
	if err == nil {
		s.learn(kinds)
	}
	return err
}

func checkKinds(kinds []*storage.Kind) error {
	for _, k := range kinds {
		if err := k.Validate(); err != nil {
			return err
		}
		if len(k.Columns) > 200 {
			return fmt.Errorf("%w: kind %s has more than 200 columns", storage.ErrInvalid, k.Name)
		}
	}
	return nil
}

var sqlType = map[storage.Type]string{
	storage.Text: `text COLLATE "C"`, storage.Int: "bigint", storage.Bool: "boolean", storage.Time: "bigint",
}

func oneOf(c storage.Column) string {
	return sqltext.Quote(c.Name) + " IN ('" + strings.Join(c.OneOf, "', '") + "')"
}

// createTable returns the statement that makes the table of a kind. Its
// constraints have names, so that a later release can change them.
func createTable(schema string, k *storage.Kind) string {
	var s strings.Builder
	s.WriteString("CREATE TABLE " + sqltext.Quote(schema) + "." + sqltext.Quote(k.Name) + ` (
	merchant text COLLATE "C" NOT NULL,
	live boolean NOT NULL,
	id text COLLATE "C" NOT NULL CHECK (id <> ''),
	version bigint NOT NULL CHECK (version > 0),
`)
	for _, c := range k.Columns {
		s.WriteString("\t" + sqltext.Quote(c.Name) + " " + sqlType[c.Type])
		if !c.Null {
			s.WriteString(" NOT NULL")
		}
		if len(c.OneOf) > 0 {
			s.WriteString(" CONSTRAINT " + sqltext.Quote(short(k.Name+".one_of."+c.Name)) + " CHECK (" + oneOf(c) + ")")
		}
		s.WriteString(",\n")
	}
	if k.Due != "" {
		s.WriteString("\tlease bigint NOT NULL DEFAULT 0,\n")
	}
	s.WriteString("\tdata bytea NOT NULL,\n\tPRIMARY KEY (merchant, live, id)\n) WITH (fillfactor = 85)")
	return s.String()
}

// short keeps a name within what PostgreSQL keeps of it.
func short(name string) string {
	if len(name) <= 63 {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:50] + "." + hex.EncodeToString(sum[:6])
}

// copyBatch is how many rows are in memory at once while columns are filled.
const copyBatch = 200

// alter brings an existing table to what is wanted. What is stored is kept to
// the letter; only columns that are new come from [storage.Kind.Backfill].
func (m *migration) alter(k *storage.Kind, kept declared.Kind) error {
	table := "ALTER TABLE " + sqltext.Quote(m.schema) + "." + sqltext.Quote(k.Name)
	if kept.Due == "" && k.Due != "" {
		if err := m.script(table + " ADD COLUMN lease bigint NOT NULL DEFAULT 0"); err != nil {
			return err
		}
	}
	for i, c := range k.Columns {
		check := sqltext.Quote(short(k.Name + ".one_of." + c.Name))
		if i < len(kept.Columns) {
			if len(c.OneOf) == len(kept.Columns[i].OneOf) {
				continue
			}
			if err := m.script(table + " DROP CONSTRAINT " + check); err != nil {
				return err
			}
		} else if err := m.script(table + " ADD COLUMN " + sqltext.Quote(c.Name) + " " + sqlType[c.Type]); err != nil {
			return err
		}
		if len(c.OneOf) > 0 {
			if err := m.script(table + " ADD CONSTRAINT " + check + " CHECK (" + oneOf(c) + ")"); err != nil {
				return err
			}
		}
	}
	if len(k.Columns) == len(kept.Columns) {
		return nil
	}
	if err := m.fill(k, len(kept.Columns)); err != nil {
		return err
	}
	for _, c := range k.Columns[len(kept.Columns):] {
		if c.Null {
			continue
		}
		if err := m.script(table + " ALTER COLUMN " + sqltext.Quote(c.Name) + " SET NOT NULL"); err != nil {
			return err
		}
	}
	return nil
}

// fill fills the columns from the given index on, row by row in the order of the
// primary key.
func (m *migration) fill(k *storage.Kind, from int) error {
	name := sqltext.Quote(m.schema) + "." + sqltext.Quote(k.Name)
	var sets []string
	for i, c := range k.Columns[from:] {
		sets = append(sets, fmt.Sprintf("%s = $%d", sqltext.Quote(c.Name), i+4))
	}
	update := "UPDATE " + name + " SET " + strings.Join(sets, ", ") + " WHERE merchant = $1 AND live = $2 AND id = $3"
	next := fmt.Sprintf(`SELECT merchant, live, id, data FROM %s
		WHERE (merchant, live, id) > ($1, $2, $3) ORDER BY merchant, live, id LIMIT %d`, name, copyBatch)
	var last storage.Record
	done := int64(0)
	for {
		m.tell(k, done)
		rows, err := m.db.Query(m.ctx, next, last.Scope.Merchant, last.Scope.Live, last.ID)
		if err != nil {
			return err
		}
		batch, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r storage.Record, err error) {
			err = row.Scan(&r.Scope.Merchant, &r.Scope.Live, &r.ID, &r.Data)
			return r, err
		})
		if err != nil || len(batch) == 0 {
			return err
		}
		var writes pgx.Batch
		for _, r := range batch {
			if err := declared.Backfill(k, &r); err != nil {
				return err
			}
			args := []any{r.Scope.Merchant, r.Scope.Live, r.ID}
			for _, v := range r.Columns[from:] {
				args = append(args, sqltext.Stored(v))
			}
			writes.Queue(update, args...)
		}
		if err := m.db.SendBatch(m.ctx, &writes).Close(); err != nil {
			return err
		}
		last, done = batch[len(batch)-1], done+int64(len(batch))
	}
}
