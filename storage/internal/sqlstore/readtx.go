package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

type readTx struct {
	ctx   context.Context // of the caller; checked between statements
	ioCtx context.Context // of the statements
	store *Store
	// session returns the session, and opens it first if need be.
	session func() (Session, error)
	// flushBuffered writes to the database what is buffered of a kind, of all kinds for
	// "", or of the ledger for flushLedger. onFailure is called after an error of the
	// database. Both are nil in a View.
	flushBuffered func(what string) error
	onFailure     func(error)
	ended         bool
	// failed is the first error of the database. All later methods fail with it, and the
	// transaction writes nothing.
	failed error
}

// flushLedger makes flushBuffered write the ledger.
const flushLedger = "ledger_entries"

// flushBefore writes what a query depends on to the database; see flushBuffered.
func (t *readTx) flushBefore(what string) error {
	if err := t.usable(); err != nil || t.flushBuffered == nil {
		return err
	}
	return t.flushBuffered(what)
}

// usable returns the error with which all methods fail, or nil.
func (t *readTx) usable() error {
	if t.ended {
		return fmt.Errorf("%s: the transaction has ended: %w", t.store.Name, storage.ErrClosed)
	}
	if err := t.ctx.Err(); err != nil {
		return err
	}
	return t.failed
}

// table returns the table of a defined kind.
func (t *readTx) table(k *storage.Kind) (*Table, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	return t.store.Table(k)
}

// tableToQuery returns the table of a kind with what is buffered of it. It fails if wrong, the check of the call,
// is an error.
func (t *readTx) tableToQuery(k *storage.Kind, wrong error) (*Table, error) {
	table, err := t.table(k)
	if err = cmp.Or(err, wrong); err != nil {
		return nil, err
	}
	return table, t.flushBefore(k.Name)
}

// collect runs a statement and returns what scan makes of each row.
func collect[T any](t *readTx, what string, scan func(Row) (T, error), text string, args ...any) ([]T, error) {
	var all []T
	err := t.query("read", what, func(row Row) error {
		v, err := scan(row)
		all = append(all, v)
		return err
	}, text, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// query runs a statement and calls scan for each row.
func (t *readTx) query(doing, what string, scan func(Row) error, text string, args ...any) error {
	s, err := t.session()
	if err == nil {
		err = s.Query(t.ioCtx, scan, text, args...)
	}
	if err != nil {
		return t.fail(doing, what, err)
	}
	return nil
}

// fail makes the transaction unusable after an error of the database.
func (t *readTx) fail(doing, what string, err error) error {
	if ended := t.ctx.Err(); ended != nil && t.ioCtx.Err() != nil {
		t.failed = ended
	} else {
		t.failed = fmt.Errorf("%s: %s %s: %w", t.store.Name, doing, what, err)
	}
	if t.onFailure != nil {
		t.onFailure(err)
	}
	return t.failed
}

// Get implements [storage.ReadTx].
func (t *readTx) Get(k *storage.Kind, s storage.Scope, id string) (storage.Record, error) {
	if err := t.usable(); err != nil {
		return storage.Record{}, err
	}
	q, err := t.store.GetQuery(k, s, id)
	if err != nil {
		return storage.Record{}, err
	}
	return t.queryRecord(&q)
}

// ErrNotFound returns the error for a record that does not exist.
func (s *Store) ErrNotFound(table *Table) error {
	return fmt.Errorf("%s: %s: %w", s.Name, table.Kind.Name, storage.ErrNotFound)
}

func (s *Store) errInvalidText(what string) error {
	return fmt.Errorf("%w: %s has text that is not UTF-8 or contains the character zero", storage.ErrInvalid, what)
}

// Find implements [storage.ReadTx].
func (t *readTx) Find(k *storage.Kind, key string, s storage.Scope, values ...any) (storage.Record, error) {
	if err := t.usable(); err != nil {
		return storage.Record{}, err
	}
	q, err := t.store.FindQuery(k, key, s, values)
	if err != nil {
		return storage.Record{}, err
	}
	return t.queryRecord(&q)
}

func (t *Table) keyIndex(name string) int {
	return slices.IndexFunc(t.Kind.Keys, func(k storage.Key) bool { return k.Name == name })
}

// List implements [storage.ReadTx].
func (t *readTx) List(k *storage.Kind, q storage.Query) ([]storage.Record, error) {
	table, err := t.table(k)
	if err = cmp.Or(err, k.CheckQuery(q)); err != nil {
		return nil, err
	}
	if !t.store.validText(q.Scope.Merchant) {
		return nil, nil
	}
	for _, e := range q.Where {
		if !t.store.validText(e.Value) {
			return nil, nil
		}
	}
	if err := t.flushBefore(k.Name); err != nil {
		return nil, err
	}
	records, err := t.newListQuery(table, q).page()
	if q.Before != "" {
		slices.Reverse(records)
	}
	return records, err
}

// Scan implements [storage.ReadTx].
func (t *readTx) Scan(k *storage.Kind, after storage.Scope, id string, limit int) ([]storage.Record, error) {
	table, err := t.tableToQuery(k, nil)
	if err != nil {
		return nil, err
	}
	return t.records(table, limit, k.Columns, nil, nil, table.scan, t.store.cursorText(after.Merchant), after.Live, t.store.cursorText(id), limit)
}

func (t *readTx) queryRecord(q *RowQuery) (storage.Record, error) {
	var r storage.Record
	err := t.query("read", q.Table.Kind.Name, func(row Row) (err error) {
		r, err = q.Decode(row)
		return err
	}, q.SQL, q.Args...)
	if err != nil {
		return storage.Record{}, err
	}
	if r.Version == 0 {
		return storage.Record{}, t.store.ErrNotFound(q.Table)
	}
	return r, nil
}

// records reads at most limit rows of a query. If isLast is not nil, it stops after the
// first record for which isLast returns true.
func (t *readTx) records(table *Table, limit int, wanted []storage.Column, scope *storage.Scope, isLast func(*storage.Record) bool, query string, args ...any) ([]storage.Record, error) {
	var records []storage.Record
	err := t.query("read", table.Kind.Name, func(row Row) error {
		if records == nil {
			records = make([]storage.Record, 0, min(limit, 128))
		}
		if err := t.ctx.Err(); err != nil {
			return err
		}
		r, err := DecodeRow(row, table.Kind, wanted, scope)
		if err != nil {
			return err
		}
		records = append(records, r)
		if isLast != nil && isLast(&r) {
			return ErrStopScan
		}
		return nil
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return records, nil
}

// fromMillis is the inverse of milliseconds in [Encode].
func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// RowQuery is a query for one record. Drivers may send several together.
type RowQuery struct {
	Table *Table
	SQL   string
	Args  []any

	scope *storage.Scope // nil if the row has it
}

// Decode reads the row.
func (q *RowQuery) Decode(row Row) (storage.Record, error) {
	return DecodeRow(row, q.Table.Kind, q.Table.Kind.Columns, q.scope)
}

// GetQuery returns the query of [storage.ReadTx].Get. If the answer needs no query, the
// error is the answer.
func (s *Store) GetQuery(k *storage.Kind, scope storage.Scope, id string) (RowQuery, error) {
	table, err := s.Table(k)
	if err == nil && !s.validText(scope.Merchant, id) {
		err = s.ErrNotFound(table)
	}
	if err != nil {
		return RowQuery{}, err
	}
	return RowQuery{Table: table, SQL: table.get, Args: []any{scope.Merchant, scope.Live, id}, scope: &scope}, nil
}

// FindQuery returns the query of [storage.ReadTx].Find, as GetQuery does.
func (s *Store) FindQuery(k *storage.Kind, key string, scope storage.Scope, values []any) (RowQuery, error) {
	table, err := s.Table(k)
	if err != nil {
		return RowQuery{}, err
	}
	values = slices.Clone(values)
	declared, err := k.CheckKey(key, values)
	if err == nil && (!s.validText(scope.Merchant) || !s.validText(values...)) {
		err = s.ErrNotFound(table)
	}
	if err != nil {
		return RowQuery{}, err
	}
	return RowQuery{Table: table, SQL: table.find[table.keyIndex(key)], Args: findArgs(declared, scope, values)}, nil
}
