package sqlstore

import "github.com/seed-7082ffec/payments/storage"

// Fetch names committed records, accounts and sequences. [Driver].BeginWrite reads them in
// the round trip that takes the lock, as of the newest commit.
type Fetch struct {
	Records   map[*Table][]RecordKey
	Accounts  []string
	Sequences []string

	// values are the named ones, as absent until their rows are added.
	values map[cacheRef]any
}

// maxFetched bounds the values that one round trip fetches.
const maxFetched = 1024

// add names a value. table is nil unless it is a record.
func (f *Fetch) add(v cacheRef, table *Table) {
	if _, twice := f.values[v]; twice || len(f.values) == maxFetched {
		return
	}
	var absent any
	switch v.what {
	case anAccount:
		f.Accounts = append(f.Accounts, v.name)
		absent = Account{Balance: storage.Balance{Account: v.name}}
	case aSequence:
		f.Sequences = append(f.Sequences, v.name)
		absent = int64(0)
	default:
		putMap(&f.Records, table, append(f.Records[table], v.record))
		absent = RecordState{Table: table}
	}
	putMap(&f.values, v, absent)
}

// AddRecord adds a row of [Table.Columns].
func (f *Fetch) AddRecord(t *Table, row Row) error {
	r, err := DecodeRow(row, t.Kind, t.Kind.Columns, nil)
	if err == nil {
		f.values[recordRef(RecordKey{t.Kind.Name, r.Scope, r.ID})] = RecordState{Table: t, Record: r, StoredVersion: r.Version}
	}
	return err
}

// AddAccount adds a row of a name, whether it is guarded, its balance, and its number of
// entries.
func (f *Fetch) AddAccount(row Row) error {
	b, err := scanBalance(row)
	f.values[accountRef(b.Account)] = storedAccount(b)
	return err
}

// AddSequence adds a row of a name and a value.
func (f *Fetch) AddSequence(row Row) error {
	s, err := scanSequence(row)
	f.values[sequenceRef(s.Name)] = s.Value
	return err
}

// storeFetched caches the values that were fetched as of the cache's commit.
func (c *cache) storeFetched(f *Fetch) {
	c.makeRoom(len(f.values))
	for v, value := range f.values {
		c.store(v, value)
	}
}

const (
	// maxContended bounds the values that every batch fetches with the lock.
	maxContended = 512
	// maxEvicted bounds the values of which the cache notes that another process changed them.
	maxEvicted = 4096
	// contendedRounds is for how many locks in a row a value is fetched that no function reads.
	contendedRounds = 32
)

// contention notes which values this process reads and other processes change. A batch
// that takes the lock fetches them in the same round trip. Otherwise its functions would
// read them one by one, while all other processes wait.
type contention struct {
	round     int // counts the locks
	evicted   map[cacheRef]bool
	contended map[cacheRef]*contendedValue
}

type contendedValue struct {
	table    *Table
	lastRead int // the round
}

// noteEvicted notes that another process changed a cached value.
func (c *contention) noteEvicted(v cacheRef) {
	if len(c.evicted) >= maxEvicted {
		clear(c.evicted)
	}
	putMap(&c.evicted, v, true)
}

// noteRead notes that a function read a value.
func (c *contention) noteRead(v cacheRef) {
	if len(c.contended) == 0 {
		return
	}
	if known := c.contended[v]; known != nil {
		known.lastRead = c.round
	}
}

// noteMissing notes that a function needs a value that is not cached.
func (c *contention) noteMissing(v cacheRef, table *Table) {
	if c.evicted[v] && len(c.contended) < maxContended {
		delete(c.evicted, v)
		putMap(&c.contended, v, &contendedValue{table, c.round})
	}
}

// wantedValues are values that a batch needs and that are not cached. The table is nil
// unless the value is a record.
type wantedValues map[cacheRef]*Table

// newFetch returns what the next lock fetches: the wanted values and the contended ones.
func (w *writer) newFetch() *Fetch {
	f := &Fetch{}
	if !w.store.Remote {
		return f
	}
	add := func(v cacheRef, table *Table) {
		if table != nil {
			// The kind may have been defined anew, with other columns.
			if now, err := w.store.Table(table.Kind); err != nil || now != table {
				return
			}
		}
		f.add(v, table)
	}
	for v, table := range w.wanted {
		add(v, table)
	}
	c := &w.cache.contention
	c.round++
	for v, known := range c.contended {
		if c.round-known.lastRead > contendedRounds {
			delete(c.contended, v)
			continue
		}
		add(v, known.table)
	}
	return f
}

// wantWrites wants the values that a batch has written, before it runs again.
func (w *writer) wantWrites(b *batch) {
	if !w.store.Remote || b.buffered == nil {
		return
	}
	for i, key := range b.buffered.records.keys {
		if s := &b.buffered.records.values[i]; s.StoredVersion > 0 {
			w.want(recordRef(key), s.Table)
		}
	}
	for _, name := range b.buffered.accounts.keys {
		w.want(accountRef(name), nil)
	}
	for _, name := range b.buffered.sequences.keys {
		w.want(sequenceRef(name), nil)
	}
}

func (w *writer) wantAll(values wantedValues) {
	for v, table := range values {
		w.want(v, table)
	}
}

func (w *writer) want(v cacheRef, table *Table) {
	if len(w.wanted) < maxFetched {
		if w.wanted == nil {
			w.wanted = wantedValues{}
		}
		w.wanted[v] = table
	}
}
