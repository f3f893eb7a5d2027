package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/schema"
)

// tx is one transaction, reading or writing.
type tx struct {
	ctx   context.Context
	state *state
	ended bool
}

func (t *tx) end() { t.ended = true }

// usable returns the error with which all methods fail, or nil.
func (t *tx) usable() error {
	if t.ended {
		return storage.ErrClosed
	}
	return t.ctx.Err()
}

// table returns the records of a kind. The kind must be declared as it was defined: an
// older declaration would read and write other columns.
func (t *tx) table(k *storage.Kind) (*table, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	table, ok := t.state.tables[k.Name]
	if !ok || !schema.Same(table.kind, k) {
		return nil, fmt.Errorf("%w: kind %s was defined otherwise, or not at all", storage.ErrInvalid, k.Name)
	}
	return table, nil
}

func (t *tx) Get(k *storage.Kind, s storage.Scope, id string) (storage.Record, error) {
	table, err := t.table(k)
	if err != nil {
		return storage.Record{}, err
	}
	r, ok := table.records.Get(recordKey(s, id))
	if !ok {
		return storage.Record{}, storage.ErrNotFound
	}
	return copyRecord(r.Record), nil
}

func (t *tx) Find(k *storage.Kind, key string, s storage.Scope, values ...any) (storage.Record, error) {
	table, err := t.table(k)
	if err != nil {
		return storage.Record{}, err
	}
	values = slices.Clone(values)
	unique, err := k.CheckKey(key, values)
	if err != nil {
		return storage.Record{}, err
	}
	i := slices.IndexFunc(k.Keys, func(other storage.Key) bool { return other.Name == key })
	at, ok := table.unique[i].Get(keyOf(unique, s, values))
	if !ok {
		return storage.Record{}, storage.ErrNotFound
	}
	r, _ := table.records.Get(at)
	return copyRecord(r.Record), nil
}

func (t *tx) List(k *storage.Kind, q storage.Query) ([]storage.Record, error) {
	table, err := t.table(k)
	if err = cmp.Or(err, k.CheckQuery(q)); err != nil {
		return nil, err
	}
	var page []storage.Record
	bytes := 0
	cursor := table.cursorKey(&q)
	collect := func(key string, r *row) bool {
		if r.Scope != q.Scope {
			return false // the next scope
		}
		if key != cursor && matches(k, &r.Record, q) {
			page = append(page, copyRecord(r.Record))
			bytes += len(r.Data)
		}
		return !q.IsFull(len(page), bytes)
	}
	ascend, descend := table.records.Ascend, table.records.Descend
	if k.Ordered {
		inOrder := func(key, at string) bool {
			r, _ := table.records.Get(at)
			return collect(key, r)
		}
		ascend = func(from string, _ func(string, *row) bool) { table.order.Ascend(from, inOrder) }
		descend = func(from string, _ func(string, *row) bool) { table.order.Descend(from, inOrder) }
	}
	switch {
	case q.Before != "":
		ascend(cursor, collect)
		slices.Reverse(page)
	case q.After != "":
		descend(cursor, collect)
	default:
		descend(scopeEnd(q.Scope), collect)
	}
	return page, nil
}

// cursorKey returns the key of a query's cursor, in the order of the kind's lists.
func (t *table) cursorKey(q *storage.Query) string {
	id := q.After + q.Before // at most one is set
	if !t.kind.Ordered {
		return recordKey(q.Scope, id)
	}
	number := q.Number
	if r, ok := t.records.Get(recordKey(q.Scope, id)); ok && number == 0 {
		number = r.Number
	}
	return orderKey(q.Scope, number, id)
}

func matches(k *storage.Kind, r *storage.Record, q storage.Query) bool {
	for _, e := range q.Where {
		v := r.Columns[k.Column(e.Column)]
		if at, ok := e.Value.(time.Time); ok {
			stored, ok := v.(time.Time)
			if !ok || !stored.Equal(storage.Instant(at)) {
				return false
			}
			continue
		}
		if v != e.Value {
			return false
		}
	}
	for _, in := range q.Range {
		at, ok := r.Columns[k.Column(in.Column)].(time.Time)
		if !ok || (!in.From.IsZero() && at.Before(in.From)) || (!in.Until.IsZero() && !at.Before(in.Until)) {
			return false
		}
	}
	return true
}

func (t *tx) Insert(k *storage.Kind, r storage.Record) error {
	table, err := t.table(k)
	if err != nil {
		return err
	}
	r = copyRecord(r)
	if err := k.Check(&r); err != nil {
		return err
	}
	if _, ok := table.records.Get(recordKey(r.Scope, r.ID)); ok || table.keyTaken(&r) {
		return storage.ErrExists
	}
	r.Version = 1
	if k.Ordered {
		if r.Number == 0 {
			r.Number = t.state.lastNumber + 1
		}
		t.state.lastNumber = max(t.state.lastNumber, r.Number)
	}
	table.put(&row{Record: r})
	return nil
}

func (t *tx) Replace(k *storage.Kind, r storage.Record) error {
	table, err := t.table(k)
	if err != nil {
		return err
	}
	r = copyRecord(r)
	if err := k.Check(&r); err != nil {
		return err
	}
	old, err := table.current(r.Scope, r.ID, r.Version)
	if err != nil {
		return err
	}
	if table.keyTaken(&r) {
		return storage.ErrExists
	}
	r.Version++
	r.Number = old.Number
	table.remove(old)
	table.put(&row{Record: r})
	return nil
}

func (t *tx) Delete(k *storage.Kind, s storage.Scope, id string, version int64) error {
	table, err := t.table(k)
	if err != nil {
		return err
	}
	old, err := table.current(s, id, version)
	if err != nil {
		return err
	}
	table.remove(old)
	return nil
}

// current returns the record if it still has that version.
func (t *table) current(s storage.Scope, id string, version int64) (*row, error) {
	r, ok := t.records.Get(recordKey(s, id))
	switch {
	case !ok:
		return nil, storage.ErrNotFound
	case r.Version != version:
		return nil, storage.ErrConflict
	}
	return r, nil
}

func (t *tx) Next(sequence string) (int64, error) {
	if err := t.usable(); err != nil {
		return 0, err
	}
	n, _ := t.state.sequences.Get(sequence)
	t.state.sequences.Set(sequence, n+1)
	return n + 1, nil
}

func (t *tx) Lease(k *storage.Kind, s storage.Scope, id string, version int64, until time.Time) error {
	table, err := t.table(k)
	if err = cmp.Or(err, k.CheckLease(until)); err != nil {
		return err
	}
	r, err := table.current(s, id, version)
	if err != nil {
		return err
	}
	table.records.Set(recordKey(s, id), &row{Record: r.Record, lease: until})
	return nil
}
