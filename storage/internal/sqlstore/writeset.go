package sqlstore

import (
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/seed-7082ffec/payments/storage"
)

// A writeSet is what a transaction has written, and what of it the database does
// not have yet. There are up to three of them, each over the next: the set of the
// call that runs, the set of the calls before it in the batch, and the set of the
// batch before, while that is being committed. Under them is the cache. A read
// looks through them from the top. A write goes to the call's own set, so that
// undoing it is forgetting it. It reaches the database together with all others
// when the batch commits, or before a question that only the database can answer.
type writeSet struct {
	records   ordered[Key, State]
	owners    ordered[string, Key] // of unique keys; the zero Key for a key that is free
	accounts  ordered[string, Account]
	sequences ordered[string, Sequence]
	postings  ordered[string, storage.Posting]
	entries   []storage.Entry // that the database does not have yet
	bytes     int             // of what it does not have, roughly
}

// Key names a record.
type Key struct {
	Kind  string
	Scope storage.Scope
	ID    string
}

// State is a record as it now stands, and its row in the database. It is never
// changed, only replaced.
type State struct {
	Table  *Table
	Record storage.Record // without Version when it is not there
	// Stored is the version of the row in the database as the transaction sees it,
	// 0 when there is none.
	Stored int64
	// Leased says that only the version and the lease of the row change, and Lease
	// until when it is held, in Unix milliseconds; 0 when it is not.
	Leased bool
	Lease  int64
	// anew says that the record was deleted and inserted again, so that the row has nothing
	// of it, be the versions alike.
	anew bool
	// assumed says that the database was not asked whether the id, or a unique key, is
	// taken: it is free, or the write fails.
	assumed bool
}

// inDatabase returns the state when the database has it.
func (s State) inDatabase() State {
	return State{Table: s.Table, Record: s.Record, Stored: s.Record.Version}
}

// Account is a ledger account. Stored is the number of entries in its row, 0 when
// there is none.
type Account struct {
	storage.Balance
	Stored int64
}

func (a Account) inDatabase() Account {
	a.Stored = a.Entries
	return a
}

// Sequence is a sequence. Stored is the value of its row, 0 when there is none.
type Sequence struct {
	storage.Sequence
	Stored int64
}

func (s Sequence) inDatabase() Sequence {
	s.Stored = s.Value
	return s
}

// unwritten reports whether the database lacks anything.
func (w *writeSet) unwritten() bool {
	return len(w.records.unwritten)+len(w.postings.unwritten)+len(w.accounts.unwritten)+len(w.sequences.unwritten) > 0
}

// touches reports whether the database lacks a change of a kind, of the ledger, or, if
// what is "", any.
func (w *writeSet) touches(what string) bool {
	switch what {
	case "":
		return w.unwritten()
	case ledger:
		return len(w.accounts.unwritten) > 0
	}
	return slices.ContainsFunc(w.records.unwritten, func(i int) bool { return w.records.keys[i].Kind == what })
}

// take makes what a set above holds part of this one, and empties that.
func (w *writeSet) take(above *writeSet) {
	w.records.take(&above.records)
	w.owners.take(&above.owners)
	w.accounts.take(&above.accounts)
	w.sequences.take(&above.sequences)
	w.postings.take(&above.postings)
	w.entries = append(w.entries, above.entries...)
	w.bytes += above.bytes
	above.clear()
}

// rebase notes that what a set below holds is in the database now, which changes the
// rows under what this one holds.
func (w *writeSet) rebase(below *writeSet) {
	for _, i := range w.records.unwritten {
		if s := below.records.find(w.records.keys[i]); s != nil {
			w.records.values[i].Stored = s.Stored
		}
	}
	for _, i := range w.accounts.unwritten {
		if a := below.accounts.find(w.accounts.keys[i]); a != nil {
			w.accounts.values[i].Stored = a.Stored
		}
	}
	for _, i := range w.sequences.unwritten {
		if s := below.sequences.find(w.sequences.keys[i]); s != nil {
			w.sequences.values[i].Stored = s.Stored
		}
	}
}

// clear empties the set, and keeps its room.
func (w *writeSet) clear() {
	w.records.clear()
	w.owners.clear()
	w.accounts.clear()
	w.sequences.clear()
	w.postings.clear()
	clear(w.entries)
	w.entries, w.bytes = w.entries[:0], 0
}

// written marks everything as being in the database.
func (w *writeSet) written() {
	w.records.written(State.inDatabase)
	w.owners.written(nil)
	w.accounts.written(Account.inDatabase)
	w.sequences.written(Sequence.inDatabase)
	w.postings.written(nil)
	clear(w.entries)
	w.entries, w.bytes = w.entries[:0], 0
}

// write notes a record as it now stands.
func (w *writeSet) write(k Key, s State) {
	w.records.put(k, s)
	w.bytes += len(s.Record.Data) + 256
}

// copyRecord returns a record that shares nothing with r.
func copyRecord(r storage.Record) storage.Record {
	r.Columns, r.Data = slices.Clone(r.Columns), slices.Clone(r.Data)
	return r
}

// Writes are the rows that a write set sends to the database.
type Writes struct {
	Tables []*TableWrites
	// Accounts are new where Stored is 0.
	Accounts []*Account
	Postings []storage.Posting
	Entries  []storage.Entry
	// Sequences are new where Stored is 0.
	Sequences []*Sequence
	// Hashes are of all that the transaction has changed, for the log of commits;
	// nil stands for everything.
	Hashes []byte

	tables map[*Table]*TableWrites
}

// TableWrites are the rows of one table.
type TableWrites struct {
	Table *Table
	// Remove, Replace and Lease change the row with the version that is Stored.
	Remove, Replace, Lease, Insert []RowWrite
	used                           bool
}

// RowWrite is one row.
type RowWrite struct {
	*Key
	*State
}

// Empty reports whether there is nothing to write.
func (w *Writes) Empty() bool {
	return len(w.Tables)+len(w.Accounts)+len(w.Postings)+len(w.Sequences) == 0
}

// add adds what a set has that the database lacks.
func (w *Writes) add(set *writeSet, changed *changes) {
	for _, i := range set.records.unwritten {
		key, state := &set.records.keys[i], &set.records.values[i]
		w.of(state.Table).add(key, state)
		changed.add(key.hash)
	}
	for _, i := range set.accounts.unwritten {
		w.Accounts = append(w.Accounts, &set.accounts.values[i])
		changed.add(func() uint64 { return accountHash(set.accounts.keys[i]) })
	}
	for _, i := range set.postings.unwritten {
		w.Postings = append(w.Postings, set.postings.values[i])
	}
	w.Entries = append(w.Entries, set.entries...)
	for _, i := range set.sequences.unwritten {
		w.Sequences = append(w.Sequences, &set.sequences.values[i])
		changed.add(func() uint64 { return sequenceHash(set.sequences.keys[i]) })
	}
	w.Hashes = changed.bytes()
}

// of returns the rows of a table.
func (w *Writes) of(t *Table) *TableWrites {
	rows := w.tables[t]
	if rows == nil {
		rows = &TableWrites{Table: t}
		set(&w.tables, t, rows)
	}
	if !rows.used {
		rows.used = true
		w.Tables = append(w.Tables, rows)
	}
	return rows
}

func (w *TableWrites) add(k *Key, s *State) {
	row := RowWrite{k, s}
	switch {
	case s.Record.Version == 0 && s.Stored == 0:
	case s.Record.Version == 0:
		w.Remove = append(w.Remove, row)
	case s.Stored == 0:
		w.Insert = append(w.Insert, row)
	case s.Leased:
		w.Lease = append(w.Lease, row)
	default:
		w.Replace = append(w.Replace, row)
	}
}

// clear empties the writes, and keeps their room.
func (w *Writes) clear() {
	for _, t := range w.Tables {
		t.used = false
		t.Remove, t.Replace, t.Lease, t.Insert = emptied(t.Remove), emptied(t.Replace), emptied(t.Lease), emptied(t.Insert)
	}
	w.Tables, w.Accounts, w.Postings = emptied(w.Tables), emptied(w.Accounts), emptied(w.Postings)
	w.Entries, w.Sequences, w.Hashes = emptied(w.Entries), emptied(w.Sequences), nil
}

func emptied[T any](s []T) []T {
	clear(s)
	return s[:0]
}

// writing calls use with the writes of a set, in room that is kept between calls.
func (s *Store) writing(set *writeSet, changed *changes, use func(*Writes) error) error {
	w := s.room.Swap(nil)
	if w == nil {
		w = &Writes{}
	}
	defer func() {
		w.clear()
		s.room.Store(w)
	}()
	w.add(set, changed)
	return use(w)
}

// changes are hashes of what a transaction changes, for other processes that
// remember it. Two things with one hash are forgotten together, which does no harm.
type changes struct {
	ignored bool // by a driver that keeps no log
	all     bool // too many, or what no hash can say
	hashes  map[uint64]bool
}

// maxChanges is how many changes of one commit are told apart.
const maxChanges = 4096

func (c *changes) add(hash func() uint64) {
	if c.all || c.ignored {
		return
	}
	if len(c.hashes) >= maxChanges {
		c.all, c.hashes = true, nil
		return
	}
	set(&c.hashes, hash(), true)
}

func (c *changes) bytes() []byte {
	if c.all || c.ignored {
		return nil
	}
	b := make([]byte, 0, 8*len(c.hashes))
	for h := range c.hashes {
		b = binary.BigEndian.AppendUint64(b, h)
	}
	return b
}

func (k *Key) hash() uint64 {
	h := fnv.New64a()
	var text [256]byte
	b := append(text[:0], k.Kind...)
	b = append(b, 0)
	b = append(b, k.Scope.Merchant...)
	b = appendBool(append(b, 0), k.Scope.Live)
	b = append(b, k.ID...)
	_, _ = h.Write(b) // a hash takes everything
	return h.Sum64()
}

func accountHash(name string) uint64  { return nameHash("account/", name) }
func sequenceHash(name string) uint64 { return nameHash("sequence/", name) }

func nameHash(what, name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(what)) // a hash takes everything
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}

func set[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}
