package sqlite

import (
	"errors"
	"fmt"
	"slices"

	"github.com/seed-7082ffec/payments/storage"
)

const (
	// maxCached bounds how many records, and how many accounts, the writer
	// remembers, and maxCachedBytes the length of the documents among them.
	maxCached      = 8192
	maxCachedBytes = 16 << 20
)

// cache is what the writer remembers of what it has read or written by id, so
// that a busy merchant, code or account is not read again for every payment. It
// belongs to whoever holds the baton.
//
// It is right as long as nobody else writes: SQLite tells by its data version
// whether another connection has committed since, which begin asks. What a
// member wrote and then took back is forgotten with all the rest, which costs
// little, because refusals come before writes.
type cache struct {
	version  int64 // SQLite's data version, as the connection last saw it
	records  map[recordKey]storage.Record
	accounts map[string]account
	bytes    int
}

type recordKey struct {
	table *table
	scope storage.Scope
	id    string
}

// forget empties the cache.
func (c *cache) forget() {
	clear(c.records)
	clear(c.accounts)
	c.bytes = 0
}

// record returns a copy of a remembered record, which is the caller's. One without
// a version stands for what is not there.
func (c *cache) record(key recordKey) (storage.Record, bool) {
	r, ok := c.records[key]
	if ok {
		r.Columns, r.Data = slices.Clone(r.Columns), slices.Clone(r.Data)
	}
	return r, ok
}

// keep remembers a copy of a record.
func (c *cache) keep(key recordKey, r storage.Record) {
	c.drop(key)
	if len(c.records) >= maxCached || c.bytes+len(r.Data) > maxCachedBytes {
		c.forget()
	}
	if c.records == nil {
		c.records = map[recordKey]storage.Record{}
	}
	r.Columns, r.Data = slices.Clone(r.Columns), slices.Clone(r.Data)
	c.records[key] = r
	c.bytes += len(r.Data)
}

func (c *cache) drop(key recordKey) {
	if r, ok := c.records[key]; ok {
		c.bytes -= len(r.Data)
		delete(c.records, key)
	}
}

// keepAccount remembers an account.
func (c *cache) keepAccount(a account) {
	if len(c.accounts) >= maxCached {
		c.forget()
	}
	if c.accounts == nil {
		c.accounts = map[string]account{}
	}
	c.accounts[a.Account] = a
}

// Get implements [storage.ReadTx].
func (t *tx) Get(k *storage.Kind, s storage.Scope, id string) (storage.Record, error) {
	b, err := t.table(k)
	if err != nil {
		return storage.Record{}, err
	}
	key := recordKey{b, s, id}
	if r, ok := t.cache.record(key); ok {
		if r.Version == 0 {
			return storage.Record{}, fmt.Errorf("sqlite: %s: %w", k.Name, storage.ErrNotFound)
		}
		return r, nil
	}
	r, err := t.readTx.Get(k, s, id)
	if err == nil || errors.Is(err, storage.ErrNotFound) {
		t.cache.keep(key, r)
	}
	return r, err
}

// Balance implements [storage.ReadTx].
func (t *tx) Balance(name string) (storage.Balance, error) {
	if err := t.usable(); err != nil {
		return storage.Balance{}, err
	}
	a, err := t.account(name)
	return a.Balance, err
}

// account reads an account, which has no id if it is yet to come.
func (t *tx) account(name string) (account, error) {
	if a, ok := t.cache.accounts[name]; ok {
		return a, nil
	}
	a, err := t.readTx.account(name)
	if err == nil && a.id != 0 {
		t.cache.keepAccount(a)
	}
	return a, err
}
