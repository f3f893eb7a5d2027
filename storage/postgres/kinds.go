package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/schema"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// Define implements [sqlstore.Driver].
func (d driver) Define(ctx context.Context, s sqlstore.Session, kinds []*storage.Kind) (changed bool, err error) {
	m := &migration{ctx: ctx, db: s.(*session).db, schema: d.config.Schema, progress: d.config.MigrationProgress, isOnline: true}
	for _, k := range kinds {
		this, err := m.define(k)
		if err != nil {
			return false, fmt.Errorf("postgres: define %s: %w", k.Name, err)
		}
		changed = changed || this
	}
	if changed {
		err = m.bumpSchemaVersion()
	}
	return changed, err
}

// define creates or changes the table of a kind. No other update runs meanwhile.
func (m *migration) define(k *storage.Kind) (changed bool, err error) {
	if missing, err := sqlstore.NeedsDefine(m, k); err != nil || !missing {
		return false, err
	}
	if _, err := m.db.Exec(m.ctx, lockWriterSQL(m.schema)); err != nil {
		return false, err
	}
	if m.isOnline {
		if _, err := m.db.Exec(m.ctx, shortLockTimeout); err != nil {
			return false, err
		}
	}
	return sqlstore.Define(m, k, m.progress)
}

// Declaration implements [sqlstore.SchemaTx].
func (m *migration) Declaration(kind string) (text string, err error) {
	_, err = m.queryRow("SELECT declaration FROM "+sqlstore.Quote(m.schema)+".storage_kinds WHERE name = $1", []any{kind}, &text)
	return text, err
}

// SetDeclaration implements [sqlstore.SchemaTx].
func (m *migration) SetDeclaration(kind, declaration string) error {
	_, err := m.db.Exec(m.ctx, "INSERT INTO "+sqlstore.Quote(m.schema)+`.storage_kinds (name, declaration) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET declaration = excluded.declaration`, kind, declaration)
	return err
}

// HasIndex implements [sqlstore.SchemaTx].
func (m *migration) HasIndex(name string) (bool, error) {
	return m.exists(`SELECT 1 FROM pg_catalog.pg_index AS i
		JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = $2 AND i.indisvalid`, m.schema, shortName(name))
}

// CreateIndex implements [sqlstore.SchemaTx].
func (m *migration) CreateIndex(k *storage.Kind, i sqlstore.Index) error {
	// A killed run may have left an invalid index.
	err := m.script("DROP INDEX IF EXISTS " + sqlstore.Quote(m.schema) + "." + sqlstore.Quote(shortName(i.Name)))
	if err == nil {
		err = m.script(i.CreateStatement(shortName(i.Name), m.table(k)))
	}
	return indexError(i, err)
}

// DropIndex implements [sqlstore.SchemaTx].
func (m *migration) DropIndex(name string) error {
	return m.script("DROP INDEX " + sqlstore.Quote(m.schema) + "." + sqlstore.Quote(shortName(name)))
}

// indexError returns the error of an index in the caller's terms.
func indexError(i sqlstore.Index, err error) error {
	if isUnique(err) {
		return fmt.Errorf("%w: two records have the same value in key %s", storage.ErrExists, shortName(i.Name))
	}
	return err
}

var sqlType = map[storage.Type]string{
	storage.Text: `text COLLATE "C"`, storage.Int: "bigint", storage.Bool: "boolean", storage.Time: "bigint",
}

func oneOfCondition(c storage.Column) string {
	return sqlstore.Quote(c.Name) + " IN ('" + strings.Join(c.OneOf, "', '") + "')"
}

// CreateTable implements [sqlstore.SchemaTx]. The constraints have names, so that a later
// release can change them.
func (m *migration) CreateTable(k *storage.Kind) error {
	var s strings.Builder
	s.WriteString("CREATE TABLE " + sqlstore.Quote(m.schema) + "." + sqlstore.Quote(k.Name) + ` (
	merchant text COLLATE "C" NOT NULL,
	live boolean NOT NULL,
	id text COLLATE "C" NOT NULL CHECK (id <> ''),
	version bigint NOT NULL CHECK (version > 0),
`)
	for _, c := range k.Columns {
		s.WriteString("\t" + sqlstore.Quote(c.Name) + " " + sqlType[c.Type])
		if !c.Null {
			s.WriteString(" NOT NULL")
		}
		if len(c.OneOf) > 0 {
			s.WriteString(" CONSTRAINT " + sqlstore.Quote(shortName(k.Name+".one_of."+c.Name)) + " CHECK (" + oneOfCondition(c) + ")")
		}
		s.WriteString(",\n")
	}
	if k.Due != "" {
		s.WriteString("\tlease bigint NOT NULL DEFAULT 0,\n")
	}
	if k.Ordered {
		s.WriteString("\tnumber bigint NOT NULL,\n")
	}
	s.WriteString("\tdata bytea NOT NULL,\n\tPRIMARY KEY (merchant, live, id)\n) WITH (fillfactor = 85)")
	return m.script(s.String())
}

// shortName shortens a name to what PostgreSQL keeps of it.
func shortName(name string) string {
	if len(name) <= 63 {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:50] + "." + hex.EncodeToString(sum[:6])
}

// copyBatch is how many rows a backfill holds in memory.
const copyBatch = 200

// addNumber adds the column of an Ordered kind. PostgreSQL does not rewrite the rows for the default.
const addNumber = " ADD COLUMN IF NOT EXISTS number bigint NOT NULL DEFAULT 0"

// AlterTable implements [sqlstore.SchemaTx].
func (m *migration) AlterTable(k *storage.Kind, kept schema.Declaration, tell func(done int64)) error {
	filled, err := m.isBackfilled(k)
	if err != nil {
		return err
	}
	if filled {
		tell = func(int64) {} // only few rows are left
	}
	tell(0)
	table, from := "ALTER TABLE "+m.table(k), len(kept.Columns)
	later := "" // in the host's own transaction, constraints are checked at once
	if m.isOnline {
		later = " NOT VALID"
	}
	if kept.Due == "" && k.Due != "" {
		if err := m.script(table + " ADD COLUMN IF NOT EXISTS lease bigint NOT NULL DEFAULT 0"); err != nil {
			return err
		}
	}
	if k.Ordered && !kept.Ordered {
		// Until now older programs have written without numbers.
		if err := m.script(table + addNumber + ";\n" + table + " ALTER COLUMN number DROP DEFAULT"); err != nil {
			return err
		}
	}
	for i, c := range k.Columns {
		check := sqlstore.Quote(shortName(k.Name + ".one_of." + c.Name))
		if i < from {
			if len(c.OneOf) == len(kept.Columns[i].OneOf) {
				continue
			}
			if err := m.script(table + " DROP CONSTRAINT " + check); err != nil {
				return err
			}
		} else if err := m.script(table + " ADD COLUMN IF NOT EXISTS " + sqlstore.Quote(c.Name) + " " + sqlType[c.Type]); err != nil {
			return err
		}
		if len(c.OneOf) > 0 {
			if err := m.script(table + " ADD CONSTRAINT " + check + " CHECK (" + oneOfCondition(c) + ")" + later); err != nil {
				return err
			}
		}
	}
	if from == len(k.Columns) {
		return nil
	}
	if err := m.backfillRest(k, from, filled, tell); err != nil {
		return err
	}
	for _, c := range k.Columns[from:] {
		if c.Null {
			continue
		}
		constraint := " ALTER COLUMN " + sqlstore.Quote(c.Name) + " SET NOT NULL"
		if m.isOnline {
			constraint = " ADD CONSTRAINT " + sqlstore.Quote(shortName(k.Name+".not_null."+c.Name)) +
				" CHECK (" + sqlstore.Quote(c.Name) + " IS NOT NULL)" + later
		}
		if err := m.script(table + constraint); err != nil {
			return err
		}
	}
	return nil
}

// backfillRest fills the rows that were not filled online, and drops the helper table and
// trigger.
func (m *migration) backfillRest(k *storage.Kind, from int, filled bool, tell func(done int64)) error {
	rest := m.table(k)
	if filled {
		rest = "(SELECT t.* FROM " + m.changedRowsTable(k) + " JOIN " + rest + " AS t USING (merchant, live, id)) AS t"
	}
	err := m.backfill(k, from, rest, tell, func(b *pgx.Batch) error { return m.db.SendBatch(m.ctx, b).Close() })
	if err != nil {
		return err
	}
	return m.script("DROP TRIGGER IF EXISTS storage_note ON " + m.table(k) + ";\n" +
		"DROP FUNCTION IF EXISTS " + m.changedRowsTable(k) + ";\nDROP TABLE IF EXISTS " + m.changedRowsTable(k))
}

// backfill fills the columns from the given index on, in the rows of a table or query, by
// ascending primary key.
func (m *migration) backfill(k *storage.Kind, from int, rows string, tell func(done int64), write func(*pgx.Batch) error) error {
	name := m.table(k)
	var sets []string
	for i, c := range k.Columns[from:] {
		sets = append(sets, fmt.Sprintf("%s = $%d", sqlstore.Quote(c.Name), i+4))
	}
	update := "UPDATE " + name + " SET " + strings.Join(sets, ", ") + " WHERE merchant = $1 AND live = $2 AND id = $3"
	next := fmt.Sprintf(`SELECT merchant, live, id, data FROM %s
		WHERE (merchant, live, id) > ($1, $2, $3) ORDER BY merchant, live, id LIMIT %d`, rows, copyBatch)
	var last storage.Record
	done := int64(0)
	for {
		tell(done)
		found, err := m.db.Query(m.ctx, next, last.Scope.Merchant, last.Scope.Live, last.ID)
		if err != nil {
			return err
		}
		batch, err := pgx.CollectRows(found, func(row pgx.CollectableRow) (r storage.Record, err error) {
			err = row.Scan(&r.Scope.Merchant, &r.Scope.Live, &r.ID, &r.Data)
			return r, err
		})
		if err != nil || len(batch) == 0 {
			return err
		}
		var writes pgx.Batch
		for _, r := range batch {
			if err := schema.Backfill(k, &r); err != nil {
				return err
			}
			args := []any{r.Scope.Merchant, r.Scope.Live, r.ID}
			for _, v := range r.Columns[from:] {
				args = append(args, sqlstore.Encode(v))
			}
			writes.Queue(update, args...)
		}
		if err := write(&writes); err != nil {
			return err
		}
		last, done = batch[len(batch)-1], done+int64(len(batch))
	}
}
