package sqlstore

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/storage"
)

// ledgerSQL holds the statements that read the ledger and the sequences.
type ledgerSQL struct {
	accounts          func(n int) string
	allAccounts       string
	entries           string
	firstEntries      func(n int) string
	posting, postings string
	sequence          string
	sequences         string
	postingExists     string
}

func newLedgerSQL(d *Dialect) ledgerSQL {
	accounts, postings, entries := d.tableName("ledger_accounts"), d.tableName("ledger_postings"), d.tableName("ledger_entries")
	one, two, three := d.Parameter(1), d.Parameter(2), d.Parameter(3)
	balances := "SELECT name, guarded, balance, entries FROM " + accounts
	booked := func(which string) string {
		return "SELECT p.id, p.type, p.ref, p.at, a.name, e.number, e.amount, e.balance FROM (SELECT * FROM " + postings + which + ") AS p " +
			d.OrderedJoin + " " + entries + " AS e ON e.posting = p.id " + d.OrderedJoin + " " + accounts + " AS a ON a.id = e.account ORDER BY p.id, a.name"
	}
	return ledgerSQL{
		accounts: func(n int) string {
			names := make([]string, n)
			for i := range names {
				names[i] = d.Parameter(i + 1)
			}
			return balances + " WHERE name IN (" + strings.Join(names, ", ") + ")"
		},
		allAccounts: balances + " WHERE name > " + one + " ORDER BY name LIMIT " + d.Limit(two),
		entries: "SELECT e.number, e.amount, e.balance, p.id, p.type, p.ref, p.at FROM " + entries + " AS e " + d.OrderedJoin + " " + postings +
			" AS p ON p.id = e.posting WHERE e.account = (SELECT id FROM " + accounts + " WHERE name = " + one + ") AND e.number < " + two +
			" ORDER BY e.number DESC LIMIT " + d.Limit(three),
		firstEntries: func(n int) string {
			names := make([]string, n)
			for i := range names {
				names[i] = d.Parameter(i + 2)
			}
			return "SELECT a.name, e.number, e.amount, e.balance, p.id, p.type, p.ref, p.at FROM " + accounts + " AS a " + d.OrderedJoin + " " + entries +
				" AS e ON e.account = a.id AND e.number <= " + one + " " + d.OrderedJoin + " " + postings +
				" AS p ON p.id = e.posting WHERE a.name IN (" + strings.Join(names, ", ") + ") ORDER BY a.name, e.number"
		},
		posting:       booked(" WHERE id = " + one),
		postings:      booked(" WHERE id > " + one + " ORDER BY id LIMIT " + d.Limit(two)),
		sequence:      "SELECT value FROM " + d.tableName("storage_sequences") + " WHERE name = " + one,
		sequences:     "SELECT name, value FROM " + d.tableName("storage_sequences") + " WHERE name > " + one + " ORDER BY name LIMIT " + d.Limit(two),
		postingExists: "SELECT 1 FROM " + postings + " WHERE id = " + one,
	}
}

// Balance implements [storage.ReadTx].
func (t *readTx) Balance(name string) (storage.Balance, error) {
	if err := t.usable(); err != nil {
		return storage.Balance{}, err
	}
	b := storage.Balance{Account: name}
	all, err := t.balances([]string{name})
	if err != nil {
		return storage.Balance{}, err
	}
	if len(all) > 0 {
		b = all[0]
	}
	return b, nil
}

// balances reads those of the named accounts that exist.
func (t *readTx) balances(names []string) ([]storage.Balance, error) {
	args := make([]any, len(names))
	for i, name := range names {
		if !t.store.validText(name) {
			return nil, t.store.errInvalidText("account")
		}
		args[i] = name
	}
	return t.accounts(t.store.ledger.accounts(len(names)), args...)
}

func (t *readTx) accounts(query string, args ...any) ([]storage.Balance, error) {
	return collect(t, "accounts", scanBalance, query, args...)
}

func scanBalance(row Row) (b storage.Balance, err error) {
	err = row.Scan(&b.Account, &b.Guarded, &b.Amount, &b.Entries)
	return b, err
}

// Balances implements [storage.ReadTx].
func (t *readTx) Balances(after string, limit int) ([]storage.Balance, error) {
	if err := t.flushBefore(flushLedger); err != nil || limit < 1 {
		return nil, err
	}
	return t.accounts(t.store.ledger.allAccounts, t.store.cursorText(after), limit)
}

// Entries implements [storage.ReadTx].
func (t *readTx) Entries(name string, before int64, limit int) ([]storage.Entry, error) {
	if err := t.flushBefore(flushLedger); err != nil || limit < 1 || !t.store.validText(name) {
		return nil, err
	}
	if before == 0 {
		before = math.MaxInt64
	}
	return collect(t, "entries", func(row Row) (storage.Entry, error) {
		e, at := storage.Entry{Account: name}, int64(0)
		err := row.Scan(&e.Number, &e.Amount, &e.Balance, &e.Posting, &e.Type, &e.Ref, &at)
		e.At = fromMillis(at)
		return e, err
	}, t.store.ledger.entries, name, before, limit)
}

// accountsAtOnce is how many accounts one statement reads the entries of.
const accountsAtOnce = 128

// FirstEntries implements [storage.EntriesReader].
func (t *readTx) FirstEntries(names []string, upTo int64) ([]storage.Entry, error) {
	if err := t.flushBefore(flushLedger); err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !t.store.validText(name) })
	slices.Sort(names)
	var all []storage.Entry
	for part := range slices.Chunk(slices.Compact(names), accountsAtOnce) {
		if err := t.usable(); err != nil {
			return nil, err
		}
		args := []any{upTo}
		for i := 0; i < len(part) || i&(i-1) != 0; i++ { // some lengths, so that there are few statements
			args = append(args, part[min(i, len(part)-1)])
		}
		entries, err := collect(t, "entries", func(row Row) (e storage.Entry, err error) {
			var at int64
			err = row.Scan(&e.Account, &e.Number, &e.Amount, &e.Balance, &e.Posting, &e.Type, &e.Ref, &at)
			e.At = fromMillis(at)
			return e, err
		}, t.store.ledger.firstEntries(len(args)-1), args...)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	return all, nil
}

// Posting implements [storage.ReadTx].
func (t *readTx) Posting(id string) (storage.Booked, error) {
	if err := t.flushBefore(flushLedger); err != nil {
		return storage.Booked{}, err
	}
	if t.store.validText(id) {
		booked, err := t.booked(t.store.ledger.posting, id)
		if err != nil {
			return storage.Booked{}, err
		}
		if len(booked) > 0 {
			return booked[0], nil
		}
	}
	return storage.Booked{}, fmt.Errorf("%s: posting: %w", t.store.Name, storage.ErrNotFound)
}

// Postings implements [storage.ReadTx].
func (t *readTx) Postings(after string, limit int) ([]storage.Booked, error) {
	if err := t.flushBefore(flushLedger); err != nil || limit < 1 {
		return nil, err
	}
	return t.booked(t.store.ledger.postings, t.store.cursorText(after), limit)
}

// booked reads postings with their entries. The entries of a posting follow each other.
func (t *readTx) booked(query string, args ...any) ([]storage.Booked, error) {
	var all []storage.Booked
	err := t.query("read", "postings", func(row Row) error {
		var b storage.Booked
		var e storage.Entry
		var at int64
		if err := row.Scan(&b.ID, &b.Type, &b.Ref, &at, &e.Account, &e.Number, &e.Amount, &e.Balance); err != nil {
			return err
		}
		b.At = fromMillis(at)
		if len(all) == 0 || all[len(all)-1].ID != b.ID {
			all = append(all, b)
		}
		last := &all[len(all)-1]
		e.Posting, e.Type, e.Ref, e.At = last.ID, last.Type, last.Ref, last.At
		last.Entries = append(last.Entries, e)
		return nil
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Sequences implements [storage.ReadTx].
func (t *readTx) Sequences(after string, limit int) ([]storage.Sequence, error) {
	if err := t.flushBefore(""); err != nil || limit < 1 {
		return nil, err
	}
	return collect(t, "sequences", scanSequence, t.store.ledger.sequences, t.store.cursorText(after), limit)
}

func scanSequence(row Row) (s storage.Sequence, err error) {
	err = row.Scan(&s.Name, &s.Value)
	return s, err
}

// Balance implements [storage.ReadTx].
func (t *tx) Balance(name string) (storage.Balance, error) {
	if err := t.usable(); err != nil {
		return storage.Balance{}, err
	}
	if err := t.loadAccounts([]string{name}); err != nil {
		return storage.Balance{}, err
	}
	t.noteRead(accountRef(name))
	a, _ := t.account(name)
	return a.Balance, nil
}

// account returns a buffered or cached account.
func (t *tx) account(name string) (Account, bool) {
	a, inPrevious := findBuffered(t, func(w *writeSet) *orderedMap[string, Account] { return &w.accounts }, name)
	switch {
	case inPrevious:
		return a.afterWrite(), true
	case a != nil:
		return *a, true
	}
	return t.cache.account(name)
}

// loadAccounts caches accounts. The first query takes the lock, and may evict accounts that were cached before; so a
// second one may follow.
func (t *tx) loadAccounts(names []string) error {
	unknown := t.unknownAccounts(names)
	if len(unknown) > 0 && t.require != nil && t.store.validText(anyValues(unknown)...) {
		wanted := wantedValues{}
		for _, name := range unknown {
			wanted[accountRef(name)] = nil
		}
		if err := t.require(wanted); err != nil {
			return err
		}
		unknown = t.unknownAccounts(names)
	}
	for ; len(unknown) > 0; unknown = t.unknownAccounts(names) {
		all, err := t.balances(unknown)
		if err != nil {
			return err
		}
		for _, name := range unknown {
			t.cache.store(accountRef(name), Account{Balance: storage.Balance{Account: name}})
		}
		for _, b := range all {
			t.cache.store(accountRef(b.Account), storedAccount(b))
		}
	}
	return nil
}

// unknownAccounts returns those of the accounts that are neither buffered nor cached. The
// others stay cached until the next call.
func (t *tx) unknownAccounts(names []string) (unknown []string) {
	t.cache.makeRoom(len(names)) // first, because it may drop cached accounts
	for _, name := range names {
		if _, ok := t.account(name); !ok {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

func anyValues(texts []string) []any {
	values := make([]any, len(texts))
	for i, text := range texts {
		values[i] = text
	}
	return values
}

// Post implements [storage.Tx]. A refused posting writes nothing. A taken id is
// ErrExists, whether or not the posting could be booked otherwise.
func (t *tx) Post(p storage.Posting) error {
	if err := t.usable(); err != nil {
		return err
	}
	if err := p.Check(); err != nil {
		return err
	}
	if !t.store.validText(p.ID, p.Type, p.Ref) {
		return t.store.errInvalidText("posting")
	}
	names := make([]string, len(p.Moves))
	for i, m := range p.Moves {
		names[i] = m.Account
	}
	if t.isBuffered(p.ID) {
		return t.errPostingExists()
	}
	if t.mustCheck("ledger_postings") { // before the accounts are read: it may take the lock
		if err := t.checkPostingFree(p.ID, nil); err != nil {
			return err
		}
	} else {
		t.skippedCheck = true
	}
	if err := t.loadAccounts(names); err != nil {
		return err
	}
	accounts := make([]Account, len(p.Moves))
	for i, m := range p.Moves {
		a, _ := t.account(m.Account)
		var err error
		if a.Balance, err = storage.Apply(a.Balance, m); err != nil {
			t.noteRead(accountRef(m.Account)) // a posting that is not refused depends on no balance
			return t.checkPostingFree(p.ID, err)
		}
		a.Lowest = min(a.Lowest, a.Amount)
		accounts[i] = a
	}
	for i, a := range accounts {
		t.own.accounts.put(a.Account, a)
		t.own.entries = append(t.own.entries, storage.Entry{
			Account: a.Account, Number: a.Entries, Amount: p.Moves[i].Amount, Balance: a.Amount, Posting: p.ID,
		})
	}
	t.own.bytes += 256 * (1 + len(accounts))
	p.Moves = nil
	t.own.postings.put(p.ID, p)
	return t.afterWrite()
}

func (t *tx) isBuffered(id string) bool {
	p, _ := findBuffered(t, func(w *writeSet) *orderedMap[string, storage.Posting] { return &w.postings }, id)
	return p != nil
}

func (t *tx) errPostingExists() error {
	return fmt.Errorf("%s: posting: %w", t.store.Name, storage.ErrExists)
}

// checkPostingFree returns ErrExists if the database has the posting, else the given
// reason for which the posting cannot be booked.
func (t *tx) checkPostingFree(id string, reason error) error {
	taken := false
	err := t.query("read", "posting", func(Row) error {
		taken = true
		return nil
	}, t.store.ledger.postingExists, id)
	switch {
	case err != nil:
		return err
	case taken:
		return t.errPostingExists()
	case reason != nil:
		return fmt.Errorf("%s: posting: %w", t.store.Name, reason)
	}
	return nil
}

// sequence returns a buffered or cached sequence.
func (t *tx) sequence(name string) (Sequence, bool) {
	s, inPrevious := findBuffered(t, func(w *writeSet) *orderedMap[string, Sequence] { return &w.sequences }, name)
	if s != nil && !inPrevious {
		return *s, true
	}
	t.noteRead(sequenceRef(name))
	if inPrevious {
		return s.afterWrite(), true
	}
	n, ok := t.cache.sequence(name)
	return Sequence{storage.Sequence{Name: name, Value: n}, n}, ok
}

// updateSequence sets a sequence to next of its current value, and returns the new value.
// The write to the database compares the current value, so that no number is given twice
// even if the cache is wrong.
func (t *tx) updateSequence(name string, next func(current int64) int64) (int64, error) {
	if err := t.usable(); err != nil {
		return 0, err
	}
	if !t.store.validText(name) {
		return 0, t.store.errInvalidText("sequence")
	}
	s, ok := t.sequence(name)
	if !ok && t.require != nil {
		if err := t.require(wantedValues{sequenceRef(name): nil}); err != nil {
			return 0, err
		}
		s, ok = t.sequence(name)
	}
	if !ok {
		err := t.query("read", "sequence", func(row Row) error { return row.Scan(&s.Value) }, t.store.ledger.sequence, name)
		if err != nil {
			return 0, err
		}
		s.StoredValue = s.Value
	}
	s.Value = next(s.Value)
	t.own.sequences.put(name, s)
	t.own.bytes += 64 + len(name)
	return s.Value, t.afterWrite()
}

// Next implements [storage.Tx].
func (t *tx) Next(name string) (int64, error) {
	return t.updateSequence(name, func(current int64) int64 { return current + 1 })
}

// SetSequence implements [storage.Tx].
func (t *tx) SetSequence(name string, value int64) error {
	_, err := t.updateSequence(name, func(int64) int64 { return value })
	return err
}
