package sqlite

import "github.com/seed-7082ffec/payments/storage"

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
// whether another connection has committed since, which begin asks. What members
// have written is in layers over it until the database has it; what one wrote to the
// database and then took back is forgotten with all the rest.
type cache struct {
	version  int64 // SQLite's data version, as the connection last saw it
	records  map[recordKey]storage.Record
	accounts map[string]account
	bytes    int
	// newest are ids above which there is none, by what has ids of its own. Ids ascend
	// with time, so that nearly every new one is above, and need not be looked for.
	newest map[series]string
}

// series is what has ids of its own: a table's part of one scope; or, without a table,
// the postings.
type series struct {
	table *table
	scope storage.Scope
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
	clear(c.newest)
	c.bytes = 0
}

// keep remembers a record, which is the cache's from now on and must not be changed.
// One without a version stands for what is not there.
func (c *cache) keep(key recordKey, r storage.Record) {
	c.drop(key)
	if len(c.records) >= maxCached || c.bytes+len(r.Data) > maxCachedBytes {
		c.forget()
	}
	if c.records == nil {
		c.records = map[recordKey]storage.Record{}
	}
	c.records[key] = r
	c.bytes += len(r.Data)
}

// drop forgets a record.
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

// raise notes an id that comes to be.
func (c *cache) raise(of series, id string) {
	if newest, known := c.newest[of]; known && id > newest {
		c.newest[of] = id
	}
}

// keepNewest remembers that there is no id above this one.
func (c *cache) keepNewest(of series, id string) {
	if len(c.newest) >= maxCached {
		clear(c.newest)
	}
	if c.newest == nil {
		c.newest = map[series]string{}
	}
	c.newest[of] = id
}
