package sqlite

import (
	"slices"

	"github.com/seed-7082ffec/payments/storage"
)

// layer is what was written and is not in the database yet. There are two, each over
// the next: what a member has written, and what the members of its group before it
// have. Under them is the cache, and under that the database. Whoever reads by id looks
// through them from the top.
//
// A member that is undone forgets its layer, and no savepoint is needed; one that
// succeeds lays it upon its group's. That is written when the group commits, or before
// something is asked that only the database can answer: the rows of one table by few
// statements, and what was changed several times, such as the account of a busy
// merchant or the counter of a busy code, once. Beside statements and a savepoint for
// each member, 64 callers disburse 1.35 times and pay by QR code 1.5 times as fast.
type layer struct {
	records   shelf[recordKey, change]
	accounts  shelf[string, account]
	sequences shelf[string, int64]
	postings  shelf[string, storage.Posting] // without their moves
	entries   []entry
	bytes     int // of documents, roughly
}

// maxUnwritten bounds the bytes of a layer, beyond which it is written.
const maxUnwritten = 512 << 10

// change is a record as it now stands.
type change struct {
	record storage.Record // without Version when it is not there any more
	stored int64          // the version of the row in the database, 0 when there is none
}

// entry is a row of ledger_entries; number and balance are the account's after it.
type entry struct {
	account         string
	id              int64 // of the account, once it is known
	number          int64
	posting         string
	amount, balance int64
}

// empty reports whether there is nothing to write.
func (l *layer) empty() bool {
	return len(l.records.keys)+len(l.postings.keys)+len(l.accounts.keys)+len(l.sequences.keys) == 0
}

// touches reports whether there is a change of a table.
func (l *layer) touches(b *table) bool {
	return slices.ContainsFunc(l.records.keys, func(k recordKey) bool { return k.table == b })
}

// change notes a record as it now stands, which is the layer's from now on.
func (l *layer) change(key recordKey, c change) {
	l.records.put(key, c)
	l.bytes += len(c.record.Data) + 256
}

// newest returns the highest id of a series that the layer has, or "".
func (l *layer) newest(of series) (id string) {
	if of.table == nil {
		for _, posting := range l.postings.keys {
			id = max(id, posting)
		}
		return id
	}
	for i := range l.records.keys {
		if key := &l.records.keys[i]; key.table == of.table && key.scope == of.scope {
			id = max(id, key.id)
		}
	}
	return id
}

// take lays what stands in the layer above upon this one, and empties that.
func (l *layer) take(above *layer) {
	l.records.take(&above.records)
	l.accounts.take(&above.accounts)
	l.sequences.take(&above.sequences)
	l.postings.take(&above.postings)
	l.entries = append(l.entries, above.entries...)
	l.bytes += above.bytes
	above.clear()
}

func (l *layer) clear() {
	l.records.clear()
	l.accounts.clear()
	l.sequences.clear()
	l.postings.clear()
	clear(l.entries)
	l.entries = l.entries[:0]
	l.bytes = 0
}

// shelf keeps values by their keys, in the order in which the keys came. Few are
// looked through, which is faster than an index; many have one.
type shelf[K comparable, V any] struct {
	keys   []K
	values []V
	places map[K]int
}

// few is how many values have no index.
const few = 8

// find returns the value of a key, to be changed at will until the next put, or nil.
func (s *shelf[K, V]) find(k K) *V {
	i := -1
	if len(s.keys) <= few {
		i = slices.Index(s.keys, k)
	} else if place, ok := s.places[k]; ok {
		i = place
	}
	if i < 0 {
		return nil
	}
	return &s.values[i]
}

func (s *shelf[K, V]) put(k K, v V) {
	if known := s.find(k); known != nil {
		*known = v
		return
	}
	s.keys, s.values = append(s.keys, k), append(s.values, v)
	switch n := len(s.keys); {
	case n <= few:
	case n == few+1:
		if s.places == nil {
			s.places = make(map[K]int, 4*few)
		}
		for i, k := range s.keys {
			s.places[k] = i
		}
	default:
		s.places[k] = n - 1
	}
}

func (s *shelf[K, V]) take(above *shelf[K, V]) {
	for i, k := range above.keys {
		s.put(k, above.values[i])
	}
}

func (s *shelf[K, V]) clear() {
	clear(s.keys)
	clear(s.values)
	if len(s.keys) > few {
		clear(s.places)
	}
	s.keys, s.values = s.keys[:0], s.values[:0]
}

// copyRecord returns a record that shares nothing with r.
func copyRecord(r storage.Record) storage.Record {
	r.Columns, r.Data = slices.Clone(r.Columns), slices.Clone(r.Data)
	return r
}
