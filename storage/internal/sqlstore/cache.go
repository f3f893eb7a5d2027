package sqlstore

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
// The cache is right as of the commit in its field commit. A batch that takes the lock first
// reads under it which later commits there are, and evicts what they changed. Any other batch does so with the
// answer to its commit, which fails if its functions have read any of that.
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
	values    map[uint64]cachedValue // by the hash of its ref; of two with one hash, the later one
	keyOwners map[string]RecordKey   // by unique key, as of the time of the read
	bytes     int
}

// cachedValue is a RecordState, an Account, or the int64 of a sequence.
type cachedValue struct {
	ref   cacheRef
	value any
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
			for _, h := range hashes {
				c.evictChanged(uint64(h))
			}
		}
	}
	c.valid, c.commit = true, log.Newest
}

// makeRoom makes sure that n more values fit into the young generation.
func (c *cache) makeRoom(n int) {
	if len(c.young.values)+n > maxCached || c.young.bytes > maxCachedBytes || len(c.young.keyOwners) > maxCached {
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
		if v, ok := g.values[hash]; ok {
			c.contention.noteEvicted(v.ref)
			g.evict(hash)
		}
	}
}

func (g *generation) evict(hash uint64) {
	if s, ok := g.values[hash].value.(RecordState); ok {
		g.bytes -= len(s.Record.Data)
	}
	delete(g.values, hash)
}

// cached finds a value in either generation and moves it to the young one.
func cached[V any](c *cache, ref cacheRef) (value V, ok bool) {
	c.contention.noteRead(ref)
	hash := ref.hash()
	v, young := c.young.values[hash]
	if !young {
		v = c.old.values[hash]
	}
	if v.ref != ref {
		return value, false
	}
	if value, ok = v.value.(V); ok && !young {
		c.store(ref, v.value)
	}
	return value, ok
}

func (c *cache) record(key RecordKey) (RecordState, bool) {
	return cached[RecordState](c, recordRef(key))
}

func (c *cache) account(name string) (Account, bool) { return cached[Account](c, accountRef(name)) }

func (c *cache) sequence(name string) (int64, bool) { return cached[int64](c, sequenceRef(name)) }

// keyOwner returns the record that has a unique key, if both are cached and agree.
func (c *cache) keyOwner(t *Table, i int, key string) (RecordKey, bool) {
	owner, ok := c.young.keyOwners[key]
	if !ok {
		if owner, ok = c.old.keyOwners[key]; !ok {
			return owner, false
		}
		c.storeKeyOwner(key, owner)
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
	c.store(recordRef(key), s)
}

// store caches a value after makeRoom.
func (c *cache) store(ref cacheRef, value any) {
	hash := ref.hash()
	c.evict(hash)
	putMap(&c.young.values, hash, cachedValue{ref, value})
	if s, ok := value.(RecordState); ok {
		c.young.bytes += len(s.Record.Data)
	}
}

// done reports whether a record of a kind with due work waits for no worker. Records of one
// queue wait for their removal alone.
func (s *RecordState) done() bool {
	t := s.Table
	return t.due >= 0 && (t.Kind.OneQueue || s.Record.Columns[t.due] == nil)
}

// lacksNumber reports whether the database has given the record a number, which is not known here.
func (s *RecordState) lacksNumber() bool {
	return s.Table.Kind.Ordered && s.Record.Version > 0 && s.Record.Number == 0
}

func (c *cache) storeKeyOwner(key string, owner RecordKey) { putMap(&c.young.keyOwners, key, owner) }

// merge caches the writes of a committed batch, except new records that are done: most of
// those are events and idempotency answers, which are never written again.
func (c *cache) merge(w *writeSet) {
	c.makeRoom(len(w.records.keys) + len(w.accounts.keys) + len(w.sequences.keys))
	for i := range w.records.keys {
		key, s := w.records.keys[i], w.records.values[i]
		if s.Record.Version == 1 && s.done() || s.lacksNumber() {
			c.evict(recordRef(key).hash()) // the cache may hold it as absent, or as it was
			continue
		}
		c.store(recordRef(key), s)
	}
	for i, name := range w.accounts.keys {
		c.store(accountRef(name), w.accounts.values[i])
	}
	for i, name := range w.sequences.keys {
		c.store(sequenceRef(name), w.sequences.values[i].Value)
	}
}
