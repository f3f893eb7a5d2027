package sqlstore

const (
	// maxCached bounds how many records, accounts and sequences a generation of the
	// cache holds, and maxCachedBytes the length of the documents among them.
	maxCached      = 32768
	maxCachedBytes = 16 << 20
)

// cache is what the writer remembers of the committed state, so that a busy
// merchant, code or account is not read again for every payment. It belongs to the
// call that has the write turn.
//
// It is right as of the commit at. The first call of a batch learns, under the lock,
// which commits came after that and what they changed, and the cache forgets it.
//
// A full young generation becomes the old one, and what was old is forgotten. A
// value that is used is young again, so that busy records stay however much is
// written beside them.
type cache struct {
	known bool // whether at says anything
	at    Commit

	young, old generation
}

type generation struct {
	records   map[Key]State
	owners    map[string]Key // of unique keys, when they were read
	accounts  map[string]Account
	sequences map[string]int64
	bytes     int
	byHash    map[uint64]cached
}

// cached is a value in the cache that has a hash.
type cached struct {
	record            Key
	account, sequence string
}

// forget empties the cache. The commit stays, which may be found missing in the history.
func (c *cache) forget() { *c = cache{at: c.at} }

// follow moves the cache to the newest commit of a log, and forgets what was changed
// since.
func (c *cache) follow(log Log) {
	forget := !c.known || !log.Known
	for _, hashes := range log.Changed {
		forget = forget || hashes == nil
	}
	if forget {
		c.forget()
	} else {
		for _, hashes := range log.Changed {
			for ; len(hashes) >= 8; hashes = hashes[8:] {
				c.changed(hashOf(hashes))
			}
		}
	}
	c.known, c.at = true, log.Newest
}

// makeRoom makes sure that n more values have room beside each other.
func (c *cache) makeRoom(n int) {
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
		g.bytes -= len(g.records[f.record].Record.Data)
		delete(g.records, f.record)
	}
}

// name makes a value that is about to be kept the one with its hash.
func (c *cache) name(hash uint64, f cached) {
	c.changed(hash)
	set(&c.young.byHash, hash, f)
}

// recall finds a value in either generation, and moves it to the young one.
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

func (c *cache) record(key Key) (State, bool) {
	return recall(c.young.records, c.old.records, key, c.keepRecord)
}

func (c *cache) account(name string) (Account, bool) {
	return recall(c.young.accounts, c.old.accounts, name, c.keepAccount)
}

func (c *cache) sequence(name string) (int64, bool) {
	return recall(c.young.sequences, c.old.sequences, name, c.keepSequence)
}

// owner returns the record that has a unique key, if it is remembered and still has
// the key.
func (c *cache) owner(t *Table, i int, key string) (Key, bool) {
	owner, ok := recall(c.young.owners, c.old.owners, key, c.keepOwner)
	if !ok {
		return owner, false
	}
	s, ok := c.record(owner)
	if !ok || s.Record.Version == 0 {
		return owner, false
	}
	has, ok := t.keyOf(i, &s.Record)
	return owner, ok && has == key
}

// keep remembers a record as it is committed.
func (c *cache) keep(key Key, s State) {
	c.makeRoom(1)
	c.keepRecord(key, s)
}

// The following remember a value for which there is room.

func (c *cache) keepRecord(key Key, s State) {
	c.name(key.hash(), cached{record: key})
	set(&c.young.records, key, s)
	c.young.bytes += len(s.Record.Data)
}

func (c *cache) keepOwner(key string, owner Key) { set(&c.young.owners, key, owner) }

func (c *cache) keepAccount(name string, a Account) {
	c.name(accountHash(name), cached{account: name})
	set(&c.young.accounts, name, a)
}

func (c *cache) keepSequence(name string, n int64) {
	c.name(sequenceHash(name), cached{sequence: name})
	set(&c.young.sequences, name, n)
}

// take remembers what a batch has committed, but for records that are new: most are
// events and answers, which are never written again.
func (c *cache) take(w *writeSet) {
	c.makeRoom(len(w.records.keys) + len(w.accounts.keys) + len(w.sequences.keys))
	for i := range w.records.keys {
		key, s := w.records.keys[i], w.records.values[i]
		if s.Record.Version == 1 {
			c.changed(key.hash()) // the cache may know it as absent
			continue
		}
		c.keepRecord(key, s)
	}
	for i, name := range w.accounts.keys {
		c.keepAccount(name, w.accounts.values[i])
	}
	for i, name := range w.sequences.keys {
		c.keepSequence(name, w.sequences.values[i].Value)
	}
}
