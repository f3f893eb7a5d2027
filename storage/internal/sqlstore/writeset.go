package sqlstore

import (
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
	// reinserted says that the record was deleted and inserted again, while the database has the
	// row from before.
	reinserted bool
	// inserted is how many records the batch has inserted up to this one. Records of an Ordered kind get
	// their numbers in that order.
	inserted int
	// unverified says that the write skipped the query for a taken id or unique key, or
	// for the version. If one of them is wrong, the write to the database fails.
	unverified bool
}

// afterWrite returns the state once the database has it.
func (s RecordState) afterWrite() RecordState {
	return RecordState{Table: s.Table, Record: s.Record, StoredVersion: s.Record.Version}
}

// Account is a ledger account.
type Account struct {
	storage.Balance
	// StoredAmount and StoredEntries are the balance and the number of entries in its row; 0 if there is no
	// row. Lowest is the lowest balance since then.
	StoredAmount, StoredEntries, Lowest int64
}

// storedAccount returns an account as the database has it.
func storedAccount(b storage.Balance) Account { return Account{b, b.Amount, b.Entries, b.Amount} }

func (a Account) afterWrite() Account { return storedAccount(a.Balance) }

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

func (w *writeSet) putRecord(k RecordKey, s RecordState) {
	w.records.put(k, s)
	w.bytes += len(s.Record.Data) + 256
}

// copyRecord returns a record that shares nothing with r.
func copyRecord(r storage.Record) storage.Record {
	r.Columns, r.Data = slices.Clone(r.Columns), slices.Clone(r.Data)
	return r
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
