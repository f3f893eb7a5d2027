package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
)

// Scan implements [storage.Scanner].
func (t *readTx) Scan(k *storage.Kind, after storage.Scope, id string, limit int) ([]storage.Record, error) {
	b, err := t.table(k)
	if err != nil {
		return nil, err
	}
	return t.records(b, nil, "SELECT "+columns(k, "", false)+" FROM "+b.name+
		" WHERE (merchant, live, id) > ($1, $2, $3) ORDER BY merchant, live, id LIMIT $4",
		cursor(after.Merchant), after.Live, cursor(id), limit)
}

// Scan implements [storage.Scanner].
func (t *tx) Scan(k *storage.Kind, after storage.Scope, id string, limit int) ([]storage.Record, error) {
	if _, err := t.table(k); err != nil {
		return nil, err
	}
	if err := t.flushKind(k.Name); err != nil {
		return nil, err
	}
	records, err := t.readTx.Scan(k, after, id, limit)
	return records, t.trouble(err)
}

// Sequences implements [storage.Scanner].
func (t *readTx) Sequences(after string, limit int) ([]storage.Sequence, error) {
	if err := t.usable(); err != nil || limit < 1 {
		return nil, err
	}
	var all []storage.Sequence
	err := t.session.query(t.io, func(rows pgx.Rows) error {
		var s storage.Sequence
		err := rows.Scan(&s.Name, &s.Value)
		all = append(all, s)
		return err
	}, "SELECT name, value FROM "+sqltext.Quote(t.store.config.Schema)+".storage_sequences WHERE name > $1 ORDER BY name LIMIT $2",
		cursor(after), limit)
	if err != nil {
		return nil, t.fail("read", "sequences", err)
	}
	return all, nil
}

// Sequences implements [storage.Scanner].
func (t *tx) Sequences(after string, limit int) ([]storage.Sequence, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	if err := t.flush(); err != nil {
		return nil, err
	}
	all, err := t.readTx.Sequences(after, limit)
	return all, t.trouble(err)
}

// SetSequence implements [storage.SequenceSetter].
func (t *tx) SetSequence(name string, value int64) error {
	if err := t.usable(); err != nil {
		return err
	}
	if !isText(name) {
		return errText("sequence")
	}
	t.own.sequences.Put(name, sequence{value: value, dirty: true})
	t.own.counted = append(t.own.counted, name)
	return t.wrote()
}
