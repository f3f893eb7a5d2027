package postgres

import (
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/shelf"
	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
)

// A layer is what is known of the database, or is yet to be written to it. There
// are three of them, each over the next: what a member of the group has written,
// what the members before it have, and what the writer remembers of what is
// committed. Whoever reads looks through them from the top; a write goes to the
// member's own, so that undoing it is forgetting it, and reaches the database
// together with all others when the group ends, or before something is asked
// that only the database can answer.
type layer struct {
	records   shelf.Of[recordKey, known]
	owners    shelf.Of[string, recordKey] // who has a unique key; the zero key for nobody
	accounts  shelf.Of[string, account]
	sequences shelf.Of[string, sequence]
	postings  shelf.Of[string, struct{}] // that are booked

	// What the database does not have yet.
	dirty   []recordKey // may repeat
	booked  []storage.Posting
	entries []storage.Entry
	moved   []string // accounts; may repeat
	counted []string // sequences; may repeat
}

type recordKey struct {
	kind  string
	scope storage.Scope
	id    string
}

// known is a record as it now stands, and its row. It is never changed, only
// replaced.
type known struct {
	record storage.Record // without Version when it is not there
	table  *table
	// stored is the version of the row in the database as the transaction sees
	// it, 0 when there is none.
	stored int64
	// assumed says that nobody has looked whether there is a row: it is thought
	// not to be there, and the insert shows.
	assumed bool
	// renewed says that the row must go before the record comes, which is another.
	renewed bool
	dirty   bool
}

// inDatabase returns a record as it is known when the database has it.
func (k known) inDatabase() known {
	if !k.dirty {
		return k
	}
	return known{record: k.record, table: k.table, stored: k.record.Version}
}

// account is a ledger account; stored is the number of entries in its row, 0
// when there is none.
type account struct {
	storage.Balance
	stored int64
	dirty  bool
}

// inDatabase returns an account as it is known when the database has it.
func (a account) inDatabase() account {
	a.dirty, a.stored = false, a.Entries
	return a
}

type sequence struct {
	value int64
	dirty bool
}

func set[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// unwritten reports whether there is anything that the database does not have.
func (l *layer) unwritten() bool {
	return len(l.dirty)+len(l.booked)+len(l.moved)+len(l.counted) > 0
}

// take makes what a layer above holds part of this one, and empties that.
func (l *layer) take(above *layer) {
	l.records.Take(&above.records)
	l.owners.Take(&above.owners)
	l.accounts.Take(&above.accounts)
	l.sequences.Take(&above.sequences)
	l.postings.Take(&above.postings)
	l.dirty = append(l.dirty, above.dirty...)
	l.booked = append(l.booked, above.booked...)
	l.entries = append(l.entries, above.entries...)
	l.moved = append(l.moved, above.moved...)
	l.counted = append(l.counted, above.counted...)
	above.clear()
}

// clear empties the layer, and keeps its room.
func (l *layer) clear() {
	l.records.Clear()
	l.owners.Clear()
	l.accounts.Clear()
	l.sequences.Clear()
	l.postings.Clear()
	l.clean()
}

// clean forgets what the database does not have yet.
func (l *layer) clean() {
	clear(l.dirty)
	clear(l.booked)
	clear(l.entries)
	clear(l.moved)
	clear(l.counted)
	l.dirty, l.booked, l.entries, l.moved, l.counted = l.dirty[:0], l.booked[:0], l.entries[:0], l.moved[:0], l.counted[:0]
}

// written marks everything as being in the database.
func (l *layer) written() {
	for i, k := range l.records.Values {
		l.records.Values[i] = k.inDatabase()
	}
	for i, a := range l.accounts.Values {
		l.accounts.Values[i] = a.inDatabase()
	}
	for i := range l.sequences.Values {
		l.sequences.Values[i].dirty = false
	}
	l.clean()
}

// write notes a record as it now stands.
func (l *layer) write(key recordKey, k known) {
	k.dirty = true
	l.records.Put(key, k)
	l.dirty = append(l.dirty, key)
}

// uniqueKeys calls each with every unique key that a record has, under a text
// that is its alone.
func (b *table) uniqueKeys(r *storage.Record, each func(i int, key string)) {
	for i := range b.kind.Keys {
		if key, ok := b.uniqueKey(i, r); ok {
			each(i, key)
		}
	}
}

// uniqueKey returns false when a null keeps the record out of the key.
func (b *table) uniqueKey(i int, r *storage.Record) (string, bool) {
	k := &b.kind.Keys[i]
	var buffer [8]any
	values := buffer[:0]
	for _, column := range k.Columns {
		if column == "id" {
			values = append(values, r.ID)
			continue
		}
		v := r.Columns[b.kind.Column(column)]
		if v == nil {
			return "", false
		}
		values = append(values, sqltext.Stored(v))
	}
	return b.keyOf(i, r.Scope, values), true
}

// keyOf writes a unique key as one text. values are as stored.
func (b *table) keyOf(i int, s storage.Scope, values []any) string {
	k := &b.kind.Keys[i]
	text := make([]byte, 0, 96)
	add := func(s string) {
		text = binary.AppendUvarint(text, uint64(len(s)))
		text = append(text, s...)
	}
	add(b.kind.Name)
	text = append(text, byte(i))
	if !k.Global {
		add(s.Merchant)
		text = appendBool(text, s.Live)
	}
	for _, v := range values {
		switch v := v.(type) {
		case string:
			add(v)
		case int64:
			text = binary.BigEndian.AppendUint64(text, uint64(v))
		case bool:
			text = appendBool(text, v)
		}
	}
	return string(text)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// copyRecord returns a record that shares nothing with r.
func copyRecord(r storage.Record) storage.Record {
	r.Columns, r.Data = slices.Clone(r.Columns), slices.Clone(r.Data)
	return r
}

// changes are hashes of what a commit changes, for those who remember it
// elsewhere. Two things with one hash are forgotten together, which does no harm.
type changes struct {
	all    bool // too many, or what no hash can say
	hashes map[uint64]bool
}

// maxChanges is how many changes of one commit are told apart.
const maxChanges = 4096

func (c *changes) add(hash uint64) {
	if c.all {
		return
	}
	if len(c.hashes) >= maxChanges {
		c.all, c.hashes = true, nil
		return
	}
	set(&c.hashes, hash, true)
}

// bytes returns what is kept of the changes; nil stands for all.
func (c *changes) bytes() []byte {
	if c.all {
		return nil
	}
	b := make([]byte, 0, 8*len(c.hashes))
	for h := range c.hashes {
		b = binary.BigEndian.AppendUint64(b, h)
	}
	return b
}

func (k recordKey) hash() uint64 {
	h := fnv.New64a()
	var text [256]byte
	b := append(text[:0], k.kind...)
	b = append(b, 0)
	b = append(b, k.scope.Merchant...)
	b = appendBool(append(b, 0), k.scope.Live)
	b = append(b, k.id...)
	_, _ = h.Write(b) // a hash takes everything
	return h.Sum64()
}

func nameHash(what, name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(what)) // a hash takes everything
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}
