package sqlstore

import "encoding/binary"

const (
	// maxCached bounds the records, accounts and sequences of a generation of the
	// cache, and maxCachedBytes the total length of its documents.
	maxCached      = 32768
	maxCachedBytes = 16 << 20
)

// cache holds part of the committed state in memory, so that the writer does not read a
// busy merchant, code or account again for every payment. The call that has the write
// turn owns it.
//
// The cache is right as of the commit in its field commit. The first call of a batch
// reads, under the lock, which later commits there are, and evicts what they changed.
//
// When the young generation is full, it becomes the old one, and the old one is dropped.
// A read moves a value to the young generation, so busy records stay.
type cache struct {
	valid  bool // whether commit is set
	commit Commit

	young, old generation
	contention contention
}

type generation struct {
	records   map[RecordKey]RecordState
	keyOwners map[string]RecordKey // by unique key, as of the time of the read
	accounts  map[string]Account
	sequences map[string]int64
	bytes     int
	byHash    map[uint64]cacheRef
}

// cacheRef names the cached value that has a hash.
type cacheRef struct {
	record            RecordKey
	account, sequence string
}

// clear drops all values. It keeps the commit, so that advance can find it missing in the
// history.
func (c *cache) clear() { *c = cache{commit: c.commit, contention: c.contention} }

// advance moves the cache to the newest commit of a log, and evicts what has changed
// since.
func (c *cache) advance(log CommitLog) {
	forget := !c.valid || !log.Found
	for _, hashes := range log.Changed {
		forget = forget || hashes == nil
	}
	if forget {
		c.clear()
	} else {
		for _, hashes := range log.Changed {
			for ; len(hashes) >= 8; hashes = hashes[8:] {
				c.evictChanged(binary.BigEndian.Uint64(hashes))
			}
		}
	}
	c.valid, c.commit = true, log.Newest
}

// makeRoom makes sure that n more values fit into the young generation.
func (c *cache) makeRoom(n int) {
	if len(c.young.byHash)+n > maxCached || c.young.bytes > maxCachedBytes || len(c.young.keyOwners) > maxCached {
		c.old, c.young = c.young, generation{}
	}
}

// evict removes the value that has a hash.
func (c *cache) evict(hash uint64) {
	c.young.evict(hash)
	c.old.evict(hash)
}

// evictChanged removes the value that has a hash, because another process changed it.
func (c *cache) evictChanged(hash uint64) {
	for _, g := range []*generation{&c.young, &c.old} {
		if v, ok := g.byHash[hash]; ok {
			c.contention.noteEvicted(v)
			g.evict(hash)
		}
	}
}

func (g *generation) evict(hash uint64) {
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

// setHash notes which value a hash stands for, and evicts the one before.
func (c *cache) setHash(hash uint64, f cacheRef) {
	c.evict(hash)
	putMap(&c.young.byHash, hash, f)
}

// promote finds a value in either generation and moves it to the young one.
func promote[K comparable, V any](young, old map[K]V, key K, keep func(K, V)) (V, bool) {
	v, ok := young[key]
	if ok {
		return v, true
	}
	if v, ok = old[key]; ok {
		keep(key, v)
	}
	return v, ok
}

func (c *cache) record(key RecordKey) (RecordState, bool) {
	c.contention.noteRead(cacheRef{record: key})
	return promote(c.young.records, c.old.records, key, c.storeRecord)
}

func (c *cache) account(name string) (Account, bool) {
	c.contention.noteRead(cacheRef{account: name})
	return promote(c.young.accounts, c.old.accounts, name, c.storeAccount)
}

func (c *cache) sequence(name string) (int64, bool) {
	c.contention.noteRead(cacheRef{sequence: name})
	return promote(c.young.sequences, c.old.sequences, name, c.storeSequence)
}

// keyOwner returns the record that has a unique key, if both are cached and agree.
func (c *cache) keyOwner(t *Table, i int, key string) (RecordKey, bool) {
	owner, ok := promote(c.young.keyOwners, c.old.keyOwners, key, c.storeKeyOwner)
	if !ok {
		return owner, false
	}
	s, ok := c.record(owner)
	if !ok || s.Record.Version == 0 {
		return owner, false
	}
	has, ok := t.uniqueKey(i, &s.Record)
	return owner, ok && has == key
}

// putRecord caches a committed record.
func (c *cache) putRecord(key RecordKey, s RecordState) {
	c.makeRoom(1)
	c.storeRecord(key, s)
}

// The following methods cache a value after makeRoom.

func (c *cache) storeRecord(key RecordKey, s RecordState) {
	c.setHash(key.hash(), cacheRef{record: key})
	putMap(&c.young.records, key, s)
	c.young.bytes += len(s.Record.Data)
}

// done reports whether a record of a kind with due work waits for no worker. Records of one
// queue wait for their removal alone.
func (s *RecordState) done() bool {
	t := s.Table
	return t.due >= 0 && (t.Kind.OneQueue || s.Record.Columns[t.due] == nil)
}

func (c *cache) storeKeyOwner(key string, owner RecordKey) { putMap(&c.young.keyOwners, key, owner) }

func (c *cache) storeAccount(name string, a Account) {
	c.setHash(accountHash(name), cacheRef{account: name})
	putMap(&c.young.accounts, name, a)
}

func (c *cache) storeSequence(name string, n int64) {
	c.setHash(sequenceHash(name), cacheRef{sequence: name})
	putMap(&c.young.sequences, name, n)
}

// merge caches the writes of a committed batch, except new records that are done: most of
// those are events and idempotency answers, which are never written again.
func (c *cache) merge(w *writeSet) {
	c.makeRoom(len(w.records.keys) + len(w.accounts.keys) + len(w.sequences.keys))
	for i := range w.records.keys {
		key, s := w.records.keys[i], w.records.values[i]
		if s.Record.Version == 1 && s.done() {
			c.evict(key.hash()) // the cache may hold it as absent
			continue
		}
		c.storeRecord(key, s)
	}
	for i, name := range w.accounts.keys {
		c.storeAccount(name, w.accounts.values[i])
	}
	for i, name := range w.sequences.keys {
		c.storeSequence(name, w.sequences.values[i].Value)
	}
}
