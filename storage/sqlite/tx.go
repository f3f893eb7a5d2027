package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
)

// readTx reads on one connection, inside its open transaction.
type readTx struct {
	ctx   context.Context
	store *Store
	conn  *conn
	ended bool
	// failed is the first error that is not an answer but trouble: of the disk,
	// or of a database that is not as this package left it. Nothing works after
	// it, and nothing of the transaction is kept.
	failed error
}

// usable reports why a method must not go on.
func (t *readTx) usable() error {
	if t.ended {
		return fmt.Errorf("sqlite: the transaction has ended: %w", storage.ErrClosed)
	}
	if t.failed != nil {
		return t.failed
	}
	return t.ctx.Err()
}

// table returns what Define made of a kind.
func (t *readTx) table(k *storage.Kind) (*table, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	if k, ok := (*t.store.tables.Load())[k]; ok {
		return k, nil
	}
	return nil, fmt.Errorf("%w: kind is not defined", storage.ErrInvalid)
}

// fail ends the usefulness of the transaction.
func (t *readTx) fail(doing, what string, err error) error {
	t.failed = fmt.Errorf("sqlite: %s %s: %w", doing, what, err)
	return t.failed
}

// Get implements [storage.ReadTx].
func (t *readTx) Get(k *storage.Kind, s storage.Scope, id string) (storage.Record, error) {
	b, err := t.table(k)
	if err != nil {
		return storage.Record{}, err
	}
	c := t.conn
	c.args = append(c.args[:0], s.Merchant, s.Live, id)
	return t.record(b, b.get, &s)
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
	c, scope := t.conn, &s
	c.args = c.args[:0]
	if declared.Global {
		scope = nil
	} else {
		c.args = append(c.args, s.Merchant, s.Live)
	}
	for _, v := range values {
		c.args = append(c.args, sqltext.Stored(v))
	}
	return t.record(b, b.find[key], scope)
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
	var text string
	text, t.conn.args = b.lists.List(q, t.conn.args[:0])
	wanted := k.Columns
	if q.Bare {
		wanted = nil
	}
	records, err := t.records(b, q.Limit, wanted, text, &q.Scope)
	if q.Before != "" {
		slices.Reverse(records)
	}
	return records, err
}

// Backlog implements [storage.ReadTx].
func (t *readTx) Backlog(k *storage.Kind, due time.Time, limit int) (storage.Backlog, error) {
	b, err := t.table(k)
	if err != nil {
		return storage.Backlog{}, err
	}
	if err := k.CheckBacklog(due, limit); err != nil {
		return storage.Backlog{}, err
	}
	var count, oldest int64
	if _, err := t.conn.one(b.backlog, []any{due.UnixMilli(), limit}, &count, &oldest); err != nil {
		return storage.Backlog{}, t.fail("count", k.Name, err)
	}
	if count == 0 {
		return storage.Backlog{}, nil
	}
	return storage.Backlog{Count: int(count), Oldest: time.UnixMilli(oldest).UTC()}, nil
}

// record reads the only row of a query whose arguments stand in conn.args.
func (t *readTx) record(b *table, query string, scope *storage.Scope) (storage.Record, error) {
	rows, err := t.conn.query(query, t.conn.args...)
	if err != nil {
		return storage.Record{}, t.fail("read", b.kind.Name, err)
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return storage.Record{}, t.fail("read", b.kind.Name, err)
		}
		return storage.Record{}, fmt.Errorf("sqlite: %s: %w", b.kind.Name, storage.ErrNotFound)
	}
	r, err := t.conn.scan(b.kind.Columns, rows, scope)
	if err != nil {
		return storage.Record{}, t.fail("read", b.kind.Name, err)
	}
	return r, nil
}

// records reads all rows of such a query, which are at most limit; wanted are the
// promoted columns that it names.
func (t *readTx) records(b *table, limit int, wanted []storage.Column, query string, scope *storage.Scope) ([]storage.Record, error) {
	rows, err := t.conn.query(query, t.conn.args...)
	if err != nil {
		return nil, t.fail("list", b.kind.Name, err)
	}
	defer rows.Close()
	var records []storage.Record
	for rows.Next() {
		if records == nil {
			records = make([]storage.Record, 0, min(limit, 128))
		}
		if err := t.ctx.Err(); err != nil {
			return nil, err
		}
		r, err := t.conn.scan(wanted, rows, scope)
		if err != nil {
			return nil, t.fail("list", b.kind.Name, err)
		}
		records = append(records, r)
	}
	if err := rows.Err(); err != nil {
		return nil, t.fail("list", b.kind.Name, err)
	}
	return records, nil
}

// scan reads a row of what columns or bareColumns names; wanted are the promoted columns
// among it. A known scope is not.
func (c *conn) scan(wanted []storage.Column, rows *sql.Rows, scope *storage.Scope) (storage.Record, error) {
	n := len(wanted) + 3
	if scope == nil {
		n += 2
	}
	for len(c.values) < n {
		c.values = append(c.values, nil)
		c.dests = nil // they point into the slice as it was
	}
	for i := len(c.dests); i < len(c.values); i++ {
		c.dests = append(c.dests, &c.values[i])
	}
	if err := rows.Scan(c.dests[:n]...); err != nil {
		return storage.Record{}, err
	}
	// STRICT tables answer for the types.
	v := c.values[:n]
	r := storage.Record{ID: v[0].(string), Version: v[1].(int64), Data: v[2+len(wanted)].([]byte)}
	if len(wanted) > 0 {
		r.Columns = make([]any, len(wanted))
	}
	for i, c := range wanted {
		r.Columns[i] = loaded(c.Type, v[2+i])
	}
	if scope != nil {
		r.Scope = *scope
	} else {
		r.Scope = storage.Scope{Merchant: v[n-2].(string), Live: v[n-1].(int64) != 0}
	}
	clear(v) // what was read belongs to the caller alone
	return r, nil
}

// loaded is the inverse of sqltext.Stored.
func loaded(is storage.Type, v any) any {
	if n, ok := v.(int64); ok {
		switch is {
		case storage.Bool:
			return n != 0
		case storage.Time:
			return time.UnixMilli(n).UTC()
		}
	}
	return v
}
