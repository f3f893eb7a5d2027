package postgres

const (
	// maxCached bounds how many records, accounts and so on the writer remembers,
	// and maxCachedBytes the length of the documents among them.
	maxCached      = 16384
	maxCachedBytes = 32 << 20
)

// cache is what the writer remembers of the committed state, so that a busy
// merchant, code or account is not read again for every payment. It belongs to
// whoever holds the baton.
//
// It is right as of the commit with the number that it bears. Whoever begins a
// group learns, under the lock, which commits came after that and what they
// changed, and forgets it.
type cache struct {
	number, token int64 // of the commit; number is -1 when nothing is known

	records   map[recordKey]known
	owners    map[string]recordKey // who had a unique key when somebody asked
	accounts  map[string]account
	sequences map[string]sequence
	bytes     int
	byHash    map[uint64]forgettable
}

// forgettable is something in the cache that has a hash.
type forgettable struct {
	record            recordKey
	account, sequence string
}

// forget empties the cache.
func (c *cache) forget() {
	clear(c.records)
	clear(c.owners)
	clear(c.accounts)
	clear(c.sequences)
	clear(c.byHash)
	c.bytes = 0
	c.number = -1
}

// room makes sure that n more have a place, so that keeping them forgets nothing.
func (c *cache) room(n int) {
	if len(c.byHash)+n > maxCached || c.bytes > maxCachedBytes {
		number, token := c.number, c.token
		c.forget()
		c.number, c.token = number, token
	}
}

// changed forgets what bears a hash.
func (c *cache) changed(hash uint64) {
	f, ok := c.byHash[hash]
	if !ok {
		return
	}
	delete(c.byHash, hash)
	switch {
	case f.account != "":
		delete(c.accounts, f.account)
	case f.sequence != "":
		delete(c.sequences, f.sequence)
	default:
		c.bytes -= len(c.records[f.record].record.Data)
		delete(c.records, f.record)
	}
}

// name makes something that is about to be kept the one with its hash.
func (c *cache) name(hash uint64, f forgettable) {
	c.changed(hash)
	set(&c.byHash, hash, f)
}

func (c *cache) record(key recordKey) (known, bool) {
	k, ok := c.records[key]
	return k, ok
}

// keep remembers a record as it is committed.
func (c *cache) keep(key recordKey, k known) {
	c.room(1)
	c.name(key.hash(), forgettable{record: key})
	set(&c.records, key, k)
	c.bytes += len(k.record.Data)
}

// owner returns who has a unique key, if the record is remembered and still has
// it.
func (c *cache) owner(b *table, i int, key string) (recordKey, bool) {
	owner, ok := c.owners[key]
	if !ok {
		return owner, false
	}
	k, ok := c.records[owner]
	if !ok || k.record.Version == 0 {
		return owner, false
	}
	has, ok := b.uniqueKey(i, &k.record)
	return owner, ok && has == key
}

func (c *cache) keepOwner(key string, owner recordKey) {
	if len(c.owners) >= maxCached {
		clear(c.owners)
	}
	set(&c.owners, key, owner)
}

// keepAccount remembers an account, for which there is room.
func (c *cache) keepAccount(name string, a account) {
	c.name(nameHash("account/", name), forgettable{account: name})
	set(&c.accounts, name, a)
}

// take remembers what a group has committed.
func (c *cache) take(l *layer) {
	c.room(len(l.records) + len(l.accounts) + len(l.sequences))
	for key, k := range l.records {
		c.name(key.hash(), forgettable{record: key})
		set(&c.records, key, k)
		c.bytes += len(k.record.Data)
	}
	for name, a := range l.accounts {
		c.keepAccount(name, a)
	}
	for name, q := range l.sequences {
		c.name(nameHash("sequence/", name), forgettable{sequence: name})
		set(&c.sequences, name, q)
	}
}
