package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// readTx reads in one session.
type readTx struct {
	ctx   context.Context // the caller's, which is checked between statements
	io    context.Context // the statements'
	store *Store
	// session opens the transaction, if it is not open yet.
	session func() (Session, error)
	// flush writes what is buffered of a kind, of all kinds for "", or of the ledger;
	// broke learns of trouble. Both are nil where nothing is written.
	flush func(what string) error
	broke func(error)
	ended bool
	// failed is the first error that is not an answer but trouble. Every method
	// fails after it, and nothing of the transaction is kept.
	failed error
}

// ledger is what flush is told for a question about entries.
const ledger = "ledger_entries"

// settled makes sure that the database has what a question is about.
func (t *readTx) settled(what string) error {
	if err := t.usable(); err != nil || t.flush == nil {
		return err
	}
	return t.flush(what)
}

// usable reports why a method must not go on.
func (t *readTx) usable() error {
	if t.ended {
		return fmt.Errorf("%s: the transaction has ended: %w", t.store.Name, storage.ErrClosed)
	}
	if err := t.ctx.Err(); err != nil {
		return err
	}
	return t.failed
}

// table returns what Define made of a kind.
func (t *readTx) table(k *storage.Kind) (*Table, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	return t.store.Table(k)
}

// query runs a statement and calls scan for each row.
func (t *readTx) query(doing, what string, scan func(Row) error, text string, args ...any) error {
	s, err := t.session()
	if err == nil {
		err = s.Query(t.io, scan, text, args...)
	}
	if err != nil {
		return t.fail(doing, what, err)
	}
	return nil
}

// fail ends the usefulness of the transaction.
func (t *readTx) fail(doing, what string, err error) error {
	if ended := t.ctx.Err(); ended != nil && t.io.Err() != nil {
		t.failed = ended
	} else {
		t.failed = fmt.Errorf("%s: %s %s: %w", t.store.Name, doing, what, err)
	}
	if t.broke != nil {
		t.broke(err)
	}
	return t.failed
}

// Get implements [storage.ReadTx].
func (t *readTx) Get(k *storage.Kind, s storage.Scope, id string) (storage.Record, error) {
	if err := t.usable(); err != nil {
		return storage.Record{}, err
	}
	q, err := t.store.AskGet(k, s, id)
	if err != nil {
		return storage.Record{}, err
	}
	return t.answer(&q)
}

// ErrAbsent returns what a record that is not there is answered with.
func (s *Store) ErrAbsent(b *Table) error {
	return fmt.Errorf("%s: %s: %w", s.Name, b.Kind.Name, storage.ErrNotFound)
}

func (s *Store) errText(what string) error {
	return fmt.Errorf("%w: %s has text that is not UTF-8, or has the character zero", storage.ErrInvalid, what)
}

// Find implements [storage.ReadTx].
func (t *readTx) Find(k *storage.Kind, key string, s storage.Scope, values ...any) (storage.Record, error) {
	if err := t.usable(); err != nil {
		return storage.Record{}, err
	}
	q, err := t.store.AskFind(k, key, s, values)
	if err != nil {
		return storage.Record{}, err
	}
	return t.answer(&q)
}

func (t *Table) keyIndex(name string) int {
	return slices.IndexFunc(t.Kind.Keys, func(k storage.Key) bool { return k.Name == name })
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
	if !t.store.storable(q.Scope.Merchant) {
		return nil, nil
	}
	for _, e := range q.Where {
		if !t.store.storable(e.Value) {
			return nil, nil
		}
	}
	if err := t.settled(k.Name); err != nil {
		return nil, err
	}
	records, err := t.list(b, q).page()
	if q.Before != "" {
		slices.Reverse(records)
	}
	return records, err
}

// Scan implements [storage.Scanner].
func (t *readTx) Scan(k *storage.Kind, after storage.Scope, id string, limit int) ([]storage.Record, error) {
	b, err := t.table(k)
	if err == nil {
		err = t.settled(k.Name)
	}
	if err != nil {
		return nil, err
	}
	return t.records(b, limit, k.Columns, nil, nil, b.scan, t.store.cursor(after.Merchant), after.Live, t.store.cursor(id), limit)
}

// answer reads one record.
func (t *readTx) answer(q *Question) (storage.Record, error) {
	var r storage.Record
	err := t.query("read", q.Table.Kind.Name, func(row Row) (err error) {
		r, err = q.Load(row)
		return err
	}, q.Text, q.Args...)
	if err != nil {
		return storage.Record{}, err
	}
	if r.Version == 0 {
		return storage.Record{}, t.store.ErrAbsent(q.Table)
	}
	return r, nil
}

// records reads the rows of a query, which are at most limit, up to the first of which
// enough, if there is such a function, says so.
func (t *readTx) records(b *Table, limit int, wanted []storage.Column, scope *storage.Scope, enough func(*storage.Record) bool, query string, args ...any) ([]storage.Record, error) {
	var records []storage.Record
	err := t.query("read", b.Kind.Name, func(row Row) error {
		if records == nil {
			records = make([]storage.Record, 0, min(limit, 128))
		}
		if err := t.ctx.Err(); err != nil {
			return err
		}
		r, err := Load(row, wanted, scope)
		if err != nil {
			return err
		}
		records = append(records, r)
		if enough != nil && enough(&r) {
			return ErrEnough
		}
		return nil
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return records, nil
}

// moment is a time as it is kept.
func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// Question is a read of one record, for drivers that answer several at once.
type Question struct {
	Table *Table
	Text  string
	Args  []any

	scope *storage.Scope // nil to read it
}

// Load reads the row that answers the question.
func (q *Question) Load(row Row) (storage.Record, error) {
	return Load(row, q.Table.Kind.Columns, q.scope)
}

// AskGet returns the question that [storage.ReadTx] answers by Get. The error is the
// answer, where the database need not be asked.
func (s *Store) AskGet(k *storage.Kind, scope storage.Scope, id string) (Question, error) {
	b, err := s.Table(k)
	if err == nil && !s.storable(scope.Merchant, id) {
		err = s.ErrAbsent(b)
	}
	if err != nil {
		return Question{}, err
	}
	return Question{Table: b, Text: b.get, Args: []any{scope.Merchant, scope.Live, id}, scope: &scope}, nil
}

// AskFind returns the question that [storage.ReadTx] answers by Find.
func (s *Store) AskFind(k *storage.Kind, key string, scope storage.Scope, values []any) (Question, error) {
	b, err := s.Table(k)
	if err != nil {
		return Question{}, err
	}
	values = slices.Clone(values)
	declared, err := k.CheckKey(key, values)
	if err == nil && (!s.storable(scope.Merchant) || !s.storable(values...)) {
		err = s.ErrAbsent(b)
	}
	if err != nil {
		return Question{}, err
	}
	return Question{Table: b, Text: b.find[b.keyIndex(key)], Args: findArgs(declared, scope, values)}, nil
}
