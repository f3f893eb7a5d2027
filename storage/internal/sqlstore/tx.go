package sqlstore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// tx is the transaction of one call, which is a part of the batch's transaction.
type tx struct {
	readTx
	batch *batch
	cache *cache
	own   *writeSet
	// alone says that no other call writes in the transaction of the database.
	alone bool
	// checkTables names the tables that the call queries before it inserts, because a key
	// was taken there in an earlier run. It is nil in the first run.
	checkTables map[string]bool
	// checkAllTables makes the call query every table before it inserts.
	checkAllTables bool
	// skippedCheck says that a write of the call skipped its check.
	skippedCheck bool
	// retryable says that another run may not meet the error failed.
	retryable bool
	// require follows when values are not cached; see [writer.require]. It is nil in a
	// host's transaction.
	require func(wantedValues) error
	// needOwnBatch gives the call the batch for itself. If the batch has other calls, the function
	// fails, and runs again in a batch of its own.
	needOwnBatch func() error
	deferred     bool // the function runs again in another batch
}

// noteRead notes that the function depends on a value that was read without the lock: the batch is committed
// only if no other process has changed it meanwhile.
func (t *tx) noteRead(v cacheRef) {
	if t.batch.session == nil {
		t.batch.reads.add(v)
	}
}

// findBuffered looks for a key in the write sets. inPrevious says that the previous
// batch's set has it: the database has that set's values before the next batch is
// written.
func findBuffered[K comparable, V any](t *tx, in func(*writeSet) *orderedMap[K, V], key K) (v *V, inPrevious bool) {
	if v = in(t.own).find(key); v != nil {
		return v, false
	}
	if v = in(t.batch.buffered).find(key); v != nil || t.batch.previous == nil {
		return v, false
	}
	v = in(t.batch.previous).find(key)
	return v, v != nil
}

// lookup returns a buffered or cached record.
func (t *tx) lookup(key RecordKey) (RecordState, bool) {
	s, inPrevious := findBuffered(t, func(w *writeSet) *orderedMap[RecordKey, RecordState] { return &w.records }, key)
	if s != nil && !inPrevious {
		return *s, true
	}
	t.noteRead(recordRef(key))
	if inPrevious {
		return s.afterWrite(), true
	}
	return t.cache.record(key)
}

// keyOwner returns the record that has a unique key according to the write sets, the zero
// RecordKey if the key is free, or false if they do not know.
func (t *tx) keyOwner(key string) (RecordKey, bool) {
	k, inPrevious := findBuffered(t, func(w *writeSet) *orderedMap[string, RecordKey] { return &w.keyOwners }, key)
	if k == nil {
		return RecordKey{}, false
	}
	if inPrevious && *k != (RecordKey{}) {
		t.noteRead(recordRef(*k))
	}
	return *k, true
}

// state returns a record's state. It reads the record if it is neither buffered nor
// cached.
func (t *tx) state(table *Table, key RecordKey) (RecordState, error) {
	if s, ok := t.lookup(key); ok {
		return s, nil
	}
	if t.require != nil && t.store.validText(key.Scope.Merchant, key.ID) {
		if err := t.require(wantedValues{recordRef(key): table}); err != nil {
			return RecordState{}, err
		}
		if s, ok := t.lookup(key); ok {
			return s, nil
		}
	}
	r, err := t.readTx.Get(table.Kind, key.Scope, key.ID)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return RecordState{}, err
	}
	s := RecordState{Table: table, Record: r, StoredVersion: r.Version}
	t.cache.putRecord(key, s)
	return s, nil
}

// Get implements [storage.ReadTx].
func (t *tx) Get(k *storage.Kind, s storage.Scope, id string) (storage.Record, error) {
	table, err := t.table(k)
	if err != nil {
		return storage.Record{}, err
	}
	now, err := t.state(table, RecordKey{k.Name, s, id})
	if err != nil {
		return storage.Record{}, err
	}
	if now.Record.Version == 0 {
		return storage.Record{}, t.store.ErrNotFound(table)
	}
	return copyRecord(now.Record), nil
}

// Find implements [storage.ReadTx].
func (t *tx) Find(k *storage.Kind, key string, s storage.Scope, values ...any) (storage.Record, error) {
	table, err := t.table(k)
	if err != nil {
		return storage.Record{}, err
	}
	values = slices.Clone(values)
	if _, err := k.CheckKey(key, values); err != nil {
		return storage.Record{}, err
	}
	at := make([]any, len(values))
	for i, v := range values {
		at[i] = Encode(v)
	}
	i := table.keyIndex(key)
	text := table.encodeKey(i, s, at)
	owner, ok := t.keyOwner(text)
	if !ok {
		owner, ok = t.cache.keyOwner(table, i, text)
	}
	if ok {
		if now, _ := t.lookup(owner); now.Record.Version > 0 {
			return copyRecord(now.Record), nil
		}
		return storage.Record{}, t.store.ErrNotFound(table)
	}
	// No call of the batch has taken or freed the key, so the database's answer is right.
	r, err := t.readTx.Find(k, key, s, values...)
	if err != nil {
		return storage.Record{}, err
	}
	found := RecordKey{k.Name, r.Scope, r.ID}
	now, ok := t.lookup(found)
	if !ok {
		now = RecordState{Table: table, Record: r, StoredVersion: r.Version}
		t.cache.putRecord(found, now)
	}
	t.cache.storeKeyOwner(text, found)
	return copyRecord(now.Record), nil
}

// Insert implements [storage.Tx].
func (t *tx) Insert(k *storage.Kind, r storage.Record) error {
	table, err := t.table(k)
	if err != nil {
		return err
	}
	r = copyRecord(r) // Check rounds times in place
	if err := k.Check(&r); err != nil {
		return err
	}
	if !t.store.validText(r.Scope.Merchant, r.ID) || !t.store.validText(r.Columns...) {
		return t.store.errInvalidText("insert of " + k.Name)
	}
	key := RecordKey{k.Name, r.Scope, r.ID}
	was, ok := t.lookup(key)
	if was.Record.Version > 0 {
		return t.errExists("insert", table)
	}
	keys, assumed, err := t.checkKeysFree(table, key, &r, nil, !ok)
	if err != nil {
		return err
	}
	r.Version = 1
	t.batch.inserts++
	t.putRecord(key, RecordState{
		Table: table, Record: r, StoredVersion: was.StoredVersion, reinserted: was.StoredVersion > 0,
		inserted: t.batch.inserts, unverified: was.unverified || assumed,
	})
	for _, unique := range keys {
		t.own.keyOwners.put(unique, key)
	}
	return t.afterWrite()
}

// putRecord buffers a record's new state.
func (t *tx) putRecord(key RecordKey, s RecordState) {
	if s.Record.Version > 0 && s.Record.Data == nil {
		s.Record.Data = []byte{} // nil would be NULL
	}
	t.own.putRecord(key, s)
}

// checkKeysFree checks that a record can have its unique keys, and returns those that it
// gains. was is the record before, nil for none. unknown says that the id may be taken.
// Unless mustCheck holds, it skips the query for keys that the batch has not touched: if
// one is taken, the write fails.
func (t *tx) checkKeysFree(table *Table, key RecordKey, r, was *storage.Record, unknown bool) (keys []string, assumed bool, err error) {
	var look []int
	taken := false
	table.eachUniqueKey(r, func(i int, unique string) {
		if was != nil {
			if had, ok := table.uniqueKey(i, was); ok && had == unique {
				return
			}
		}
		keys = append(keys, unique)
		switch owner, ok := t.keyOwner(unique); {
		case !ok:
			look = append(look, i)
		case owner != (RecordKey{}) && owner != key:
			taken = true
		}
	})
	if !taken && (len(look) > 0 || unknown) {
		if !t.mustCheck(table.Kind.Name) {
			t.skippedCheck = true
			return keys, true, nil
		}
		if taken, err = t.queryTaken(table, r, unknown, look); err != nil {
			return nil, false, err
		}
	}
	if taken {
		return nil, false, t.errExists("write", table)
	}
	return keys, false, nil
}

func (t *tx) mustCheck(table string) bool {
	return t.checkAllTables || t.checkTables[table]
}

// queryTaken queries whether a record's id, or one of its unique keys, is taken.
func (t *tx) queryTaken(table *Table, r *storage.Record, id bool, keys []int) (taken bool, err error) {
	var text strings.Builder
	var args []any
	where := func(column string, v any) {
		args = append(args, Encode(v))
		text.WriteString(" AND " + column + " = " + t.store.Parameter(len(args)))
	}
	branch := func(scoped bool) {
		if text.Len() > 0 {
			text.WriteString(" UNION ALL ")
		}
		text.WriteString("SELECT 1 FROM " + table.Name + " WHERE true")
		if scoped {
			where("merchant", r.Scope.Merchant)
			where("live", r.Scope.Live)
		}
	}
	if id {
		branch(true)
		where("id", r.ID)
	}
	for _, i := range keys {
		key := table.Kind.Keys[i]
		branch(!key.Global)
		for _, column := range key.Columns {
			if column == "id" {
				where("id", r.ID)
			} else {
				where(Quote(column), r.Columns[table.Kind.Column(column)])
			}
		}
	}
	err = t.query("read", table.Kind.Name, func(Row) error {
		taken = true
		return nil
	}, text.String()+" LIMIT 1", args...)
	return taken, err
}

func (t *tx) errExists(doing string, table *Table) error {
	return fmt.Errorf("%s: %s %s: %w", t.store.Name, doing, table.Kind.Name, storage.ErrExists)
}

// Replace implements [storage.Tx].
func (t *tx) Replace(k *storage.Kind, r storage.Record) error {
	table, err := t.table(k)
	if err != nil {
		return err
	}
	r = copyRecord(r)
	if err := k.Check(&r); err != nil {
		return err
	}
	if !t.store.validText(r.Columns...) {
		return t.store.errInvalidText("replace of " + k.Name)
	}
	key := RecordKey{k.Name, r.Scope, r.ID}
	was, ok := t.assumeVersion(table, key, r.Version)
	if !ok {
		if was, err = t.stateAtVersion("replace", table, key, r.Version); err != nil {
			return err
		}
	}
	keys, assumed, err := t.checkKeysFree(table, key, &r, &was.Record, false)
	if err != nil {
		return err
	}
	var freed []string
	table.eachUniqueKey(&was.Record, func(i int, had string) {
		if has, ok := table.uniqueKey(i, &r); !ok || has != had {
			freed = append(freed, had)
		}
	})
	if len(freed) > 0 {
		if was, err = t.verifyState(table, key, was); err != nil {
			return err
		}
	}
	t.releaseKeys(table, key, freed)
	r.Version++
	r.Number = was.Record.Number
	was.Record, was.LeaseOnly, was.Lease, was.unverified = r, false, 0, was.unverified || assumed
	t.putRecord(key, was)
	for _, unique := range keys {
		t.own.keyOwners.put(unique, key)
	}
	if len(freed) > 0 && t.alone {
		// The database would reject a statement that gives a key to a row before it takes the key
		// from another row.
		return t.flushAll()
	}
	return t.afterWrite()
}

// Delete implements [storage.Tx].
func (t *tx) Delete(k *storage.Kind, s storage.Scope, id string, version int64) error {
	table, err := t.table(k)
	if err != nil {
		return err
	}
	key := RecordKey{k.Name, s, id}
	was, err := t.stateAtVersion("delete", table, key, version)
	if err != nil {
		return err
	}
	if was, err = t.verifyState(table, key, was); err != nil {
		return err
	}
	var freed []string
	table.eachUniqueKey(&was.Record, func(_ int, had string) { freed = append(freed, had) })
	t.releaseKeys(table, key, freed)
	t.putRecord(key, RecordState{Table: table, StoredVersion: was.StoredVersion})
	return t.afterWrite()
}

// assumeVersion returns the state of an unread record as if it had the version that
// Replace expects. If it has another, the write fails and the batch runs again. A record
// with unique keys must be read, because Replace may release keys.
func (t *tx) assumeVersion(table *Table, key RecordKey, version int64) (RecordState, bool) {
	if version < 1 || len(table.Kind.Keys) > 0 || t.checkTables != nil || t.mustCheck(table.Kind.Name) {
		return RecordState{}, false
	}
	if _, known := t.lookup(key); known {
		return RecordState{}, false
	}
	t.skippedCheck = true
	r := storage.Record{Scope: key.Scope, ID: key.ID, Version: version}
	return RecordState{Table: table, Record: r, StoredVersion: version, unverified: true}, true
}

// stateAtVersion returns the state of a record that must have the given version.
func (t *tx) stateAtVersion(doing string, table *Table, key RecordKey, version int64) (RecordState, error) {
	was, err := t.state(table, key)
	if err != nil {
		return RecordState{}, err
	}
	switch was.Record.Version {
	case 0:
		return RecordState{}, fmt.Errorf("%s: %s %s: %w", t.store.Name, doing, table.Kind.Name, storage.ErrNotFound)
	case version:
		return was, nil
	}
	return RecordState{}, fmt.Errorf("%s: %s %s: %w", t.store.Name, doing, table.Kind.Name, storage.ErrConflict)
}

// verifyState flushes an unverified write before the record releases its unique keys, by
// which the database would reject the write.
func (t *tx) verifyState(table *Table, key RecordKey, was RecordState) (RecordState, error) {
	if !was.unverified {
		return was, nil
	}
	if err := t.flushAll(); err != nil {
		return was, err
	}
	return t.state(table, key)
}

// releaseKeys notes that a record releases unique keys. If another record of the batch
// took one of them before, that write cannot succeed, and the batch runs again.
func (t *tx) releaseKeys(table *Table, key RecordKey, freed []string) {
	for _, unique := range freed {
		if owner, ok := t.keyOwner(unique); ok && owner != key && owner != (RecordKey{}) {
			t.batch.keyConflict = true
		}
		t.own.keyOwners.put(unique, RecordKey{})
	}
}

// Claim implements [storage.Tx]. It buffers the leases like other writes: the lock keeps
// other writers from claiming the same records.
func (t *tx) Claim(k *storage.Kind, c storage.Claim) ([]storage.Record, error) {
	table, err := t.tableToQuery(k, k.CheckClaim(c))
	if err != nil {
		return nil, err
	}
	records, err := t.claimable(table, c)
	if err != nil {
		return nil, err
	}
	for i, r := range records {
		key, s := RecordKey{k.Name, r.Scope, r.ID}, RecordState{Table: table, Record: copyRecord(r), StoredVersion: r.Version}
		if c.InTx {
			if _, ok := t.lookup(key); !ok { // the caller is about to write them
				t.cache.putRecord(key, s)
			}
			continue
		}
		s.Record.Version++
		s.LeaseOnly, s.Lease = true, CeilMillis(c.Now.Add(c.Lease))
		t.own.putRecord(key, s)
		records[i].Version++
	}
	return records, t.afterWrite()
}

// Lease implements [storage.Tx]. A row that is not written yet is written with its lease.
func (t *tx) Lease(k *storage.Kind, s storage.Scope, id string, version int64, until time.Time) error {
	table, err := t.table(k)
	if err = cmp.Or(err, k.CheckLease(until)); err != nil {
		return err
	}
	key := RecordKey{k.Name, s, id}
	was, err := t.stateAtVersion("lease", table, key, version)
	if err != nil {
		return err
	}
	was.LeaseOnly, was.Lease = was.LeaseOnly || was.StoredVersion == was.Record.Version, CeilMillis(until)
	t.putRecord(key, was)
	return t.afterWrite()
}
