package sqlite

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
)

// tx is a member's part of the writer's transaction. What it writes stands in its own
// layer; whether it may be written is found out at once, so that only trouble is left
// for later.
type tx struct {
	readTx
	group *group
	cache *cache
	own   *layer
	// direct says that the member has changed the database itself, and savepoint that
	// it can be taken back there.
	direct, savepoint bool
	// atOnce has every record written to the database at once: the database has refused
	// what stood in memory, and now says so to whoever writes it.
	atOnce bool
}

// now returns a record as it stands, without Version when there is none, and the version
// of its row in the database. The record must be copied before it is given away.
func (t *tx) now(b *table, key recordKey) (r storage.Record, stored int64, err error) {
	if c := t.pending(key); c != nil {
		return c.record, c.stored, nil
	}
	if r, ok := t.cache.records[key]; ok {
		return r, r.Version, nil
	}
	r, err = t.readTx.Get(b.kind, key.scope, key.id)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return storage.Record{}, 0, err
	}
	t.cache.keep(key, r)
	return r, r.Version, nil
}

// pending returns what is yet to be written of a record, or nil.
func (t *tx) pending(key recordKey) *change {
	if c := t.own.records.Find(key); c != nil {
		return c
	}
	return t.group.layer.records.Find(key)
}

// Get implements [storage.ReadTx].
func (t *tx) Get(k *storage.Kind, s storage.Scope, id string) (storage.Record, error) {
	b, err := t.table(k)
	if err != nil {
		return storage.Record{}, err
	}
	r, _, err := t.now(b, recordKey{b, s, id})
	if err == nil && r.Version == 0 {
		err = fmt.Errorf("sqlite: %s: %w", k.Name, storage.ErrNotFound)
	}
	if err != nil {
		return storage.Record{}, err
	}
	return copyRecord(r), nil
}

// Find implements [storage.ReadTx]. Who has a unique key is as the database says,
// because a key is taken there at once; the record may have changed since, or gone, or
// another without the key may have come in its place.
func (t *tx) Find(k *storage.Kind, key string, s storage.Scope, values ...any) (storage.Record, error) {
	r, err := t.readTx.Find(k, key, s, values...)
	if err != nil {
		return storage.Record{}, err
	}
	b, err := t.table(k)
	if err != nil {
		return storage.Record{}, err
	}
	switch c := t.pending(recordKey{b, r.Scope, r.ID}); {
	case c == nil:
		return r, nil
	case c.record.Version == 0 || !b.sameKeys(&c.record, &r):
		return storage.Record{}, fmt.Errorf("sqlite: %s: %w", k.Name, storage.ErrNotFound)
	default:
		return copyRecord(c.record), nil
	}
}

// List implements [storage.ReadTx].
func (t *tx) List(k *storage.Kind, q storage.Query) ([]storage.Record, error) {
	if err := t.settle(k); err != nil {
		return nil, err
	}
	return t.readTx.List(k, q)
}

// Scan implements [storage.Scanner].
func (t *tx) Scan(k *storage.Kind, after storage.Scope, id string, limit int) ([]storage.Record, error) {
	if err := t.settle(k); err != nil {
		return nil, err
	}
	return t.readTx.Scan(k, after, id, limit)
}

// Backlog implements [storage.ReadTx].
func (t *tx) Backlog(k *storage.Kind, due time.Time, limit int) (storage.Backlog, error) {
	if err := t.settle(k); err != nil {
		return storage.Backlog{}, err
	}
	return t.readTx.Backlog(k, due, limit)
}

// settle writes what is pending, if some of it is of a kind that is asked for.
func (t *tx) settle(k *storage.Kind) error {
	b, err := t.table(k)
	if err != nil {
		return err
	}
	switch {
	case t.own.touches(b):
		return t.spill()
	case t.group.layer.touches(b):
		return t.flushGroup()
	}
	return nil
}

// flushGroup writes what the members before have written. It must be done before a
// savepoint to which this member may have to go back. Trouble is the group's.
func (t *tx) flushGroup() error {
	l := t.group.layer
	if l.empty() {
		return nil
	}
	if err := t.conn.flush(l, t.cache); err != nil {
		t.group.broken = err
		return t.fail("write", "what others of the group had written", err)
	}
	// What this member knows of the rows under its own changes.
	for i, key := range t.own.records.Keys {
		if c := l.records.Find(key); c != nil {
			t.own.records.Values[i].stored = c.record.Version
		}
	}
	for i, name := range t.own.accounts.Keys {
		if a := l.accounts.Find(name); a != nil {
			t.own.accounts.Values[i].id = a.id
		}
	}
	l.clear()
	return nil
}

// spill writes to the database what the group has written before, and then what this
// member has, which from now on is undone there.
func (t *tx) spill() error {
	if err := t.usable(); err != nil {
		return err
	}
	if !t.direct {
		if err := t.flushGroup(); err != nil {
			return err
		}
		if t.group.wrote > 0 {
			if _, err := t.conn.run("SAVEPOINT member", nil); err != nil {
				return t.fail("open", "savepoint", err)
			}
			t.savepoint = true
		}
		t.direct = true
	}
	if err := t.conn.flush(t.own, t.cache); err != nil {
		return t.fail("write", "changes", err)
	}
	t.own.clear()
	return nil
}

// noted bounds what is held in memory.
func (t *tx) noted() error {
	if t.own.bytes > maxUnwritten {
		return t.spill()
	}
	return nil
}

// release makes what was written part of the group.
func (t *tx) release() error {
	if t.savepoint {
		if _, err := t.conn.run("RELEASE member", nil); err != nil {
			return t.fail("release", "savepoint", err)
		}
	}
	if !t.direct && t.own.empty() {
		return nil
	}
	g := t.group
	g.wrote++
	g.layer.take(t.own)
	if g.layer.bytes > maxUnwritten {
		return t.flushGroup()
	}
	return nil
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
	r.Version = 1
	if t.atOnce || b.keyed(&r) {
		return t.insertKeyed(b, &r)
	}
	key := recordKey{b, r.Scope, r.ID}
	stored, err := t.vacant(b, key)
	if err != nil {
		return err
	}
	t.cache.raise(series{b, r.Scope}, r.ID)
	t.own.change(key, change{record: r, stored: stored})
	return t.noted()
}

// vacant returns an error if a record is there, and the version of a row that is in
// the database nevertheless, because its deletion is pending.
func (t *tx) vacant(b *table, key recordKey) (stored int64, err error) {
	was, stored := storage.Record{}, int64(0)
	if c := t.pending(key); c != nil {
		was, stored = c.record, c.stored
	} else if known, ok := t.cache.records[key]; ok {
		was, stored = known, known.Version
	} else if taken, err := t.taken(series{b, key.scope}, key.id); err != nil {
		return 0, t.fail("insert", b.kind.Name, err)
	} else if taken {
		was.Version = 1
	}
	if was.Version > 0 {
		return 0, fmt.Errorf("sqlite: insert %s: %w", b.kind.Name, storage.ErrExists)
	}
	return stored, nil
}

// taken reports whether the database has an id in a series. For one above all that
// the series has had, which nearly every new one is, it need not be asked.
func (t *tx) taken(of series, id string) (bool, error) {
	c := t.conn
	newest, known := t.cache.newest[of]
	if !known {
		query := newestPosting
		c.args = c.args[:0]
		if of.table != nil {
			query = of.table.newest
			c.args = append(c.args, of.scope.Merchant, of.scope.Live)
		}
		if _, err := c.one(query, c.args, &newest); err != nil {
			return false, err
		}
		newest = max(newest, t.own.newest(of), t.group.layer.newest(of))
		t.cache.keepNewest(of, newest)
	}
	if id > newest {
		return false, nil
	}
	query := existsPosting
	c.args = c.args[:0]
	if of.table != nil {
		query = of.table.exists
		c.args = append(c.args, of.scope.Merchant, of.scope.Live)
	}
	c.args = append(c.args, id)
	var one int64
	return c.one(query, c.args, &one)
}

// insertKeyed inserts a record at once: one that has a unique key, which the database
// knows best.
func (t *tx) insertKeyed(b *table, r *storage.Record) error {
	if err := t.spill(); err != nil {
		return err
	}
	t.cache.drop(recordKey{b, r.Scope, r.ID}) // of which it may know that it is not there
	t.cache.raise(series{b, r.Scope}, r.ID)
	c := t.conn
	c.args = append(c.args[:0], r.Scope.Merchant, r.Scope.Live, r.ID, r.Version)
	c.addDocument(r)
	n, err := t.write("insert", b.kind.Name, b.insert, c.args...)
	if err == nil && n == 0 {
		return fmt.Errorf("sqlite: insert %s: %w", b.kind.Name, storage.ErrExists)
	}
	return err
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
	key := recordKey{b, r.Scope, r.ID}
	was, stored, err := t.current("replace", b, key, r.Version)
	if err != nil {
		return err
	}
	r.Version++
	if t.atOnce || !b.sameKeys(&was, &r) {
		return t.replaceKeyed(b, key, &r)
	}
	t.own.change(key, change{record: r, stored: stored})
	return t.noted()
}

// current returns a record if it has that version.
func (t *tx) current(doing string, b *table, key recordKey, version int64) (storage.Record, int64, error) {
	was, stored, err := t.now(b, key)
	switch {
	case err != nil:
	case was.Version == 0:
		err = fmt.Errorf("sqlite: %s %s: %w", doing, b.kind.Name, storage.ErrNotFound)
	case was.Version != version:
		err = fmt.Errorf("sqlite: %s %s: %w", doing, b.kind.Name, storage.ErrConflict)
	}
	return was, stored, err
}

// replaceKeyed replaces a record at once, by one with another unique key.
func (t *tx) replaceKeyed(b *table, key recordKey, r *storage.Record) error {
	if err := t.spill(); err != nil {
		return err
	}
	c := t.conn
	c.args = append(c.args[:0], r.Version)
	c.addDocument(r)
	c.args = append(c.args, r.Scope.Merchant, r.Scope.Live, r.ID, r.Version-1)
	n, err := t.write("replace", b.kind.Name, b.rewrite, c.args...)
	if err == nil && n != 1 {
		err = t.fail("replace", b.kind.Name, errors.New("a record cannot be found by its id"))
	}
	if err == nil {
		t.cache.keep(key, *r)
	}
	return err
}

// Delete implements [storage.Tx].
func (t *tx) Delete(k *storage.Kind, s storage.Scope, id string, version int64) error {
	b, err := t.table(k)
	if err != nil {
		return err
	}
	key := recordKey{b, s, id}
	_, stored, err := t.current("delete", b, key, version)
	if err != nil {
		return err
	}
	t.own.change(key, change{stored: stored})
	return t.noted()
}

// Claim implements [storage.Tx].
func (t *tx) Claim(k *storage.Kind, claim storage.Claim) ([]storage.Record, error) {
	if err := t.settle(k); err != nil {
		return nil, err
	}
	b, err := t.table(k)
	if err != nil {
		return nil, err
	}
	if err := k.CheckClaim(claim); err != nil {
		return nil, err
	}
	c, query := t.conn, b.claim
	c.args = append(c.args[:0], claim.Due.UnixMilli(), claim.Now.UnixMilli())
	if claim.Scope != nil {
		query = b.claimScoped
		c.args = append(c.args, claim.Scope.Merchant, claim.Scope.Live)
	}
	c.args = append(c.args, claim.Limit)
	records, err := t.records(b, claim.Limit, k.Columns, query, claim.Scope)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	if claim.InTx {
		for _, r := range records {
			t.cache.keep(recordKey{b, r.Scope, r.ID}, copyRecord(r))
		}
		return records, nil
	}
	if err := t.spill(); err != nil {
		return nil, err
	}
	until := sqltext.Ceiling(claim.Now.Add(claim.Lease))
	for i := range records {
		r := &records[i]
		n, err := t.write("claim", k.Name, b.lease, until, r.Scope.Merchant, r.Scope.Live, r.ID)
		if err == nil && n != 1 {
			err = t.fail("claim", k.Name, errors.New("a record cannot be found by its id"))
		}
		if err != nil {
			return nil, err
		}
		r.Version++
		t.cache.keep(recordKey{b, r.Scope, r.ID}, copyRecord(*r)) // which is soon replaced
	}
	return records, nil
}

// addDocument adds the promoted columns and the document to the arguments.
func (c *conn) addDocument(r *storage.Record) {
	for _, v := range r.Columns {
		c.args = append(c.args, sqltext.Stored(v))
	}
	if r.Data == nil {
		r.Data = []byte{} // nil would be NULL
	}
	c.args = append(c.args, r.Data)
}

// write runs at once a statement that changes something, and returns how many rows it
// changed. A taken key is ErrExists and has done no harm; after any other error
// the transaction is of no use.
func (t *tx) write(doing, what, query string, args ...any) (rows int64, err error) {
	if err := t.spill(); err != nil {
		return 0, err
	}
	rows, err = t.conn.run(query, args)
	if isUnique(err) {
		return 0, fmt.Errorf("sqlite: %s %s: %w", doing, what, storage.ErrExists)
	}
	if err != nil {
		return 0, t.fail(doing, what, err)
	}
	return rows, nil
}

// keyed reports whether a record is in a unique key.
func (b *table) keyed(r *storage.Record) bool {
	return slices.ContainsFunc(b.keys, func(columns []int) bool {
		return !slices.ContainsFunc(columns, func(i int) bool { return r.Columns[i] == nil })
	})
}

// sameKeys reports whether two records of the same id have the same unique keys.
func (b *table) sameKeys(r, other *storage.Record) bool {
	return !slices.ContainsFunc(b.keys, func(columns []int) bool {
		return slices.ContainsFunc(columns, func(i int) bool { return r.Columns[i] != other.Columns[i] })
	})
}
