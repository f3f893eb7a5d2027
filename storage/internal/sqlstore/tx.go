package sqlstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// tx is a call's part of the batch's transaction.
type tx struct {
	readTx
	batch     *batch
	cache     *cache
	own       *writeSet
	savepoint bool
	// careful names the tables in which the call looks before it inserts, because a
	// key was taken there when the batch ran before. It is nil when the batch runs for
	// the first time.
	careful map[string]bool
	// strict sends every write at once, so that its error belongs to it.
	strict bool
	// lookFirst makes the call careful of all tables.
	lookFirst bool
	// assumed says that the call has written what a look might have forbidden.
	assumed bool
	// blameless says that failed is trouble which another run may be spared.
	blameless bool
}

// find looks for a key in the write sets over the cache. below says that it is in the
// set of the batch before, whose values are in the database when the next batch's are
// written.
func find[K comparable, V any](t *tx, in func(*writeSet) *ordered[K, V], key K) (v *V, below bool) {
	if v = in(t.own).find(key); v != nil {
		return v, false
	}
	if v = in(t.batch.written).find(key); v != nil || t.batch.below == nil {
		return v, false
	}
	v = in(t.batch.below).find(key)
	return v, v != nil
}

// lookup returns what is known of a record.
func (t *tx) lookup(key Key) (State, bool) {
	s, below := find(t, func(w *writeSet) *ordered[Key, State] { return &w.records }, key)
	switch {
	case below:
		return s.inDatabase(), true
	case s != nil:
		return *s, true
	}
	return t.cache.record(key)
}

// owner returns the record that has a unique key, the zero Key if it is free; false
// when only the database knows.
func (t *tx) owner(key string) (Key, bool) {
	k, _ := find(t, func(w *writeSet) *ordered[string, Key] { return &w.owners }, key)
	if k == nil {
		return Key{}, false
	}
	return *k, true
}

// now returns a record as it stands, and reads it if need be.
func (t *tx) now(b *Table, key Key) (State, error) {
	if s, ok := t.lookup(key); ok {
		return s, nil
	}
	r, err := t.readTx.Get(b.Kind, key.Scope, key.ID)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return State{}, err
	}
	s := State{Table: b, Record: r, Stored: r.Version}
	t.cache.keep(key, s)
	return s, nil
}

// Get implements [storage.ReadTx].
func (t *tx) Get(k *storage.Kind, s storage.Scope, id string) (storage.Record, error) {
	b, err := t.table(k)
	if err != nil {
		return storage.Record{}, err
	}
	now, err := t.now(b, Key{k.Name, s, id})
	if err != nil {
		return storage.Record{}, err
	}
	if now.Record.Version == 0 {
		return storage.Record{}, t.store.ErrAbsent(b)
	}
	return copyRecord(now.Record), nil
}

// Find implements [storage.ReadTx].
func (t *tx) Find(k *storage.Kind, key string, s storage.Scope, values ...any) (storage.Record, error) {
	b, err := t.table(k)
	if err != nil {
		return storage.Record{}, err
	}
	values = slices.Clone(values)
	if _, err := k.CheckKey(key, values); err != nil {
		return storage.Record{}, err
	}
	at := make([]any, len(values))
	for i, v := range values {
		at[i] = Stored(v)
	}
	i := b.keyIndex(key)
	text := b.keyText(i, s, at)
	owner, ok := t.owner(text)
	if !ok {
		owner, ok = t.cache.owner(b, i, text)
	}
	if ok {
		if now, _ := t.lookup(owner); now.Record.Version > 0 {
			return copyRecord(now.Record), nil
		}
		return storage.Record{}, t.store.ErrAbsent(b)
	}
	// No call of the batch has taken or freed the key: the row is as it is.
	r, err := t.readTx.Find(k, key, s, values...)
	if err != nil {
		return storage.Record{}, err
	}
	found := Key{k.Name, r.Scope, r.ID}
	now, ok := t.lookup(found)
	if !ok {
		now = State{Table: b, Record: r, Stored: r.Version}
		t.cache.keep(found, now)
	}
	t.cache.keepOwner(text, found)
	return copyRecord(now.Record), nil
}

// Insert implements [storage.Tx].
func (t *tx) Insert(k *storage.Kind, r storage.Record) error {
	b, err := t.table(k)
	if err != nil {
		return err
	}
	r = copyRecord(r) // Check rounds times in place
	if err := k.Check(&r); err != nil {
		return err
	}
	if !t.store.storable(r.Scope.Merchant, r.ID) || !t.store.storable(r.Columns...) {
		return t.store.errText("insert of " + k.Name)
	}
	key := Key{k.Name, r.Scope, r.ID}
	was, ok := t.lookup(key)
	if was.Record.Version > 0 {
		return t.errExists("insert", b)
	}
	keys, assumed, err := t.free(b, key, &r, nil, !ok)
	if err != nil {
		return err
	}
	r.Version = 1
	t.write(key, State{Table: b, Record: r, Stored: was.Stored, anew: was.Stored > 0, assumed: was.assumed || assumed})
	for _, unique := range keys {
		t.own.owners.put(unique, key)
	}
	return t.wrote()
}

// write notes a record as it now stands.
func (t *tx) write(key Key, s State) {
	if s.Record.Version > 0 && s.Record.Data == nil {
		s.Record.Data = []byte{} // nil would be NULL
	}
	t.own.write(key, s)
}

// free makes sure that a record can have its unique keys, and returns those that it
// does not have yet. was is the record before, if there is one. Unless the call is
// careful, a key that no call of the batch has is assumed to be free: if it is not,
// the write fails.
func (t *tx) free(b *Table, key Key, r, was *storage.Record, unknown bool) (keys []string, assumed bool, err error) {
	var look []int
	taken := false
	b.eachKey(r, func(i int, unique string) {
		if was != nil {
			if had, ok := b.keyOf(i, was); ok && had == unique {
				return
			}
		}
		keys = append(keys, unique)
		switch owner, ok := t.owner(unique); {
		case !ok:
			look = append(look, i)
		case owner != (Key{}) && owner != key:
			taken = true
		}
	})
	if !taken && (len(look) > 0 || unknown) {
		if !t.isCareful(b.Kind.Name) {
			t.assumed = true
			return keys, true, nil
		}
		if taken, err = t.look(b, r, unknown, look); err != nil {
			return nil, false, err
		}
	}
	if taken {
		return nil, false, t.errExists("write", b)
	}
	return keys, false, nil
}

func (t *tx) isCareful(table string) bool { return t.strict || t.lookFirst || t.careful[table] }

// look asks the database whether a record's id, or one of its unique keys, is taken.
func (t *tx) look(b *Table, r *storage.Record, id bool, keys []int) (taken bool, err error) {
	var text strings.Builder
	var args []any
	where := func(column string, v any) {
		args = append(args, Stored(v))
		text.WriteString(" AND " + column + " = " + t.store.Parameter(len(args)))
	}
	branch := func(scoped bool) {
		if text.Len() > 0 {
			text.WriteString(" UNION ALL ")
		}
		text.WriteString("SELECT 1 FROM " + b.Name + " WHERE true")
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
		key := b.Kind.Keys[i]
		branch(!key.Global)
		for _, column := range key.Columns {
			if column == "id" {
				where("id", r.ID)
			} else {
				where(Quote(column), r.Columns[b.Kind.Column(column)])
			}
		}
	}
	err = t.query("read", b.Kind.Name, func(Row) error {
		taken = true
		return nil
	}, text.String()+" LIMIT 1", args...)
	return taken, err
}

func (t *tx) errExists(doing string, b *Table) error {
	return fmt.Errorf("%s: %s %s: %w", t.store.Name, doing, b.Kind.Name, storage.ErrExists)
}

// Replace implements [storage.Tx].
func (t *tx) Replace(k *storage.Kind, r storage.Record) error {
	b, err := t.table(k)
	if err != nil {
		return err
	}
	r = copyRecord(r)
	if err := k.Check(&r); err != nil {
		return err
	}
	if !t.store.storable(r.Columns...) {
		return t.store.errText("replace of " + k.Name)
	}
	key := Key{k.Name, r.Scope, r.ID}
	was, ok := t.unread(b, key, r.Version)
	if !ok {
		if was, err = t.current("replace", b, key, r.Version); err != nil {
			return err
		}
	}
	keys, assumed, err := t.free(b, key, &r, &was.Record, false)
	if err != nil {
		return err
	}
	var freed []string
	b.eachKey(&was.Record, func(i int, had string) {
		if has, ok := b.keyOf(i, &r); !ok || has != had {
			freed = append(freed, had)
		}
	})
	if len(freed) > 0 {
		if was, err = t.settle(b, key, was); err != nil {
			return err
		}
	}
	t.release(b, key, freed)
	r.Version++
	was.Record, was.Leased, was.Lease, was.assumed = r, false, 0, was.assumed || assumed
	t.write(key, was)
	for _, unique := range keys {
		t.own.owners.put(unique, key)
	}
	return t.wrote()
}

// Delete implements [storage.Tx].
func (t *tx) Delete(k *storage.Kind, s storage.Scope, id string, version int64) error {
	b, err := t.table(k)
	if err != nil {
		return err
	}
	key := Key{k.Name, s, id}
	was, err := t.current("delete", b, key, version)
	if err != nil {
		return err
	}
	if was, err = t.settle(b, key, was); err != nil {
		return err
	}
	var freed []string
	b.eachKey(&was.Record, func(_ int, had string) { freed = append(freed, had) })
	t.release(b, key, freed)
	t.write(key, State{Table: b, Stored: was.Stored})
	return t.wrote()
}

// unread returns a record that is about to be replaced, and of which nothing is known,
// as if it had the version: if it does not, the write fails, and the batch runs again.
// A record with unique keys is read, for the keys that it gives up.
func (t *tx) unread(b *Table, key Key, version int64) (State, bool) {
	if version < 1 || len(b.Kind.Keys) > 0 || t.careful != nil || t.isCareful(b.Kind.Name) {
		return State{}, false
	}
	if _, known := t.lookup(key); known {
		return State{}, false
	}
	t.assumed = true
	r := storage.Record{Scope: key.Scope, ID: key.ID, Version: version}
	return State{Table: b, Record: r, Stored: version, assumed: true}, true
}

// current returns a record that must have a version.
func (t *tx) current(doing string, b *Table, key Key, version int64) (State, error) {
	was, err := t.now(b, key)
	if err != nil {
		return State{}, err
	}
	switch was.Record.Version {
	case 0:
		return State{}, fmt.Errorf("%s: %s %s: %w", t.store.Name, doing, b.Kind.Name, storage.ErrNotFound)
	case version:
		return was, nil
	}
	return State{}, fmt.Errorf("%s: %s %s: %w", t.store.Name, doing, b.Kind.Name, storage.ErrConflict)
}

// settle makes sure that a write which was only assumed to be possible is known to be,
// before the record gives up the keys by which the database would refuse it.
func (t *tx) settle(b *Table, key Key, was State) (State, error) {
	if !was.assumed {
		return was, nil
	}
	if err := t.flushAll(); err != nil {
		return was, err
	}
	return t.now(b, key)
}

// release notes that a record gives up unique keys. If another record of the batch
// was assumed to be able to have one of them, it was not: the batch runs again.
func (t *tx) release(b *Table, key Key, freed []string) {
	for _, unique := range freed {
		if owner, ok := t.owner(unique); ok && owner != key && owner != (Key{}) {
			t.batch.doomed = b.Kind.Name
		}
		t.own.owners.put(unique, Key{})
	}
}

// Claim implements [storage.Tx]. The leases are buffered like every other write: the
// lock keeps other writers from the same records.
func (t *tx) Claim(k *storage.Kind, c storage.Claim) ([]storage.Record, error) {
	b, err := t.table(k)
	if err != nil {
		return nil, err
	}
	if err := k.CheckClaim(c); err != nil {
		return nil, err
	}
	if err := t.settled(k.Name); err != nil {
		return nil, err
	}
	records, err := t.due(b, c)
	if err != nil {
		return nil, err
	}
	for i, r := range records {
		key, s := Key{k.Name, r.Scope, r.ID}, State{Table: b, Record: copyRecord(r), Stored: r.Version}
		if c.InTx {
			if _, ok := t.lookup(key); !ok { // they are about to be written
				t.cache.keep(key, s)
			}
			continue
		}
		s.Record.Version++
		s.Leased, s.Lease = true, Ceiling(c.Now.Add(c.Lease))
		t.own.write(key, s)
		records[i].Version++
	}
	return records, t.wrote()
}

// Lease implements [storage.Tx]. The lease of a row that is yet to be written is written
// with it.
func (t *tx) Lease(k *storage.Kind, s storage.Scope, id string, version int64, until time.Time) error {
	b, err := t.table(k)
	if err != nil {
		return err
	}
	if err := k.CheckLease(until); err != nil {
		return err
	}
	key := Key{k.Name, s, id}
	was, err := t.current("lease", b, key, version)
	if err != nil {
		return err
	}
	was.Leased, was.Lease = was.Leased || was.Stored == was.Record.Version && !was.anew, Ceiling(until)
	t.write(key, was)
	return t.wrote()
}
