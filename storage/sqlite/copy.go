package sqlite

import (
	"database/sql"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
)

// Scan implements [storage.Scanner].
func (t *readTx) Scan(k *storage.Kind, after storage.Scope, id string, limit int) ([]storage.Record, error) {
	b, err := t.table(k)
	if err != nil {
		return nil, err
	}
	t.conn.args = append(t.conn.args[:0], after.Merchant, after.Live, id, limit)
	return t.records(b, limit, k.Columns, "SELECT "+columns(k, false)+" FROM "+sqltext.Quote(k.Name)+
		" WHERE (merchant, live, id) > (?, ?, ?) ORDER BY merchant, live, id LIMIT ?", nil)
}

// Sequences implements [storage.Scanner].
func (t *readTx) Sequences(after string, limit int) ([]storage.Sequence, error) {
	var all []storage.Sequence
	err := t.each("list sequences", limit, func(rows *sql.Rows) error {
		var s storage.Sequence
		err := rows.Scan(&s.Name, &s.Value)
		all = append(all, s)
		return err
	}, "SELECT name, value FROM storage_sequences WHERE name > ? ORDER BY name LIMIT ?", after, limit)
	return all, err
}

// Sequences implements [storage.Scanner].
func (t *tx) Sequences(after string, limit int) ([]storage.Sequence, error) {
	if err := t.spill(); err != nil {
		return nil, err
	}
	return t.readTx.Sequences(after, limit)
}

// SetSequence implements [storage.SequenceSetter].
func (t *tx) SetSequence(name string, value int64) error {
	if err := t.usable(); err != nil {
		return err
	}
	_, err := t.write("set", "sequence", setSequence, name, value)
	return err
}
