package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
)

// tx is a member's part of the group's transaction.
type tx struct {
	readTx
	group     *group
	cache     *cache
	own       *layer
	savepoint bool
	// careful names the tables in which this member looks before it inserts,
	// because it, or another member, met what was there.
	careful map[string]bool
	// strict writes at once whatever is written, so that an error belongs to it.
	strict bool
	// lookFirst makes it careful of all tables.
	lookFirst bool
	// assumed says that it has written what a look might have forbidden.
	assumed bool
	// blameless says that failed is trouble which another attempt may be spared.
	blameless bool
}

// lookup returns what is known of a record.
func (t *tx) lookup(key recordKey) (known, bool) {
	if k := t.own.records.Find(key); k != nil {
		return *k, true
	}
	if k := t.group.layer.records.Find(key); k != nil {
		return *k, true
	}
	if b := t.group.below; b != nil {
		if k := b.records.Find(key); k != nil {
			return k.inDatabase(), true
		}
	}
	return t.cache.record(key)
}

// owner returns who has a unique key, the zero key for nobody; false when only
// the database knows.
func (t *tx) owner(key string) (recordKey, bool) {
	if r := t.own.owners.Find(key); r != nil {
		return *r, true
	}
	if r := t.group.layer.owners.Find(key); r != nil {
		return *r, true
	}
	if b := t.group.below; b != nil {
		if r := b.owners.Find(key); r != nil {
			return *r, true
		}
	}
	return recordKey{}, false
}

// now returns a record as it stands, read if need be.
func (t *tx) now(b *table, key recordKey) (known, error) {
	if k, ok := t.lookup(key); ok {
		return k, nil
	}
	r, err := t.readTx.Get(b.kind, key.scope, key.id)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return known{}, t.trouble(err)
	}
	k := known{record: r, table: b, stored: r.Version}
	t.cache.keep(key, k)
	return k, nil
}

// Get implements [storage.ReadTx].
func (t *tx) Get(k *storage.Kind, s storage.Scope, id string) (storage.Record, error) {
	b, err := t.table(k)
	if err != nil {
		return storage.Record{}, err
	}
	now, err := t.now(b, recordKey{k.Name, s, id})
	if err != nil {
		return storage.Record{}, err
	}
	if now.record.Version == 0 {
		return storage.Record{}, errAbsent(b)
	}
	return copyRecord(now.record), nil
}

// Find implements [storage.ReadTx].
func (t *tx) Find(k *storage.Kind, key string, s storage.Scope, values ...any) (storage.Record, error) {
	b, err := t.table(k)
	if err != nil {
		return storage.Record{}, err
	}
	values = slices.Clone(values)
	declared, err := k.CheckKey(key, values)
	if err != nil {
		return storage.Record{}, err
	}
	at := make([]any, len(values))
	for i, v := range values {
		at[i] = sqltext.Stored(v)
	}
	i := slices.IndexFunc(k.Keys, func(k storage.Key) bool { return k.Name == key })
	text := b.keyOf(i, s, at)
	owner, ok := t.owner(text)
	if !ok {
		owner, ok = t.cache.owner(b, i, text)
	}
	if ok {
		if now, _ := t.lookup(owner); now.record.Version > 0 {
			return copyRecord(now.record), nil
		}
		return storage.Record{}, errAbsent(b)
	}
	// Nobody in the group has taken or freed the key: the row is as it is.
	r, err := t.readTx.find(b, declared, s, values)
	if err != nil {
		return storage.Record{}, t.trouble(err)
	}
	found := recordKey{k.Name, r.Scope, r.ID}
	now, ok := t.lookup(found)
	if !ok {
		now = known{record: r, table: b, stored: r.Version}
		t.cache.keep(found, now)
	}
	t.cache.keepOwner(text, found)
	return copyRecord(now.record), nil
}

// List implements [storage.ReadTx].
func (t *tx) List(k *storage.Kind, q storage.Query) ([]storage.Record, error) {
	if _, err := t.table(k); err != nil {
		return nil, err
	}
	if err := k.CheckQuery(q); err != nil {
		return nil, err
	}
	if err := t.flushKind(k.Name); err != nil {
		return nil, err
	}
	records, err := t.readTx.List(k, q)
	return records, t.trouble(err)
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
	if !allText(r.Scope.Merchant, r.ID) || !allText(r.Columns...) {
		return errText("insert of " + k.Name)
	}
	key := recordKey{k.Name, r.Scope, r.ID}
	was, ok := t.lookup(key)
	if was.record.Version > 0 {
		return errExists("insert", b)
	}
	keys, err := t.free(b, key, &r, nil, !ok)
	if err != nil {
		return err
	}
	if r.Data == nil {
		r.Data = []byte{} // nil would be NULL
	}
	r.Version = 1
	t.own.write(key, known{
		record: r, table: b, stored: was.stored, renewed: was.stored > 0,
		assumed: was.assumed || !ok && !t.isCareful(k.Name),
	})
	for _, unique := range keys {
		t.own.owners.Put(unique, key)
	}
	return t.wrote()
}

// free makes sure that a record can have its unique keys, and returns those that
// it does not have yet. was is the record before, if there is one. Unless the
// member is careful, a key that nobody in the group has is thought to be free: if
// it is not, the insert shows.
func (t *tx) free(b *table, key recordKey, r, was *storage.Record, unknown bool) ([]string, error) {
	var keys []string
	var look []int
	taken := false
	b.uniqueKeys(r, func(i int, unique string) {
		if was != nil {
			if had, ok := b.uniqueKey(i, was); ok && had == unique {
				return
			}
		}
		keys = append(keys, unique)
		switch owner, ok := t.owner(unique); {
		case !ok:
			look = append(look, i)
		case owner != (recordKey{}) && owner != key:
			taken = true
		}
	})
	if !taken && (len(look) > 0 || unknown) {
		if !t.isCareful(b.kind.Name) {
			t.assumed = true
			return keys, nil
		}
		var err error
		if taken, err = t.look(b, r, unknown, look); err != nil {
			return nil, err
		}
	}
	if taken {
		return nil, errExists("write", b)
	}
	return keys, nil
}

func (t *tx) isCareful(table string) bool { return t.strict || t.lookFirst || t.careful[table] }

// look asks the database whether a record's id, or one of its unique keys, is
// taken.
func (t *tx) look(b *table, r *storage.Record, id bool, keys []int) (taken bool, err error) {
	var text strings.Builder
	var args []any
	where := func(column string, v any) {
		args = append(args, sqltext.Stored(v))
		fmt.Fprintf(&text, " AND %s = $%d", column, len(args))
	}
	branch := func(scoped bool) {
		if text.Len() > 0 {
			text.WriteString(" UNION ALL ")
		}
		text.WriteString("SELECT 1 FROM " + b.name + " WHERE true")
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
		key := b.kind.Keys[i]
		branch(!key.Global)
		for _, column := range key.Columns {
			if column == "id" {
				where("id", r.ID)
			} else {
				where(sqltext.Quote(column), r.Columns[b.kind.Column(column)])
			}
		}
	}
	var one int32
	taken, err = t.session.one(t.io, []any{&one}, text.String()+" LIMIT 1", args...)
	if err != nil {
		return false, t.trouble(t.fail("read", b.kind.Name, err))
	}
	return taken, nil
}

func errExists(doing string, b *table) error {
	return fmt.Errorf("postgres: %s %s: %w", doing, b.kind.Name, storage.ErrExists)
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
	if !allText(r.Columns...) {
		return errText("replace of " + k.Name)
	}
	key := recordKey{k.Name, r.Scope, r.ID}
	was, err := t.current("replace", b, key, r.Version)
	if err != nil {
		return err
	}
	keys, err := t.free(b, key, &r, &was.record, false)
	if err != nil {
		return err
	}
	var freed []string
	b.uniqueKeys(&was.record, func(i int, had string) {
		if has, ok := b.uniqueKey(i, &r); !ok || has != had {
			freed = append(freed, had)
		}
	})
	if len(freed) > 0 {
		if was, err = t.settle(b, key, was); err != nil {
			return err
		}
	}
	t.release(b, key, freed)
	if r.Data == nil {
		r.Data = []byte{}
	}
	r.Version++
	was.record = r
	t.own.write(key, was)
	for _, unique := range keys {
		t.own.owners.Put(unique, key)
	}
	return t.wrote()
}

// Delete implements [storage.Tx].
func (t *tx) Delete(k *storage.Kind, s storage.Scope, id string, version int64) error {
	b, err := t.table(k)
	if err != nil {
		return err
	}
	key := recordKey{k.Name, s, id}
	was, err := t.current("delete", b, key, version)
	if err != nil {
		return err
	}
	if was, err = t.settle(b, key, was); err != nil {
		return err
	}
	var freed []string
	b.uniqueKeys(&was.record, func(_ int, had string) { freed = append(freed, had) })
	t.release(b, key, freed)
	t.own.write(key, known{table: b, stored: was.stored})
	return t.wrote()
}

// current returns a record that must have a version.
func (t *tx) current(doing string, b *table, key recordKey, version int64) (known, error) {
	was, err := t.now(b, key)
	if err != nil {
		return known{}, err
	}
	switch was.record.Version {
	case version:
		if version > 0 {
			return was, nil
		}
		fallthrough
	case 0:
		return known{}, fmt.Errorf("postgres: %s %s: %w", doing, b.kind.Name, storage.ErrNotFound)
	}
	return known{}, fmt.Errorf("postgres: %s %s: %w", doing, b.kind.Name, storage.ErrConflict)
}

// settle makes sure that an insert which was only assumed to be possible is shown
// to be before the record gives up what would show it.
func (t *tx) settle(b *table, key recordKey, was known) (known, error) {
	if !was.dirty || was.stored > 0 || !was.assumed {
		return was, nil
	}
	if err := t.flush(); err != nil {
		return was, err
	}
	return t.now(b, key)
}

// release notes that a record gives up unique keys. Another member that was
// thought to be able to have one of them was not: its group runs again.
func (t *tx) release(b *table, key recordKey, freed []string) {
	for _, unique := range freed {
		if owner, ok := t.owner(unique); ok && owner != key && owner != (recordKey{}) {
			t.group.doomed = b.kind.Name
		}
		t.own.owners.Put(unique, recordKey{})
	}
}

// wrote follows every write.
func (t *tx) wrote() error {
	if !t.strict {
		return nil
	}
	return t.flush()
}

// Claim implements [storage.Tx].
func (t *tx) Claim(k *storage.Kind, c storage.Claim) ([]storage.Record, error) {
	b, err := t.table(k)
	if err != nil {
		return nil, err
	}
	if err := k.CheckClaim(c); err != nil {
		return nil, err
	}
	if c.Scope != nil && !allText(c.Scope.Merchant) {
		return nil, nil
	}
	if err := t.direct(); err != nil {
		return nil, err
	}
	query, scoped := b.claim, b.claimScoped
	args := []any{c.Due.UnixMilli(), c.Now.UnixMilli(), c.Limit}
	if c.InTx {
		query, scoped = b.due, b.dueScoped
	} else {
		args = append(args, sqltext.Ceiling(c.Now.Add(c.Lease)))
	}
	if c.Scope != nil {
		query = scoped
		args = append(args, c.Scope.Merchant, c.Scope.Live)
	}
	records, err := t.records(b, nil, query, args...)
	if err != nil {
		return nil, t.trouble(err)
	}
	due := k.Column(k.Due)
	slices.SortFunc(records, func(x, y storage.Record) int {
		if order := x.Columns[due].(time.Time).Compare(y.Columns[due].(time.Time)); order != 0 {
			return order
		}
		return strings.Compare(x.ID, y.ID)
	})
	if c.InTx {
		for _, r := range records { // which are about to be written
			key := recordKey{k.Name, r.Scope, r.ID}
			if _, ok := t.lookup(key); !ok { // not this transaction's own
				t.cache.keep(key, known{record: copyRecord(r), table: b, stored: r.Version})
			}
		}
		return records, nil
	}
	claimed := make([]storage.Record, len(records))
	for i, r := range records {
		key := recordKey{k.Name, r.Scope, r.ID}
		t.own.records.Put(key, known{record: r, table: b, stored: r.Version})
		t.group.changes.add(key.hash())
		t.group.wrote = true
		claimed[i] = copyRecord(r)
	}
	return claimed, nil
}
