package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/storage"
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

// tx is a member's part of the writer's transaction.
type tx struct {
	readTx
	group     *group
	cache     *cache
	wrote     bool // whether there is anything to undo
	savepoint bool
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
		c.args = append(c.args, stored(v))
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
	text, t.conn.args = b.list(q, t.conn.args[:0])
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

// stored returns a column's value as the database keeps it.
func stored(v any) any {
	if at, ok := v.(time.Time); ok {
		return at.UnixMilli()
	}
	return v
}

// loaded is the inverse of stored.
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

// Insert implements [storage.Tx].
func (t *tx) Insert(k *storage.Kind, r storage.Record) error {
	b, err := t.table(k)
	if err != nil {
		return err
	}
	r.Columns = slices.Clone(r.Columns) // Check rounds times in place
	if err := k.Check(&r); err != nil {
		return err
	}
	t.cache.drop(recordKey{b, r.Scope, r.ID}) // of which it may know that it is not there
	c := t.conn
	c.args = append(c.args[:0], r.Scope.Merchant, r.Scope.Live, r.ID)
	t.addDocument(&r)
	n, err := t.write("insert", k.Name, b.insert, c.args...)
	if err == nil && n == 0 {
		return fmt.Errorf("sqlite: insert %s: %w", k.Name, storage.ErrExists)
	}
	return err
}

// Replace implements [storage.Tx].
func (t *tx) Replace(k *storage.Kind, r storage.Record) error {
	b, err := t.table(k)
	if err != nil {
		return err
	}
	r.Columns = slices.Clone(r.Columns)
	if err := k.Check(&r); err != nil {
		return err
	}
	c := t.conn
	c.args = c.args[:0]
	t.addDocument(&r)
	c.args = append(c.args, r.Scope.Merchant, r.Scope.Live, r.ID, r.Version)
	n, err := t.write("replace", k.Name, b.replace, c.args...)
	if err != nil {
		return err
	}
	if n == 0 {
		return t.absent("replace", b, r.Scope, r.ID)
	}
	r.Version++
	t.cache.keep(recordKey{b, r.Scope, r.ID}, r)
	return nil
}

// Delete implements [storage.Tx].
func (t *tx) Delete(k *storage.Kind, s storage.Scope, id string, version int64) error {
	b, err := t.table(k)
	if err != nil {
		return err
	}
	t.cache.drop(recordKey{b, s, id})
	n, err := t.write("delete", k.Name, b.remove, s.Merchant, s.Live, id, version)
	if err != nil || n > 0 {
		return err
	}
	return t.absent("delete", b, s, id)
}

// Claim implements [storage.Tx].
func (t *tx) Claim(k *storage.Kind, claim storage.Claim) ([]storage.Record, error) {
	b, err := t.table(k)
	if err != nil {
		return nil, err
	}
	if err := k.CheckClaim(claim); err != nil {
		return nil, err
	}
	c, query := t.conn, b.claim
	c.args = append(c.args[:0], claim.Due.UnixMilli(), claim.Now.UnixMilli())
	if claim.Scope != nil {
		query = b.claimScoped
		c.args = append(c.args, claim.Scope.Merchant, claim.Scope.Live)
	}
	c.args = append(c.args, claim.Limit)
	records, err := t.records(b, claim.Limit, k.Columns, query, claim.Scope)
	if err != nil {
		return nil, err
	}
	if claim.InTx {
		return records, nil
	}
	until := ceiling(claim.Now.Add(claim.Lease))
	for i := range records {
		r := &records[i]
		t.cache.drop(recordKey{b, r.Scope, r.ID})
		n, err := t.write("claim", k.Name, b.lease, until, r.Scope.Merchant, r.Scope.Live, r.ID)
		if err == nil && n != 1 {
			err = t.fail("claim", k.Name, errors.New("a record cannot be found by its id"))
		}
		if err != nil {
			return nil, err
		}
		r.Version++
	}
	return records, nil
}

// addDocument adds the promoted columns and the document to the arguments.
func (t *tx) addDocument(r *storage.Record) {
	c := t.conn
	for _, v := range r.Columns {
		c.args = append(c.args, stored(v))
	}
	if r.Data == nil {
		r.Data = []byte{} // nil would be NULL
	}
	c.args = append(c.args, r.Data)
}

// absent says why a record with a version was not there.
func (t *tx) absent(doing string, b *table, s storage.Scope, id string) error {
	var one int64
	found, err := t.conn.one(b.exists, []any{s.Merchant, s.Live, id}, &one)
	if err != nil {
		return t.fail(doing, b.kind.Name, err)
	}
	if found {
		return fmt.Errorf("sqlite: %s %s: %w", doing, b.kind.Name, storage.ErrConflict)
	}
	return fmt.Errorf("sqlite: %s %s: %w", doing, b.kind.Name, storage.ErrNotFound)
}

// write runs a statement that changes something and returns how many rows it
// changed. A taken key is ErrExists and has done no harm; after any other error
// the transaction is of no use.
func (t *tx) write(doing, what, query string, args ...any) (rows int64, err error) {
	if err := t.prepare(); err != nil {
		return 0, err
	}
	result, err := t.conn.exec(query, args...)
	if isUnique(err) {
		return 0, fmt.Errorf("sqlite: %s %s: %w", doing, what, storage.ErrExists)
	}
	if err != nil {
		return 0, t.fail(doing, what, err)
	}
	if rows, err = result.RowsAffected(); err != nil {
		return 0, t.fail(doing, what, err)
	}
	return rows, nil
}

// prepare makes sure that what is about to be written can be undone without
// harm to those in the group who have written before.
func (t *tx) prepare() error {
	if t.wrote {
		return nil
	}
	if t.group.wrote > 0 {
		if _, err := t.conn.exec("SAVEPOINT member"); err != nil {
			return t.fail("open", "savepoint", err)
		}
		t.savepoint = true
	}
	t.wrote = true
	return nil
}

// release makes what was written part of the group.
func (t *tx) release() error {
	if t.savepoint {
		if _, err := t.conn.exec("RELEASE member"); err != nil {
			return t.fail("release", "savepoint", err)
		}
	}
	if t.wrote {
		t.group.wrote++
	}
	return nil
}
