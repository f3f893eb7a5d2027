package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
)

// readTx reads on one connection, inside its open transaction.
type readTx struct {
	ctx     context.Context // the caller's, which is looked at between statements
	io      context.Context // the statements'
	store   *Store
	session *session
	ended   bool
	// failed is the first error that is not an answer but trouble. Nothing works
	// after it, and nothing of the transaction is kept.
	failed error
}

// usable reports why a method must not go on.
func (t *readTx) usable() error {
	if t.ended {
		return fmt.Errorf("postgres: the transaction has ended: %w", storage.ErrClosed)
	}
	if err := t.ctx.Err(); err != nil {
		return err
	}
	return t.failed
}

// table returns what Define made of a kind.
func (t *readTx) table(k *storage.Kind) (*table, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	return t.store.table(k)
}

func (s *Store) table(k *storage.Kind) (*table, error) {
	if b, ok := (*s.tables.Load())[k]; ok {
		return b, nil
	}
	return nil, fmt.Errorf("%w: kind is not defined", storage.ErrInvalid)
}

// fail ends the usefulness of the transaction.
func (t *readTx) fail(doing, what string, err error) error {
	if ended := t.ctx.Err(); ended != nil && t.io.Err() != nil {
		t.failed = ended
	} else {
		t.failed = fmt.Errorf("postgres: %s %s: %w", doing, what, err)
	}
	return t.failed
}

// Get implements [storage.ReadTx].
func (t *readTx) Get(k *storage.Kind, s storage.Scope, id string) (storage.Record, error) {
	b, err := t.table(k)
	if err != nil {
		return storage.Record{}, err
	}
	if !allText(s.Merchant, id) {
		return storage.Record{}, errAbsent(b)
	}
	return t.record(b, &s, b.get, s.Merchant, s.Live, id)
}

func errAbsent(b *table) error {
	return fmt.Errorf("postgres: %s: %w", b.kind.Name, storage.ErrNotFound)
}

// Find implements [storage.ReadTx].
func (t *readTx) Find(k *storage.Kind, key string, s storage.Scope, values ...any) (storage.Record, error) {
	b, err := t.table(k)
	if err != nil {
		return storage.Record{}, err
	}
	values = slices.Clone(values)
	declared, err := k.CheckKey(key, values)
	if err != nil {
		return storage.Record{}, err
	}
	return t.find(b, declared, s, values)
}

// find looks for checked values of a unique key.
func (t *readTx) find(b *table, key *storage.Key, s storage.Scope, values []any) (storage.Record, error) {
	if !allText(s.Merchant) || !allText(values...) {
		return storage.Record{}, errAbsent(b)
	}
	return t.record(b, nil, b.find[key.Name], findArgs(key, s, values)...)
}

func findArgs(key *storage.Key, s storage.Scope, values []any) []any {
	args := make([]any, 0, 8)
	if !key.Global {
		args = append(args, s.Merchant, s.Live)
	}
	for _, v := range values {
		args = append(args, sqltext.Stored(v))
	}
	return args
}

// List implements [storage.ReadTx].
func (t *readTx) List(k *storage.Kind, q storage.Query) ([]storage.Record, error) {
	b, err := t.table(k)
	if err != nil {
		return nil, err
	}
	if err := k.CheckQuery(q); err != nil {
		return nil, err
	}
	if !allText(q.Scope.Merchant) {
		return nil, nil
	}
	for _, e := range q.Where {
		if !allText(e.Value) {
			return nil, nil
		}
	}
	text, args := b.lists.List(q, make([]any, 0, 8))
	records, err := t.records(b, &q.Scope, text, args...)
	if q.Before != "" {
		slices.Reverse(records)
	}
	return records, err
}

// record reads the only row of a query.
func (t *readTx) record(b *table, scope *storage.Scope, query string, args ...any) (storage.Record, error) {
	records, err := t.records(b, scope, query, args...)
	if err != nil {
		return storage.Record{}, err
	}
	if len(records) == 0 {
		return storage.Record{}, errAbsent(b)
	}
	return records[0], nil
}

// records reads all rows of a query.
func (t *readTx) records(b *table, scope *storage.Scope, query string, args ...any) ([]storage.Record, error) {
	var records []storage.Record
	err := t.session.query(t.io, func(rows pgx.Rows) error {
		r, err := scan(b.kind, rows, scope)
		records = append(records, r)
		return err
	}, query, args...)
	if err != nil {
		return nil, t.fail("read", b.kind.Name, err)
	}
	return records, nil
}

// scan reads a row of the columns that columns names. A known scope is not among
// them.
func scan(k *storage.Kind, rows pgx.Rows, scope *storage.Scope) (storage.Record, error) {
	v, err := rows.Values()
	if err != nil {
		return storage.Record{}, err
	}
	n := len(k.Columns)
	r := storage.Record{ID: v[0].(string), Version: v[1].(int64), Columns: v[2 : 2+n : 2+n], Data: v[2+n].([]byte)}
	for i := range k.Columns {
		r.Columns[i] = loaded(k.Columns[i].Type, r.Columns[i])
	}
	if scope != nil {
		r.Scope = *scope
	} else {
		r.Scope = storage.Scope{Merchant: v[3+n].(string), Live: v[4+n].(bool)}
	}
	return r, nil
}
