package sqlstore

import (
	"fmt"
	"math"
	"strings"

	"github.com/seed-7082ffec/payments/storage"
)

// ledgerSQL are the statements that read what does not depend on kinds.
type ledgerSQL struct {
	accounts          func(n int) string
	allAccounts       string
	entries           string
	posting, postings string
	sequence          string
	sequences         string
	existsPosting     string
}

func newLedgerSQL(d *Dialect) ledgerSQL {
	accounts, postings, entries := d.table("ledger_accounts"), d.table("ledger_postings"), d.table("ledger_entries")
	one, two, three := d.Parameter(1), d.Parameter(2), d.Parameter(3)
	balances := "SELECT name, guarded, balance, entries FROM " + accounts
	booked := func(which string) string {
		return "SELECT p.id, p.type, p.ref, p.at, a.name, e.number, e.amount, e.balance FROM (SELECT * FROM " + postings + which + ") AS p " +
			d.Straight + " " + entries + " AS e ON e.posting = p.id " + d.Straight + " " + accounts + " AS a ON a.id = e.account ORDER BY p.id, a.name"
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
		entries: "SELECT e.number, e.amount, e.balance, p.id, p.type, p.ref, p.at FROM " + entries + " AS e " + d.Straight + " " + postings +
			" AS p ON p.id = e.posting WHERE e.account = (SELECT id FROM " + accounts + " WHERE name = " + one + ") AND e.number < " + two +
			" ORDER BY e.number DESC LIMIT " + d.Limit(three),
		posting:       booked(" WHERE id = " + one),
		postings:      booked(" WHERE id > " + one + " ORDER BY id LIMIT " + d.Limit(two)),
		sequence:      "SELECT value FROM " + d.table("storage_sequences") + " WHERE name = " + one,
		sequences:     "SELECT name, value FROM " + d.table("storage_sequences") + " WHERE name > " + one + " ORDER BY name LIMIT " + d.Limit(two),
		existsPosting: "SELECT 1 FROM " + postings + " WHERE id = " + one,
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

// balances reads the accounts of these names that there are.
func (t *readTx) balances(names []string) ([]storage.Balance, error) {
	args := make([]any, len(names))
	for i, name := range names {
		if !t.store.storable(name) {
			return nil, t.store.errText("account")
		}
		args[i] = name
	}
	return t.accounts(t.store.ledger.accounts(len(names)), args...)
}

func (t *readTx) accounts(query string, args ...any) ([]storage.Balance, error) {
	var all []storage.Balance
	err := t.query("read", "accounts", func(row Row) error {
		var b storage.Balance
		err := row.Scan(&b.Account, &b.Guarded, &b.Amount, &b.Entries)
		all = append(all, b)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Balances implements [storage.ReadTx].
func (t *readTx) Balances(after string, limit int) ([]storage.Balance, error) {
	if err := t.settled(ledger); err != nil || limit < 1 {
		return nil, err
	}
	return t.accounts(t.store.ledger.allAccounts, t.store.cursor(after), limit)
}

// Entries implements [storage.ReadTx].
func (t *readTx) Entries(name string, before int64, limit int) ([]storage.Entry, error) {
	if err := t.settled(ledger); err != nil || limit < 1 || !t.store.storable(name) {
		return nil, err
	}
	if before == 0 {
		before = math.MaxInt64
	}
	var entries []storage.Entry
	err := t.query("read", "entries", func(row Row) error {
		e := storage.Entry{Account: name}
		var at int64
		err := row.Scan(&e.Number, &e.Amount, &e.Balance, &e.Posting, &e.Type, &e.Ref, &at)
		e.At = moment(at)
		entries = append(entries, e)
		return err
	}, t.store.ledger.entries, name, before, limit)
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// Posting implements [storage.ReadTx].
func (t *readTx) Posting(id string) (storage.Booked, error) {
	if err := t.settled(ledger); err != nil {
		return storage.Booked{}, err
	}
	if t.store.storable(id) {
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
	if err := t.settled(ledger); err != nil || limit < 1 {
		return nil, err
	}
	return t.booked(t.store.ledger.postings, t.store.cursor(after), limit)
}

// booked reads postings with their entries, which stand together.
func (t *readTx) booked(query string, args ...any) ([]storage.Booked, error) {
	var all []storage.Booked
	err := t.query("read", "postings", func(row Row) error {
		var b storage.Booked
		var e storage.Entry
		var at int64
		if err := row.Scan(&b.ID, &b.Type, &b.Ref, &at, &e.Account, &e.Number, &e.Amount, &e.Balance); err != nil {
			return err
		}
		b.At = moment(at)
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

// Sequences implements [storage.Scanner].
func (t *readTx) Sequences(after string, limit int) ([]storage.Sequence, error) {
	if err := t.settled(""); err != nil || limit < 1 {
		return nil, err
	}
	var all []storage.Sequence
	err := t.query("read", "sequences", func(row Row) error {
		var s storage.Sequence
		err := row.Scan(&s.Name, &s.Value)
		all = append(all, s)
		return err
	}, t.store.ledger.sequences, t.store.cursor(after), limit)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Balance implements [storage.ReadTx].
func (t *tx) Balance(name string) (storage.Balance, error) {
	if err := t.usable(); err != nil {
		return storage.Balance{}, err
	}
	if err := t.load([]string{name}); err != nil {
		return storage.Balance{}, err
	}
	a, _ := t.account(name)
	return a.Balance, nil
}

// account returns what is known of an account.
func (t *tx) account(name string) (Account, bool) {
	a, below := find(t, func(w *writeSet) *ordered[string, Account] { return &w.accounts }, name)
	switch {
	case below:
		return a.inDatabase(), true
	case a != nil:
		return *a, true
	}
	return t.cache.account(name)
}

// load makes accounts known, by one question at most.
func (t *tx) load(names []string) error {
	t.cache.makeRoom(len(names)) // first, since it may forget what was known
	var unknown []string
	for _, name := range names {
		if _, ok := t.account(name); !ok {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	all, err := t.balances(unknown)
	if err != nil {
		return err
	}
	for _, name := range unknown {
		t.cache.keepAccount(name, Account{Balance: storage.Balance{Account: name}})
	}
	for _, b := range all {
		t.cache.keepAccount(b.Account, Account{Balance: b, Stored: b.Entries})
	}
	return nil
}

// Post implements [storage.Tx]. A posting that is refused has written nothing, and
// one whose id is taken is ErrExists whether or not it could be booked.
func (t *tx) Post(p storage.Posting) error {
	if err := t.usable(); err != nil {
		return err
	}
	if err := p.Check(); err != nil {
		return err
	}
	if !t.store.storable(p.ID, p.Type, p.Ref) {
		return t.store.errText("posting")
	}
	names := make([]string, len(p.Moves))
	for i, m := range p.Moves {
		names[i] = m.Account
	}
	if err := t.load(names); err != nil {
		return err
	}
	if t.buffered(p.ID) {
		return t.errBooked()
	}
	if t.isCareful("ledger_postings") {
		if err := t.lookPosting(p.ID, nil); err != nil {
			return err
		}
	} else {
		t.assumed = true
	}
	accounts := make([]Account, len(p.Moves))
	for i, m := range p.Moves {
		a, _ := t.account(m.Account)
		var err error
		if a.Balance, err = storage.Apply(a.Balance, m); err != nil {
			return t.lookPosting(p.ID, err)
		}
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
	return t.wrote()
}

// buffered reports whether a posting is booked in a write set.
func (t *tx) buffered(id string) bool {
	p, _ := find(t, func(w *writeSet) *ordered[string, storage.Posting] { return &w.postings }, id)
	return p != nil
}

func (t *tx) errBooked() error {
	return fmt.Errorf("%s: posting: %w", t.store.Name, storage.ErrExists)
}

// lookPosting returns ErrExists if a posting is in the database, else the reason for
// which it cannot be booked.
func (t *tx) lookPosting(id string, reason error) error {
	taken := false
	err := t.query("read", "posting", func(Row) error {
		taken = true
		return nil
	}, t.store.ledger.existsPosting, id)
	switch {
	case err != nil:
		return err
	case taken:
		return t.errBooked()
	case reason != nil:
		return fmt.Errorf("%s: posting: %w", t.store.Name, reason)
	}
	return nil
}

// sequence returns what is known of a sequence.
func (t *tx) sequence(name string) (Sequence, bool) {
	s, below := find(t, func(w *writeSet) *ordered[string, Sequence] { return &w.sequences }, name)
	switch {
	case below:
		return s.inDatabase(), true
	case s != nil:
		return *s, true
	}
	n, ok := t.cache.sequence(name)
	return Sequence{storage.Sequence{Name: name, Value: n}, n}, ok
}

// setSequence gives a sequence the value that follows from the one it has, and returns
// it. The database compares that one when it is written, so that a number is not given
// twice whatever was remembered.
func (t *tx) setSequence(name string, value func(has int64) int64) (int64, error) {
	if err := t.usable(); err != nil {
		return 0, err
	}
	if !t.store.storable(name) {
		return 0, t.store.errText("sequence")
	}
	s, ok := t.sequence(name)
	if !ok {
		err := t.query("read", "sequence", func(row Row) error { return row.Scan(&s.Value) }, t.store.ledger.sequence, name)
		if err != nil {
			return 0, err
		}
		s.Stored = s.Value
	}
	s.Value = value(s.Value)
	t.own.sequences.put(name, s)
	t.own.bytes += 64 + len(name)
	return s.Value, t.wrote()
}

// Next implements [storage.Tx].
func (t *tx) Next(name string) (int64, error) {
	return t.setSequence(name, func(has int64) int64 { return has + 1 })
}

// SetSequence implements [storage.SequenceSetter].
func (t *tx) SetSequence(name string, value int64) error {
	_, err := t.setSequence(name, func(int64) int64 { return value })
	return err
}
