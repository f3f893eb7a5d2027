package sqlstore

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/storage"
)

// Statement is a statement that writes rows of one table. [Driver].Prepare makes SQL of it.
type Statement struct {
	Verb  Verb
	Table string // quoted, with its schema
	// Set are the columns that get a value. Key are those by which an Update, an Upsert or a Delete finds
	// each row. If an Update or a Delete does not find a row, it fails with an error of class [Transient].
	Set, Key []WriteColumn
	// Merge is the SET list of an Upsert for a row that is there. The row is t, and excluded has what Set
	// and Key say.
	Merge string
	// Join, unless it is "", is a table with its schema, of which each row of an Insert has a row a. Its name is
	// the first parameter. If one is not there, the statement fails with an error of class [Transient].
	Join string
	// SQL is what the driver has made of it.
	SQL any
}

// Verb says what a [Statement] does with each row.
type Verb int

// The verbs, in the order in which a transaction writes: a unique key is free before another row
// takes it.
const (
	Delete Verb = iota
	Update
	Upsert // inserts the row, or changes the one that is there
	Insert
)

// WriteColumn is a column of a [Statement], or, in its Key without a Name, a condition on the row t.
type WriteColumn struct {
	Name string       // quoted
	Type storage.Type // of the parameter; 0 for bytes
	// expression, unless it is "", is that of the value or the condition. A question mark in it stands for the
	// parameter.
	expression string
}

// Condition returns the condition of a Key with a parameter.
func (c *WriteColumn) Condition(parameter string) string {
	if c.Name == "" {
		return c.Value(parameter)
	}
	return "t." + c.Name + " = " + c.Value(parameter)
}

// Value returns the expression of the column's value with a parameter.
func (c *WriteColumn) Value(parameter string) string {
	if c.expression == "" {
		return parameter
	}
	return strings.Replace(c.expression, "?", parameter, 1)
}

// prepare returns a statement with the driver's SQL.
func (s *Store) prepare(verb Verb, table string, set, key []WriteColumn) *Statement {
	st := &Statement{Verb: verb, Table: table, Set: set, Key: key}
	s.driver.Prepare(st)
	return st
}

// prepareWrites sets the statements that write a table.
func (s *Store) prepareWrites(t *Table) {
	id := []WriteColumn{{Name: "merchant", Type: storage.Text}, {Name: "live", Type: storage.Bool}, {Name: "id", Type: storage.Text}}
	version, lease := WriteColumn{Name: "version", Type: storage.Int}, WriteColumn{Name: "lease", Type: storage.Int}
	key, values := append(slices.Clone(id), version), []WriteColumn{version}
	if t.due >= 0 {
		values = append(values, lease)
		t.Lease = s.prepare(Update, t.Name, slices.Clone(values), key)
	}
	for _, c := range t.Kind.Columns {
		values = append(values, WriteColumn{Name: Quote(c.Name), Type: c.Type})
	}
	values = append(values, WriteColumn{Name: "data"})
	insert := slices.Concat(id, values)
	if t.Kind.Ordered {
		number := WriteColumn{Name: "number", Type: storage.Int}
		t.InsertAt = s.prepare(Insert, t.Name, append(slices.Clone(insert), number), nil)
		number.expression = "(SELECT last FROM " + s.tableName("storage_order") + " WHERE one = 1) - ?"
		insert = append(insert, number)
	}
	t.Insert = s.prepare(Insert, t.Name, insert, nil)
	t.Replace = s.prepare(Update, t.Name, values, key)
	t.Remove = s.prepare(Delete, t.Name, nil, key)
}

// ledgerWrites holds the statements that write the ledger, the sequences and the order of records.
type ledgerWrites struct {
	// takeNumbers takes the next numbers for new records of Ordered kinds, whose inserts follow. They are
	// greater than all before, and than those that records came with. They are at least the time, so that
	// none is given again after the database was restored to an earlier state.
	takeNumbers *Statement

	insertAccounts, updateAccounts, insertPostings, insertEntries, insertSequences, updateSequences *Statement
}

func (s *Store) newLedgerWrites() (w ledgerWrites) {
	text := func(name string) WriteColumn { return WriteColumn{Name: name, Type: storage.Text} }
	number := func(name string) WriteColumn { return WriteColumn{Name: name, Type: storage.Int} }
	type columns = []WriteColumn
	accounts, sequences := s.tableName("ledger_accounts"), s.tableName("storage_sequences")
	guarded := WriteColumn{Name: "guarded", Type: storage.Bool}
	w.insertAccounts = s.prepare(Insert, accounts, columns{text("name"), guarded, number("balance"), number("entries")}, nil)
	// The server adds, so that the balance is right whatever was posted since it was read.
	with := func(c WriteColumn, expression string) WriteColumn {
		c.expression = expression
		return c
	}
	w.updateAccounts = s.prepare(Update, accounts, columns{with(number("balance"), "t.balance + ?"), with(number("entries"), "t.entries + ?")},
		columns{text("name"), guarded, with(number(""), "(NOT t.guarded OR t.balance + ? >= 0)")})
	w.insertPostings = s.prepare(Insert, s.tableName("ledger_postings"), columns{text("id"), text("type"), text("ref"), number("at")}, nil)
	w.insertEntries = &Statement{Verb: Insert, Table: s.tableName("ledger_entries"), Join: accounts, Set: columns{
		with(text("account"), "a.id"), with(number("number"), "a.entries - ?"), text("posting"), number("amount"), with(number("balance"), "a.balance - ?"),
	}}
	s.driver.Prepare(w.insertEntries)
	w.insertSequences = s.prepare(Insert, sequences, columns{text("name"), number("value")}, nil)
	w.takeNumbers = &Statement{
		Verb: Upsert, Table: s.tableName("storage_order"), Key: columns{number("one")},
		Set:   columns{with(number("last"), s.Greatest+"("+s.Clock+", ?)"), number("taken")},
		Merge: "last = " + s.Greatest + "(t.last, excluded.last) + excluded.taken",
	}
	s.driver.Prepare(w.takeNumbers)
	w.updateSequences = s.prepare(Update, sequences, columns{number("value")}, columns{text("name"), number("value")})
	return w
}

// Writes are the rows that a write set sends to the database.
type Writes struct {
	// Statements are in the order in which the driver sends them.
	Statements []*Rows
	// Hashes cover all changes of the transaction, for the commit log; nil stands for
	// everything.
	Hashes Hashes
}

// Rows are the rows of one statement.
type Rows struct {
	*Statement
	Count  int
	append func(to []any, i int) []any
}

// Append appends the parameters of row i: those of Set, and then those of Key.
func (r *Rows) Append(to []any, i int) []any { return r.append(to, i) }

// numbers are the numbers that a transaction gives to new records of Ordered kinds.
type numbers struct {
	taken int64 // how many of the next numbers
	given int64 // the highest number that a record came with
}

func (w *Writes) add(s *Statement, count int, row func(to []any, i int) []any) {
	if count > 0 {
		w.Statements = append(w.Statements, &Rows{s, count, row})
	}
}

// newWrites returns the writes of a set that the database lacks.
func (s *Store) newWrites(set *writeSet, changed *hashSet) *Writes {
	w := &Writes{}
	if n := w.addRecords(set, changed); n != (numbers{}) {
		w.add(s.ledgerWrites.takeNumbers, 1, func(to []any, _ int) []any { return append(to, n.given, n.taken, int64(1)) })
	}
	accounts, newAccounts := unwritten(&set.accounts, func(a *Account) bool { return a.StoredEntries == 0 })
	w.add(s.ledgerWrites.updateAccounts, len(accounts), func(to []any, i int) []any {
		a := accounts[i]
		return append(to, a.Amount-a.StoredAmount, a.Entries-a.StoredEntries, a.Account, a.Guarded, a.Lowest-a.StoredAmount)
	})
	w.add(s.ledgerWrites.insertAccounts, len(newAccounts), func(to []any, i int) []any {
		a := newAccounts[i]
		return append(to, a.Account, a.Guarded, a.Amount, a.Entries)
	})
	w.add(s.ledgerWrites.insertPostings, len(set.postings.unwritten), func(to []any, i int) []any {
		p := &set.postings.values[set.postings.unwritten[i]]
		return append(to, p.ID, p.Type, p.Ref, p.At.UnixMilli())
	})
	// The entries of an account go together.
	slices.SortFunc(set.entries, func(a, b storage.Entry) int {
		return cmp.Or(strings.Compare(a.Account, b.Account), cmp.Compare(a.Number, b.Number))
	})
	w.add(s.ledgerWrites.insertEntries, len(set.entries), func(to []any, i int) []any {
		e := &set.entries[i]
		a := set.accounts.find(e.Account)
		return append(to, e.Account, a.Entries-e.Number, e.Posting, e.Amount, a.Amount-e.Balance)
	})
	sequences, newSequences := unwritten(&set.sequences, func(s *Sequence) bool { return s.StoredValue == 0 })
	w.add(s.ledgerWrites.updateSequences, len(sequences), func(to []any, i int) []any {
		q := sequences[i]
		return append(to, q.Value, q.Name, q.StoredValue)
	})
	w.add(s.ledgerWrites.insertSequences, len(newSequences), func(to []any, i int) []any {
		return append(to, newSequences[i].Name, newSequences[i].Value)
	})
	for _, i := range set.accounts.unwritten {
		changed.add(accountRef(set.accounts.keys[i]))
	}
	for _, i := range set.sequences.unwritten {
		changed.add(sequenceRef(set.sequences.keys[i]))
	}
	w.Hashes = changed.list()
	slices.SortStableFunc(w.Statements, func(a, b *Rows) int { return cmp.Compare(a.Verb, b.Verb) })
	return w
}

// unwritten returns the values that the database lacks: those that it has otherwise, and the new ones.
func unwritten[V any](in *orderedMap[string, V], isNew func(*V) bool) (changed, added []*V) {
	for _, i := range in.unwritten {
		if v := &in.values[i]; isNew(v) {
			added = append(added, v)
		} else {
			changed = append(changed, v)
		}
	}
	return changed, added
}

// addRecords adds the records that the database lacks, by statement, and returns the numbers that they need.
func (w *Writes) addRecords(set *writeSet, changed *hashSet) numbers {
	n := &numbers{}
	positions := map[*Statement][]int{}
	var statements []*Statement
	for _, i := range set.records.unwritten {
		changed.add(recordRef(set.records.keys[i]))
		for _, s := range set.records.values[i].statements() {
			if s == nil {
				continue
			}
			if positions[s] == nil {
				statements = append(statements, s)
			}
			positions[s] = append(positions[s], i)
		}
	}
	for _, s := range statements {
		at := positions[s]
		first := n.taken
		switch t := set.records.values[at[0]].Table; {
		case !t.Kind.Ordered:
		case s == t.Insert:
			slices.SortFunc(at, func(a, b int) int {
				return cmp.Compare(set.records.values[a].inserted, set.records.values[b].inserted)
			})
			n.taken += int64(len(at))
		case s == t.InsertAt:
			for _, i := range at {
				n.given = max(n.given, set.records.values[i].Record.Number)
			}
		}
		w.add(s, len(at), func(to []any, i int) []any {
			r := &set.records.values[at[i]]
			to = r.appendRow(to, s, &set.records.keys[at[i]])
			switch {
			case !r.Table.Kind.Ordered:
			case s == r.Table.Insert:
				to = append(to, n.taken-first-int64(i)-1) // so far below the last of the numbers
			case s == r.Table.InsertAt:
				to = append(to, r.Record.Number)
			}
			return to
		})
	}
	return *n
}

// statements returns the statements that write the record, nil for none. A record that was deleted
// and inserted again needs both: its old keys are then free before another record takes them.
func (s *RecordState) statements() (all [2]*Statement) {
	switch t := s.Table; {
	case s.Record.Version == 0 && s.StoredVersion == 0:
	case s.Record.Version == 0:
		all[0] = t.Remove
	case s.StoredVersion == 0:
		all[0] = s.insertStatement()
	case s.reinserted:
		all[0], all[1] = t.Remove, s.insertStatement()
	case s.LeaseOnly:
		all[0] = t.Lease
	default:
		all[0] = t.Replace
	}
	return all
}

func (s *RecordState) insertStatement() *Statement {
	if s.Record.Number > 0 {
		return s.Table.InsertAt
	}
	return s.Table.Insert
}

// appendRow appends the parameters of the statement that writes the record.
func (s *RecordState) appendRow(to []any, by *Statement, key *RecordKey) []any {
	t := s.Table
	inserts := by == t.Insert || by == t.InsertAt
	if inserts {
		to = append(to, key.Scope.Merchant, key.Scope.Live, key.ID)
	}
	if by != t.Remove {
		to = append(to, s.Record.Version)
		if t.due >= 0 {
			to = append(to, s.Lease)
		}
	}
	if inserts || by == t.Replace {
		for _, v := range s.Record.Columns {
			to = append(to, Encode(v))
		}
		to = append(to, s.Record.Data)
	}
	if !inserts {
		to = append(to, key.Scope.Merchant, key.Scope.Live, key.ID, s.StoredVersion)
	}
	return to
}

// hashSet are the hashes of what a transaction reads or changes. Other processes evict from their caches what
// has these hashes. A collision evicts too much, or lets a function run again, which does no harm.
type hashSet struct {
	disabled   bool // the driver keeps no commit log
	everything bool // too many, or a change of tables
	hashes     map[int64]bool
}

// maxHashes bounds the hashes of one commit.
const maxHashes = 4096

func (c *hashSet) add(v cacheRef) {
	if c.everything || c.disabled {
		return
	}
	if len(c.hashes) >= maxHashes {
		c.everything, c.hashes = true, nil
		return
	}
	putMap(&c.hashes, int64(v.hash()), true)
}

// list returns the hashes; nil for everything.
func (c *hashSet) list() Hashes {
	if c.everything || c.disabled {
		return nil
	}
	all := make(Hashes, 0, len(c.hashes))
	for h := range c.hashes {
		all = append(all, h)
	}
	return all
}

// changedBy reports whether the commits of a log have changed any of these.
func (c *hashSet) changedBy(log CommitLog) bool {
	if !log.Found {
		return true
	}
	for _, changed := range log.Changed {
		if changed == nil || c.everything {
			return true
		}
		for _, h := range changed {
			if c.hashes[h] {
				return true
			}
		}
	}
	return false
}
