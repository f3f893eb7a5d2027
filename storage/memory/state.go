package memory

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/btree"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/schema"
)

// state is everything that the store holds. Once published it is never changed.
type state struct {
	tables    map[string]*table
	balances  btree.Map[string, storage.Balance]
	entries   btree.Map[string, storage.Entry] // by account and number
	postings  btree.Map[string, storage.Booked]
	sequences btree.Map[string, int64]
	// lastNumber is the highest number of a record of an Ordered kind that was ever given.
	lastNumber int64
}

// table holds the records of one kind.
type table struct {
	kind    *storage.Kind
	records btree.Map[string, *row] // by scope and id
	unique  []btree.Map[string, string]
	due     btree.Map[string, string] // record keys, by mode, due time and record key
	order   btree.Map[string, string] // record keys of an Ordered kind, by scope, number and id
}

// row is a stored record. It is never changed, only replaced.
type row struct {
	storage.Record
	lease time.Time
}

// clone returns a copy that can be changed while others read the original: the
// maps share their nodes until one side writes.
func (s *state) clone() *state {
	c := &state{
		tables:    make(map[string]*table, len(s.tables)),
		balances:  *s.balances.Copy(),
		entries:   *s.entries.Copy(),
		postings:  *s.postings.Copy(),
		sequences: *s.sequences.Copy(),

		lastNumber: s.lastNumber,
	}
	for name, t := range s.tables {
		c.tables[name] = t.clone()
	}
	return c
}

func (t *table) clone() *table {
	c := &table{kind: t.kind, records: *t.records.Copy(), due: *t.due.Copy(), order: *t.order.Copy()}
	c.unique = make([]btree.Map[string, string], len(t.unique))
	for i := range t.unique {
		c.unique[i] = *t.unique[i].Copy()
	}
	return c
}

// define adds a kind, or adds columns and keys to its records.
func (s *state) define(k *storage.Kind) error {
	old, ok := s.tables[k.Name]
	if !ok {
		s.tables[k.Name] = newTable(k)
		return nil
	}
	if schema.Same(old.kind, k) {
		return nil
	}
	if _, err := schema.Compare(schema.Of(old.kind), schema.Of(k)); err != nil {
		return err
	}
	known := len(old.kind.Columns)
	grown := newTable(k)
	for _, r := range old.records.Values() {
		r := &row{Record: copyRecord(r.Record), lease: r.lease} // Check rounds times in place
		if len(k.Columns) > known {
			if k.Backfill == nil {
				return fmt.Errorf("%w: new columns and no Backfill", storage.ErrInvalid)
			}
			columns, err := k.Backfill(r.Data)
			if err != nil {
				return fmt.Errorf("backfill: %w", err)
			}
			if len(columns) > known { // else Check fails
				columns = slices.Concat(r.Columns, columns[known:])
			}
			r.Columns = columns
		}
		if err := k.Check(&r.Record); err != nil {
			return err
		}
		if grown.keyTaken(&r.Record) {
			return storage.ErrExists
		}
		grown.put(r)
	}
	s.tables[k.Name] = grown
	return nil
}

func newTable(k *storage.Kind) *table {
	return &table{kind: k, unique: make([]btree.Map[string, string], len(k.Keys))}
}

// put adds a record whose unique keys are free.
func (t *table) put(r *row) {
	at := recordKey(r.Scope, r.ID)
	t.records.Set(at, r)
	for i := range t.kind.Keys {
		if key, ok := t.uniqueKey(&t.kind.Keys[i], &r.Record); ok {
			t.unique[i].Set(key, at)
		}
	}
	if due, ok := t.dueKey(&r.Record); ok {
		t.due.Set(due, at)
	}
	if t.kind.Ordered {
		t.order.Set(orderKey(r.Scope, r.Number, r.ID), at)
	}
}

func (t *table) remove(r *row) {
	t.records.Delete(recordKey(r.Scope, r.ID))
	for i := range t.kind.Keys {
		if key, ok := t.uniqueKey(&t.kind.Keys[i], &r.Record); ok {
			t.unique[i].Delete(key)
		}
	}
	if due, ok := t.dueKey(&r.Record); ok {
		t.due.Delete(due)
	}
	if t.kind.Ordered {
		t.order.Delete(orderKey(r.Scope, r.Number, r.ID))
	}
}

// keyTaken reports whether another record has one of r's unique keys.
func (t *table) keyTaken(r *storage.Record) bool {
	at := recordKey(r.Scope, r.ID)
	for i := range t.kind.Keys {
		key, ok := t.uniqueKey(&t.kind.Keys[i], r)
		if !ok {
			continue
		}
		if owner, ok := t.unique[i].Get(key); ok && owner != at {
			return true
		}
	}
	return false
}

// uniqueKey returns the encoding of a record's unique key, or false if a null keeps the
// record out of the key.
func (t *table) uniqueKey(k *storage.Key, r *storage.Record) (string, bool) {
	values := make([]any, len(k.Columns))
	for i, column := range k.Columns {
		if column == "id" {
			values[i] = r.ID
			continue
		}
		if values[i] = r.Columns[t.kind.Column(column)]; values[i] == nil {
			return "", false
		}
	}
	return keyOf(k, r.Scope, values), true
}

// dueKey returns the record's key in due, or false if it has no due time.
func (t *table) dueKey(r *storage.Record) (string, bool) {
	if t.kind.Due == "" {
		return "", false
	}
	at, ok := r.Columns[t.kind.Column(t.kind.Due)].(time.Time)
	if !ok {
		return "", false
	}
	return modeKey(r.Scope.Live) + timeKey(at) + recordKey(r.Scope, r.ID), true
}

func modeKey(live bool) string {
	if live {
		return "\x01"
	}
	return "\x00"
}

// prefixEnd returns the smallest key above all keys with a prefix. The last byte of the
// prefix is not 0xff.
func prefixEnd(prefix string) string {
	last := len(prefix) - 1
	return prefix[:last] + string([]byte{prefix[last] + 1})
}

// The keys of the maps sort as the values that they encode. Texts inside a key are escaped,
// so that no id can reach into another scope.

func recordKey(s storage.Scope, id string) string { return scopeKey(s) + id }

func orderKey(s storage.Scope, number int64, id string) string {
	return scopeKey(s) + sortableInt(number) + id
}

func scopeKey(s storage.Scope) string { return escape(s.Merchant) + modeKey(s.Live) }

// scopeEnd is above all record keys of a scope and below those of the next.
func scopeEnd(s storage.Scope) string { return prefixEnd(scopeKey(s)) }

func keyOf(k *storage.Key, s storage.Scope, values []any) string {
	var key string
	if !k.Global {
		key = scopeKey(s)
	}
	for _, v := range values {
		switch v := v.(type) {
		case string:
			key += escape(v)
		case time.Time:
			key += escape(fmt.Sprint(v.UnixMilli()))
		default:
			key += escape(fmt.Sprint(v))
		}
	}
	return key
}

func entryKey(account string, number int64) string { return escape(account) + sortableInt(number) }

func timeKey(t time.Time) string { return sortableInt(t.UnixMilli()) }

// sortableInt encodes a number as a text that sorts as the numbers do.
func sortableInt(n int64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n)^(1<<63))
	return string(b[:])
}

// escape ends a text with a mark that it cannot contain, and keeps the order of texts.
func escape(s string) string {
	b := make([]byte, 0, len(s)+2)
	for i := range len(s) {
		if b = append(b, s[i]); s[i] == 0 {
			b = append(b, 0xff)
		}
	}
	return string(append(b, 0, 1))
}

// copyRecord returns a record that shares nothing with r.
func copyRecord(r storage.Record) storage.Record {
	r.Columns = slices.Clone(r.Columns)
	r.Data = slices.Clone(r.Data)
	return r
}
