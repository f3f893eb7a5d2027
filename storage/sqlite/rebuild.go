package sqlite

import (
	"strings"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/declared"
	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
)

// copyBatch is how many rows are in memory at once while a table is rebuilt.
const copyBatch = 200

// rebuild makes the table of a kind anew, because SQLite cannot add a column
// that must not be null, nor change a constraint. What is stored is kept to the
// letter; only columns that are new come from [storage.Kind.Backfill].
func (t *tx) rebuild(k *storage.Kind, kept declared.Kind) error {
	temporary := k.Name + ".new"
	if err := t.script(createTable(k, temporary)); err != nil {
		return err
	}
	if err := t.copyRows(k, kept, temporary); err != nil {
		return err
	}
	return t.script("DROP TABLE " + sqltext.Quote(k.Name) + ";" +
		"ALTER TABLE " + sqltext.Quote(temporary) + " RENAME TO " + sqltext.Quote(k.Name))
}

func (t *tx) copyRows(k *storage.Kind, kept declared.Kind, target string) error {
	names := []string{"merchant", "live", "id", "version"}
	for _, c := range kept.Columns {
		names = append(names, sqltext.Quote(c.Name))
	}
	if kept.Due != "" {
		names = append(names, "lease")
	}
	names = append(names, "data")
	old := len(names)
	from := "SELECT rowid, " + strings.Join(names, ", ") + " FROM " + sqltext.Quote(k.Name) +
		" WHERE rowid > ? ORDER BY rowid LIMIT ?"
	added := k.Columns[len(kept.Columns):]
	for _, c := range added {
		names = append(names, sqltext.Quote(c.Name))
	}
	into := "INSERT INTO " + sqltext.Quote(target) + " (" + strings.Join(names, ", ") + ") VALUES (?" +
		strings.Repeat(", ?", len(names)-1) + ")"

	done := int64(0)
	for after := int64(0); ; {
		t.migrating(k, done)
		batch, last, err := t.readRows(from, old, after)
		if err != nil || len(batch) == 0 {
			return err
		}
		after, done = last, done+int64(len(batch))
		for _, row := range batch {
			if err := t.usable(); err != nil {
				return err
			}
			if len(added) > 0 {
				r := storage.Record{ID: row[2].(string), Data: row[len(row)-1].([]byte)}
				if err := declared.Backfill(k, &r); err != nil {
					return err
				}
				for _, v := range r.Columns[len(kept.Columns):] {
					row = append(row, sqltext.Stored(v))
				}
			}
			if _, err := t.write("copy", k.Name, into, row...); err != nil {
				return err
			}
		}
	}
}

// readRows reads a batch of rows after a rowid, and returns the last rowid.
func (t *tx) readRows(query string, columns int, after int64) (batch [][]any, last int64, err error) {
	rows, err := t.conn.query(query, after, copyBatch)
	if err != nil {
		return nil, 0, t.fail("copy", "rows", err)
	}
	defer rows.Close()
	for rows.Next() {
		row := make([]any, columns)
		dests := []any{&last}
		for i := range row {
			dests = append(dests, &row[i])
		}
		if err := rows.Scan(dests...); err != nil {
			return nil, 0, t.fail("copy", "rows", err)
		}
		batch = append(batch, row)
	}
	if err := rows.Err(); err != nil {
		return nil, 0, t.fail("copy", "rows", err)
	}
	return batch, last, nil
}
