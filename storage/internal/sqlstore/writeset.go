package sqlstore

import (
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/seed-7082ffec/payments/storage"
)

// writeSet holds the writes of a transaction, and notes which of them the database lacks.
// There are up to three write sets: that of the running call, above that of the batch's
// earlier calls, above that of the previous batch while its commit runs. The cache is
// below them. A read searches from the top. A write goes to the call's own set, so the
// writer undoes a call by dropping its set. All writes go to the database with the
// commit, or before a query that the write sets and the cache cannot answer.
type writeSet struct {
	records   orderedMap[RecordKey, RecordState]
	keyOwners orderedMap[string, RecordKey] // by unique key; the zero RecordKey for a free key
	accounts  orderedMap[string, Account]
	sequences orderedMap[string, Sequence]
	postings  orderedMap[string, storage.Posting]
	entries   []storage.Entry // that the database lacks
	bytes     int             // rough size of the writes that the database lacks
}

// RecordKey identifies a record.
type RecordKey struct {
	Kind  string
	Scope storage.Scope
	ID    string
}

// RecordState is a record as the transaction sees it, and what the database holds of it.
// It is replaced, never changed.
type RecordState struct {
	Table  *Table
	Record storage.Record // Version is 0 if there is no such record
	// StoredVersion is the version of the row in the database as the transaction sees it;
	// 0 when there is none.
	StoredVersion int64
	// LeaseOnly says that only the version and the lease of the row change. Lease is the
	// end of the lease in Unix milliseconds; 0 for none.
	LeaseOnly bool
	Lease     int64
	// reinserted says that the record was deleted and inserted again. Its row then
	// differs even if the versions are equal.
	reinserted bool
	// unverified says that the write skipped the query for a taken id or unique key, or
	// for the version. If one of them is wrong, the write to the database fails.
	unverified bool
}

// afterWrite returns the state once the database has it.
func (s RecordState) afterWrite() RecordState {
	return RecordState{Table: s.Table, Record: s.Record, StoredVersion: s.Record.Version}
}

// Account is a ledger account. StoredEntries is the number of entries in its row; 0 if
// there is no row.
type Account struct {
	storage.Balance
	StoredEntries int64
}

func (a Account) afterWrite() Account {
	a.StoredEntries = a.Entries
	return a
}

// Sequence is a sequence. StoredValue is the value of its row; 0 if there is no row.
type Sequence struct {
	storage.Sequence
	StoredValue int64
}

func (s Sequence) afterWrite() Sequence {
	s.StoredValue = s.Value
	return s
}

// hasUnwritten reports whether the database lacks any write.
func (w *writeSet) hasUnwritten() bool {
	return len(w.records.unwritten)+len(w.postings.unwritten)+len(w.accounts.unwritten)+len(w.sequences.unwritten) > 0
}

// hasUnwrittenOf reports whether the database lacks a write to a kind, to the ledger for
// flushLedger, or any write for "".
func (w *writeSet) hasUnwrittenOf(what string) bool {
	switch what {
	case "":
		return w.hasUnwritten()
	case flushLedger:
		return len(w.accounts.unwritten) > 0
	}
	return slices.ContainsFunc(w.records.unwritten, func(i int) bool { return w.records.keys[i].Kind == what })
}

// merge moves the writes of the set above into this one.
func (w *writeSet) merge(above *writeSet) {
	w.records.merge(&above.records)
	w.keyOwners.merge(&above.keyOwners)
	w.accounts.merge(&above.accounts)
	w.sequences.merge(&above.sequences)
	w.postings.merge(&above.postings)
	w.entries = append(w.entries, above.entries...)
	w.bytes += above.bytes
	above.clear()
}

// rebase updates the stored versions of this set after the set below was written to the
// database.
func (w *writeSet) rebase(below *writeSet) {
	for _, i := range w.records.unwritten {
		if s := below.records.find(w.records.keys[i]); s != nil {
			w.records.values[i].StoredVersion = s.StoredVersion
		}
	}
	for _, i := range w.accounts.unwritten {
		if a := below.accounts.find(w.accounts.keys[i]); a != nil {
			w.accounts.values[i].StoredEntries = a.StoredEntries
		}
	}
	for _, i := range w.sequences.unwritten {
		if s := below.sequences.find(w.sequences.keys[i]); s != nil {
			w.sequences.values[i].StoredValue = s.StoredValue
		}
	}
}

// clear empties the set and keeps its memory.
func (w *writeSet) clear() {
	w.records.clear()
	w.keyOwners.clear()
	w.accounts.clear()
	w.sequences.clear()
	w.postings.clear()
	clear(w.entries)
	w.entries, w.bytes = w.entries[:0], 0
}

// markWritten notes that the database has everything.
func (w *writeSet) markWritten() {
	w.records.markWritten(RecordState.afterWrite)
	w.keyOwners.markWritten(nil)
	w.accounts.markWritten(Account.afterWrite)
	w.sequences.markWritten(Sequence.afterWrite)
	w.postings.markWritten(nil)
	w.entries, w.bytes = nil, 0
}

// putRecord sets the state of a record.
func (w *writeSet) putRecord(k RecordKey, s RecordState) {
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
	// Accounts are inserted where StoredEntries is 0, and else updated.
	Accounts []*Account
	Postings []storage.Posting
	Entries  []storage.Entry
	// Sequences are inserted where StoredValue is 0, and else updated.
	Sequences []*Sequence
	// Hashes cover all changes of the transaction, for the commit log; nil stands for
	// everything.
	Hashes []byte

	tables map[*Table]*TableWrites
}

// TableWrites are the rows of one table.
type TableWrites struct {
	Table *Table
	// Remove, Replace and Lease change the row that has StoredVersion.
	Remove, Replace, Lease, Insert []RowWrite
}

// RowWrite is one row.
type RowWrite struct {
	*RecordKey
	*RecordState
}

// Empty reports whether there is nothing to write.
func (w *Writes) Empty() bool {
	return len(w.Tables)+len(w.Accounts)+len(w.Postings)+len(w.Sequences) == 0
}

// add adds the writes of a set that the database lacks.
func (w *Writes) add(set *writeSet, changed *changedHashes) {
	for _, i := range set.records.unwritten {
		key, state := &set.records.keys[i], &set.records.values[i]
		w.tableWrites(state.Table).add(key, state)
		changed.add(recordRef(*key))
	}
	for _, i := range set.accounts.unwritten {
		w.Accounts = append(w.Accounts, &set.accounts.values[i])
		changed.add(accountRef(set.accounts.keys[i]))
	}
	for _, i := range set.postings.unwritten {
		w.Postings = append(w.Postings, set.postings.values[i])
	}
	w.Entries = append(w.Entries, set.entries...)
	for _, i := range set.sequences.unwritten {
		w.Sequences = append(w.Sequences, &set.sequences.values[i])
		changed.add(sequenceRef(set.sequences.keys[i]))
	}
	w.Hashes = changed.bytes()
}

// tableWrites returns the writes of a table.
func (w *Writes) tableWrites(t *Table) *TableWrites {
	rows := w.tables[t]
	if rows == nil {
		rows = &TableWrites{Table: t}
		putMap(&w.tables, t, rows)
		w.Tables = append(w.Tables, rows)
	}
	return rows
}

func (w *TableWrites) add(k *RecordKey, s *RecordState) {
	row := RowWrite{k, s}
	switch {
	case s.Record.Version == 0 && s.StoredVersion == 0:
	case s.Record.Version == 0:
		w.Remove = append(w.Remove, row)
	case s.StoredVersion == 0:
		w.Insert = append(w.Insert, row)
	case s.LeaseOnly:
		w.Lease = append(w.Lease, row)
	default:
		w.Replace = append(w.Replace, row)
	}
}

// newWrites returns the writes of a set that the database lacks.
func newWrites(set *writeSet, changed *changedHashes) *Writes {
	w := &Writes{}
	w.add(set, changed)
	return w
}

// changedHashes are the hashes of what a transaction changes. Other processes evict from
// their caches what has these hashes. A collision evicts too much, which does no harm.
type changedHashes struct {
	disabled   bool // the driver keeps no commit log
	everything bool // too many changes, or a change of tables
	hashes     map[uint64]bool
}

// maxChangedHashes bounds the hashes of one commit.
const maxChangedHashes = 4096

func (c *changedHashes) add(v cacheRef) {
	if c.everything || c.disabled {
		return
	}
	if len(c.hashes) >= maxChangedHashes {
		c.everything, c.hashes = true, nil
		return
	}
	putMap(&c.hashes, v.hash(), true)
}

func (c *changedHashes) bytes() []byte {
	if c.everything || c.disabled {
		return nil
	}
	b := make([]byte, 0, 8*len(c.hashes))
	for h := range c.hashes {
		b = binary.BigEndian.AppendUint64(b, h)
	}
	return b
}

// cacheRef names a record, an account or a sequence.
type cacheRef struct {
	what   refKind
	record RecordKey
	name   string // of an account or a sequence
}

type refKind int8

const (
	aRecord refKind = iota
	anAccount
	aSequence
)

func recordRef(key RecordKey) cacheRef { return cacheRef{record: key} }
func accountRef(name string) cacheRef  { return cacheRef{what: anAccount, name: name} }
func sequenceRef(name string) cacheRef { return cacheRef{what: aSequence, name: name} }

// hash returns the hash that the commit log holds. Programs of all versions compute the same one.
func (v cacheRef) hash() uint64 {
	h := fnv.New64a()
	var text [256]byte
	b := text[:0]
	switch v.what {
	case anAccount:
		b = append(append(b, "account/"...), v.name...)
	case aSequence:
		b = append(append(b, "sequence/"...), v.name...)
	default:
		k := &v.record
		b = append(append(b, k.Kind...), 0)
		b = append(append(b, k.Scope.Merchant...), 0)
		b = append(appendBool(b, k.Scope.Live), k.ID...)
	}
	_, _ = h.Write(b) // a hash takes everything
	return h.Sum64()
}

func putMap[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}
