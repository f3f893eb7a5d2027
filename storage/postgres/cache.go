package postgres

const (
	// maxCached bounds how many records, accounts and so on a generation of the
	// writer's memory has, and maxCachedBytes the length of the documents among them.
	maxCached      = 32768
	maxCachedBytes = 16 << 20
)

// cache is what the writer remembers of the committed state, so that a busy
// merchant, code or account is not read again for every payment. It belongs to
// whoever holds the baton.
//
// It is right as of the commit with the number that it bears. Whoever begins a
// group learns, under the lock, which commits came after that and what they
// changed, and forgets it.
//
// When the young generation is full it becomes the old one, and what was old is
// forgotten. Whatever is asked for is young again, so that what is busy stays,
// however much is written beside it. (When the cache was one that is emptied once it
// is full, a third of all disbursements read their wallet and its account again, at a
// tenth of this process's time.)
type cache struct {
	number, token int64 // of the commit; number is -1 when nothing is known

	young, old generation
}

type generation struct {
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
func (c *cache) forget() { *c = cache{number: -1} }

// room makes sure that n more have a place beside each other.
func (c *cache) room(n int) {
	if len(c.young.byHash)+n > maxCached || c.young.bytes > maxCachedBytes || len(c.young.owners) > maxCached {
		c.old, c.young = c.young, generation{}
	}
}

// changed forgets what bears a hash.
func (c *cache) changed(hash uint64) {
	c.young.changed(hash)
	c.old.changed(hash)
}

func (g *generation) changed(hash uint64) {
	f, ok := g.byHash[hash]
	if !ok {
		return
	}
	delete(g.byHash, hash)
	switch {
	case f.account != "":
		delete(g.accounts, f.account)
	case f.sequence != "":
		delete(g.sequences, f.sequence)
	default:
		g.bytes -= len(g.records[f.record].record.Data)
		delete(g.records, f.record)
	}
}

// name makes something that is about to be kept the one with its hash.
func (c *cache) name(hash uint64, f forgettable) {
	c.changed(hash)
	set(&c.young.byHash, hash, f)
}

// recall finds something in either generation. What is used moves to the young one.
func recall[K comparable, V any](young, old map[K]V, key K, keep func(K, V)) (V, bool) {
	v, ok := young[key]
	if ok {
		return v, true
	}
	if v, ok = old[key]; ok {
		keep(key, v)
	}
	return v, ok
}

func (c *cache) record(key recordKey) (known, bool) {
	return recall(c.young.records, c.old.records, key, c.keepRecord)
}

func (c *cache) account(name string) (account, bool) {
	return recall(c.young.accounts, c.old.accounts, name, c.keepAccount)
}

func (c *cache) sequence(name string) (sequence, bool) {
	return recall(c.young.sequences, c.old.sequences, name, c.keepSequence)
}

// owner returns who has a unique key, if the record is remembered and still has
// it.
func (c *cache) owner(b *table, i int, key string) (recordKey, bool) {
	owner, ok := recall(c.young.owners, c.old.owners, key, c.keepOwner)
	if !ok {
		return owner, false
	}
	k, ok := c.record(owner)
	if !ok || k.record.Version == 0 {
		return owner, false
	}
	has, ok := b.uniqueKey(i, &k.record)
	return owner, ok && has == key
}

// keep remembers a record as it is committed.
func (c *cache) keep(key recordKey, k known) {
	c.room(1)
	c.keepRecord(key, k)
}

// The following remember something for which there is room.

func (c *cache) keepRecord(key recordKey, k known) {
	c.name(key.hash(), forgettable{record: key})
	set(&c.young.records, key, k)
	c.young.bytes += len(k.record.Data)
}

func (c *cache) keepOwner(key string, owner recordKey) { set(&c.young.owners, key, owner) }

func (c *cache) keepAccount(name string, a account) {
	c.name(nameHash("account/", name), forgettable{account: name})
	set(&c.young.accounts, name, a)
}

func (c *cache) keepSequence(name string, q sequence) {
	c.name(nameHash("sequence/", name), forgettable{sequence: name})
	set(&c.young.sequences, name, q)
}

// take remembers what a group has committed, but for records that are new: most
// are events and answers, which nobody writes again.
func (c *cache) take(l *layer) {
	c.room(len(l.records.Keys) + len(l.accounts.Keys) + len(l.sequences.Keys))
	for i, key := range l.records.Keys {
		k := l.records.Values[i]
		if k.record.Version == 1 {
			c.changed(key.hash()) // it was known to be absent, perhaps
			continue
		}
		c.keepRecord(key, k)
	}
	for i, name := range l.accounts.Keys {
		c.keepAccount(name, l.accounts.Values[i])
	}
	for i, name := range l.sequences.Keys {
		c.keepSequence(name, l.sequences.Values[i])
	}
}
