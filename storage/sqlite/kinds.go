package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/schema"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// Define implements [sqlstore.Driver].
func (d driver) Define(ctx context.Context, s sqlstore.Session, kinds []*storage.Kind) (changed bool, err error) {
	m := &migration{ctx: ctx, conn: s.(*session).conn}
	for _, k := range kinds {
		this, err := sqlstore.Define(m, k, d.migrationProgress)
		if err != nil {
			return false, fmt.Errorf("sqlite: define %s: %w", k.Name, err)
		}
		changed = changed || this
	}
	return changed, nil
}

// CheckVersion implements [sqlstore.Session].
func (s *session) CheckVersion(_ context.Context, kinds []*storage.Kind) error {
	applied, err := pragma(s.conn, "user_version")
	if err == nil {
		err = migrations.Check(int(applied))
	}
	if err != nil {
		return err
	}
	return sqlstore.CheckVersion(&migration{conn: s.conn}, kinds)
}

// schemaNumber returns the schema version, which changes with each change of tables and
// each migration. SQLite keeps both numbers in the header of the file.
func schemaNumber(c *conn) (int64, error) {
	changes, err := pragma(c, "schema_version")
	if err != nil {
		return 0, err
	}
	applied, err := pragma(c, "user_version")
	return applied<<32 | changes, err
}

// migration changes tables inside a transaction. It implements [sqlstore.SchemaTx].
type migration struct {
	ctx  context.Context
	conn *conn
}

// Declaration implements [sqlstore.SchemaTx].
func (m *migration) Declaration(kind string) (text string, err error) {
	_, err = m.conn.queryRow("SELECT declaration FROM storage_kinds WHERE name = ?", []any{kind}, &text)
	return text, err
}

// SetDeclaration implements [sqlstore.SchemaTx].
func (m *migration) SetDeclaration(kind, declaration string) error {
	_, err := m.conn.exec(`INSERT INTO storage_kinds (name, declaration) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET declaration = excluded.declaration`, kind, declaration)
	return err
}

// HasIndex implements [sqlstore.SchemaTx].
func (m *migration) HasIndex(name string) (bool, error) {
	var one int64
	return m.conn.queryRow("SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?", []any{name}, &one)
}

// CreateIndex implements [sqlstore.SchemaTx].
func (m *migration) CreateIndex(k *storage.Kind, i sqlstore.Index) error {
	err := m.conn.script(i.CreateStatement(i.Name, sqlstore.Quote(k.Name)))
	if isUnique(err) {
		return fmt.Errorf("%w: two records have the same value in key %s", storage.ErrExists, i.Name)
	}
	return err
}

// DropIndex implements [sqlstore.SchemaTx].
func (m *migration) DropIndex(name string) error {
	return m.conn.script("DROP INDEX " + sqlstore.Quote(name))
}

// CreateTable implements [sqlstore.SchemaTx].
func (m *migration) CreateTable(k *storage.Kind) error { return m.create(k, k.Name) }

// create makes the table of a kind under the given name.
func (m *migration) create(k *storage.Kind, name string) error {
	var s strings.Builder
	s.WriteString("CREATE TABLE " + sqlstore.Quote(name) + ` (
	merchant TEXT NOT NULL,
	live INTEGER NOT NULL CHECK (live IN (0, 1)),
	id TEXT NOT NULL CHECK (id <> ''),
	version INTEGER NOT NULL CHECK (version > 0),
`)
	for _, c := range k.Columns {
		s.WriteString("\t" + columnDefinition(c))
		if !c.Null {
			s.WriteString(" NOT NULL")
		}
		s.WriteString(",\n")
	}
	if k.Due != "" {
		s.WriteString("\t" + leaseColumn + ",\n")
	}
	if k.Ordered {
		s.WriteString("\tnumber INTEGER NOT NULL,\n")
	}
	s.WriteString("\tdata BLOB NOT NULL,\n\tUNIQUE (merchant, live, id)\n) STRICT")
	return m.conn.script(s.String())
}

const leaseColumn = "lease INTEGER NOT NULL DEFAULT 0"

// columnDefinition returns the definition of a nullable column.
func columnDefinition(c storage.Column) string {
	name := sqlstore.Quote(c.Name)
	switch {
	case c.Type == storage.Bool:
		return name + " INTEGER CHECK (" + name + " IN (0, 1))"
	case len(c.OneOf) > 0:
		return name + " TEXT " + oneOfCheck(c)
	case c.Type == storage.Text:
		return name + " TEXT"
	}
	return name + " INTEGER"
}

// oneOfCheck returns the constraint of a column's OneOf. It has a name, so that it can be
// changed.
func oneOfCheck(c storage.Column) string {
	return "CONSTRAINT " + oneOfName(c) + " CHECK (" + sqlstore.Quote(c.Name) + " IN ('" + strings.Join(c.OneOf, "', '") + "'))"
}

func oneOfName(c storage.Column) string { return sqlstore.Quote("one_of." + c.Name) }

// copyBatch is how many rows a rebuild holds in memory.
const copyBatch = 200

// AlterTable implements [sqlstore.SchemaTx].
func (m *migration) AlterTable(k *storage.Kind, kept schema.Declaration, tell func(done int64)) error {
	table := "ALTER TABLE " + sqlstore.Quote(k.Name)
	if len(k.Columns) > len(kept.Columns) || k.Ordered != kept.Ordered {
		return m.rebuild(k, kept, tell)
	}
	tell(0)
	for i, was := range kept.Columns {
		if c := k.Columns[i]; len(c.OneOf) > len(was.OneOf) {
			if err := m.conn.script(table + " DROP CONSTRAINT " + oneOfName(c) + ";" + table + " ADD " + oneOfCheck(c)); err != nil {
				return err
			}
		}
	}
	if kept.Due == "" && k.Due != "" {
		if err := m.conn.script(table + " ADD COLUMN " + leaseColumn); err != nil {
			return err
		}
	}
	return nil
}

// rebuild makes a table anew, which takes less time than an UPDATE of each row.
func (m *migration) rebuild(k *storage.Kind, kept schema.Declaration, tell func(done int64)) error {
	temporary := k.Name + ".new"
	if err := m.create(k, temporary); err != nil {
		return err
	}
	if err := m.copyRows(k, kept, temporary, tell); err != nil {
		return err
	}
	return m.conn.script("DROP TABLE " + sqlstore.Quote(k.Name) + ";" +
		"ALTER TABLE " + sqlstore.Quote(temporary) + " RENAME TO " + sqlstore.Quote(k.Name))
}

func (m *migration) copyRows(k *storage.Kind, kept schema.Declaration, target string, tell func(done int64)) error {
	names := []string{"merchant", "live", "id", "version"}
	for _, c := range kept.Columns {
		names = append(names, sqlstore.Quote(c.Name))
	}
	if kept.Due != "" {
		names = append(names, "lease")
	}
	read := slices.Clone(names)
	if k.Ordered {
		names = append(names, "number")
		if kept.Ordered {
			read = append(read, "number")
		} else {
			read = append(read, "0")
		}
	}
	names, read = append(names, "data"), append(read, "data")
	from := "SELECT rowid, " + strings.Join(read, ", ") + " FROM " + sqlstore.Quote(k.Name) +
		" WHERE rowid > ? ORDER BY rowid LIMIT ?"
	added := k.Columns[len(kept.Columns):]
	for _, c := range added {
		names = append(names, sqlstore.Quote(c.Name))
	}
	into := "INSERT INTO " + sqlstore.Quote(target) + " (" + strings.Join(names, ", ") + ") VALUES (?" +
		strings.Repeat(", ?", len(names)-1) + ")"

	done := int64(0)
	for after := int64(0); ; {
		tell(done)
		batch, last, err := m.readRows(from, len(read), after)
		if err != nil || len(batch) == 0 {
			return err
		}
		after, done = last, done+int64(len(batch))
		for _, row := range batch {
			if err := m.ctx.Err(); err != nil {
				return err
			}
			if len(added) > 0 {
				r := storage.Record{ID: row[2].(string), Data: row[len(row)-1].([]byte)}
				if err := schema.Backfill(k, &r); err != nil {
					return err
				}
				for _, v := range r.Columns[len(kept.Columns):] {
					row = append(row, sqlstore.Encode(v))
				}
			}
			if _, err := m.conn.exec(into, row...); err != nil {
				return fmt.Errorf("copy: %w", err)
			}
		}
	}
}

// readRows reads a batch of rows after a rowid, and returns the last rowid.
func (m *migration) readRows(query string, columns int, after int64) (batch [][]any, last int64, err error) {
	rows, err := m.conn.query(query, after, copyBatch)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		row := make([]any, columns)
		dests := []any{&last}
		for i := range row {
			dests = append(dests, &row[i])
		}
		if err := rows.Scan(dests...); err != nil {
			return nil, 0, err
		}
		batch = append(batch, row)
	}
	return batch, last, rows.Err()
}
