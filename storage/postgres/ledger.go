package postgres

import (
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
)

// ledgerSQL are the statements of what does not depend on kinds.
type ledgerSQL struct {
	accounts, allAccounts, entries, posting, postings, sequence string

	insertAccounts, moveAccounts, insertPostings, insertEntries, setSequences string
	existsPosting                                                             string
}

func newLedgerSQL(schema string) ledgerSQL {
	s := sqltext.Quote(schema) + "."
	booked := `SELECT p.id, p.type, p.ref, p.at, a.name, e.number, e.amount, e.balance FROM %s p
		JOIN ` + s + `ledger_entries e ON e.posting = p.id JOIN ` + s + `ledger_accounts a ON a.id = e.account
		ORDER BY p.id, a.name`
	return ledgerSQL{
		accounts:    `SELECT name, guarded, balance, entries FROM ` + s + `ledger_accounts WHERE name = ANY ($1::text[])`,
		allAccounts: `SELECT name, guarded, balance, entries FROM ` + s + `ledger_accounts WHERE name > $1 ORDER BY name LIMIT $2`,
		entries: `SELECT e.number, e.amount, e.balance, p.id, p.type, p.ref, p.at
			FROM (SELECT * FROM ` + s + `ledger_entries
				WHERE account = (SELECT id FROM ` + s + `ledger_accounts WHERE name = $1) AND number < $2
				ORDER BY number DESC LIMIT $3) e
			JOIN ` + s + `ledger_postings p ON p.id = e.posting ORDER BY e.number DESC`,
		posting:  fmt.Sprintf(booked, `(SELECT * FROM `+s+`ledger_postings WHERE id = $1)`),
		postings: fmt.Sprintf(booked, `(SELECT * FROM `+s+`ledger_postings WHERE id > $1 ORDER BY id LIMIT $2)`),
		sequence: `SELECT value FROM ` + s + `storage_sequences WHERE name = $1`,

		insertAccounts: `INSERT INTO ` + s + `ledger_accounts (name, guarded, balance, entries)
			` + unnest([]string{"text[]", "boolean[]", "bigint[]", "bigint[]"}),
		moveAccounts: expecting(schema, 5, `UPDATE `+s+`ledger_accounts AS t SET balance = v.balance, entries = v.entries
			FROM (`+unnest([]string{"text[]", "bigint[]", "bigint[]", "bigint[]"})+`) AS v(name, balance, entries, stored)
			WHERE t.name = v.name AND t.entries = v.stored RETURNING 1`),
		insertPostings: `INSERT INTO ` + s + `ledger_postings (id, type, ref, at)
			` + unnest([]string{"text[]", "text[]", "text[]", "bigint[]"}),
		insertEntries: `INSERT INTO ` + s + `ledger_entries (account, number, posting, amount, balance)
			SELECT a.id, v.number, v.posting, v.amount, v.balance
			FROM (` + unnest([]string{"text[]", "bigint[]", "text[]", "bigint[]", "bigint[]"}) + `) AS v(account, number, posting, amount, balance)
			JOIN ` + s + `ledger_accounts a ON a.name = v.account`,
		setSequences: `INSERT INTO ` + s + `storage_sequences (name, value)
			` + unnest([]string{"text[]", "bigint[]"}) + `
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
		existsPosting: `SELECT 1 FROM ` + s + `ledger_postings WHERE id = $1`,
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
	for _, name := range names {
		if !isText(name) {
			return nil, errText("account")
		}
	}
	return t.accounts(t.store.sql.accounts, names)
}

func (t *readTx) accounts(query string, args ...any) ([]storage.Balance, error) {
	var all []storage.Balance
	err := t.session.query(t.io, func(rows pgx.Rows) error {
		var b storage.Balance
		err := rows.Scan(&b.Account, &b.Guarded, &b.Amount, &b.Entries)
		all = append(all, b)
		return err
	}, query, args...)
	if err != nil {
		return nil, t.fail("read", "accounts", err)
	}
	return all, nil
}

// Balances implements [storage.ReadTx].
func (t *readTx) Balances(after string, limit int) ([]storage.Balance, error) {
	if err := t.usable(); err != nil || limit < 1 {
		return nil, err
	}
	return t.accounts(t.store.sql.allAccounts, cursor(after), limit)
}

// Entries implements [storage.ReadTx].
func (t *readTx) Entries(name string, before int64, limit int) ([]storage.Entry, error) {
	if err := t.usable(); err != nil || limit < 1 || !isText(name) {
		return nil, err
	}
	if before == 0 {
		before = math.MaxInt64
	}
	var entries []storage.Entry
	err := t.session.query(t.io, func(rows pgx.Rows) error {
		e := storage.Entry{Account: name}
		var at int64
		err := rows.Scan(&e.Number, &e.Amount, &e.Balance, &e.Posting, &e.Type, &e.Ref, &at)
		e.At = moment(at)
		entries = append(entries, e)
		return err
	}, t.store.sql.entries, name, before, limit)
	if err != nil {
		return nil, t.fail("read", "entries", err)
	}
	return entries, nil
}

// Posting implements [storage.ReadTx].
func (t *readTx) Posting(id string) (storage.Booked, error) {
	if err := t.usable(); err != nil {
		return storage.Booked{}, err
	}
	if isText(id) {
		booked, err := t.booked(t.store.sql.posting, id)
		if err != nil {
			return storage.Booked{}, err
		}
		if len(booked) > 0 {
			return booked[0], nil
		}
	}
	return storage.Booked{}, fmt.Errorf("postgres: posting: %w", storage.ErrNotFound)
}

// Postings implements [storage.ReadTx].
func (t *readTx) Postings(after string, limit int) ([]storage.Booked, error) {
	if err := t.usable(); err != nil || limit < 1 {
		return nil, err
	}
	return t.booked(t.store.sql.postings, cursor(after), limit)
}

// booked reads postings with their entries, which stand together.
func (t *readTx) booked(query string, args ...any) ([]storage.Booked, error) {
	var all []storage.Booked
	err := t.session.query(t.io, func(rows pgx.Rows) error {
		var b storage.Booked
		var e storage.Entry
		var at int64
		if err := rows.Scan(&b.ID, &b.Type, &b.Ref, &at, &e.Account, &e.Number, &e.Amount, &e.Balance); err != nil {
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
		return nil, t.fail("read", "postings", err)
	}
	return all, nil
}

// Balance implements [storage.ReadTx].
func (t *tx) Balance(name string) (storage.Balance, error) {
	if err := t.usable(); err != nil {
		return storage.Balance{}, err
	}
	a, err := t.account(name)
	return a.Balance, err
}

// Balances implements [storage.ReadTx].
func (t *tx) Balances(after string, limit int) ([]storage.Balance, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	if err := t.flushLedger(); err != nil {
		return nil, err
	}
	all, err := t.readTx.Balances(after, limit)
	return all, t.trouble(err)
}

// Entries implements [storage.ReadTx].
func (t *tx) Entries(name string, before int64, limit int) ([]storage.Entry, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	if err := t.flushLedger(); err != nil {
		return nil, err
	}
	all, err := t.readTx.Entries(name, before, limit)
	return all, t.trouble(err)
}

// Posting implements [storage.ReadTx].
func (t *tx) Posting(id string) (storage.Booked, error) {
	if err := t.usable(); err != nil {
		return storage.Booked{}, err
	}
	if err := t.flushLedger(); err != nil {
		return storage.Booked{}, err
	}
	b, err := t.readTx.Posting(id)
	return b, t.trouble(err)
}

// Postings implements [storage.ReadTx].
func (t *tx) Postings(after string, limit int) ([]storage.Booked, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	if err := t.flushLedger(); err != nil {
		return nil, err
	}
	all, err := t.readTx.Postings(after, limit)
	return all, t.trouble(err)
}

// lookupAccount returns what is known of an account.
func (t *tx) lookupAccount(name string) (account, bool) {
	if a := t.own.accounts.Find(name); a != nil {
		return *a, true
	}
	if a := t.group.layer.accounts.Find(name); a != nil {
		return *a, true
	}
	if b := t.group.below; b != nil {
		if a := b.accounts.Find(name); a != nil {
			return a.inDatabase(), true
		}
	}
	a, ok := t.cache.account(name)
	return a, ok
}

// account reads an account, which has no entries if it is yet to come.
func (t *tx) account(name string) (account, error) {
	if err := t.load([]string{name}); err != nil {
		return account{}, err
	}
	a, _ := t.lookupAccount(name)
	return a, nil
}

// load makes accounts known, in one round trip at most.
func (t *tx) load(names []string) error {
	t.cache.room(len(names)) // first, since it may forget what was known
	var unknown []string
	for _, name := range names {
		if _, ok := t.lookupAccount(name); !ok {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	all, err := t.balances(unknown)
	if err != nil {
		return t.trouble(err)
	}
	for _, name := range unknown {
		t.cache.keepAccount(name, account{Balance: storage.Balance{Account: name}})
	}
	for _, b := range all {
		t.cache.keepAccount(b.Account, account{Balance: b, stored: b.Entries})
	}
	return nil
}

// Post implements [storage.Tx]. A posting that is refused has written nothing,
// and one whose id is taken is ErrExists whether or not it could be booked.
func (t *tx) Post(p storage.Posting) error {
	if err := t.usable(); err != nil {
		return err
	}
	if err := p.Check(); err != nil {
		return err
	}
	if !allText(p.ID, p.Type, p.Ref) {
		return errText("posting")
	}
	names := make([]string, len(p.Moves))
	for i, m := range p.Moves {
		names[i] = m.Account
	}
	if err := t.load(names); err != nil {
		return err
	}
	if t.own.postings.Find(p.ID) != nil || t.group.layer.postings.Find(p.ID) != nil || t.group.below != nil && t.group.below.postings.Find(p.ID) != nil {
		return errBooked()
	}
	if t.isCareful("ledger_postings") {
		if err := t.lookPosting(p.ID, nil); err != nil {
			return err
		}
	} else {
		t.assumed = true
	}
	accounts := make([]account, len(p.Moves))
	for i, m := range p.Moves {
		a, _ := t.lookupAccount(m.Account)
		var err error
		if a.Balance, err = storage.Apply(a.Balance, m); err != nil {
			return t.lookPosting(p.ID, err)
		}
		a.dirty = true
		accounts[i] = a
	}
	for i, a := range accounts {
		t.own.accounts.Put(a.Account, a)
		t.own.moved = append(t.own.moved, a.Account)
		t.own.entries = append(t.own.entries, storage.Entry{
			Account: a.Account, Number: a.Entries, Amount: p.Moves[i].Amount, Balance: a.Amount, Posting: p.ID,
		})
	}
	t.own.postings.Put(p.ID, struct{}{})
	t.own.booked = append(t.own.booked, p)
	return t.wrote()
}

func errBooked() error { return fmt.Errorf("postgres: posting: %w", storage.ErrExists) }

// lookPosting returns ErrExists if a posting is in the database, else the reason
// for which it cannot be booked.
func (t *tx) lookPosting(id string, reason error) error {
	var one int32
	taken, err := t.session.one(t.io, []any{&one}, t.store.sql.existsPosting, id)
	switch {
	case err != nil:
		return t.trouble(t.fail("read", "posting", err))
	case taken:
		return errBooked()
	case reason != nil:
		return fmt.Errorf("postgres: posting: %w", reason)
	}
	return nil
}

// lookupSequence returns what is known of a sequence.
func (t *tx) lookupSequence(name string) (sequence, bool) {
	if q := t.own.sequences.Find(name); q != nil {
		return *q, true
	}
	if q := t.group.layer.sequences.Find(name); q != nil {
		return *q, true
	}
	if b := t.group.below; b != nil {
		if q := b.sequences.Find(name); q != nil {
			return *q, true
		}
	}
	return t.cache.sequence(name)
}

// Next implements [storage.Tx].
func (t *tx) Next(name string) (int64, error) {
	if err := t.usable(); err != nil {
		return 0, err
	}
	if !isText(name) {
		return 0, errText("sequence")
	}
	q, ok := t.lookupSequence(name)
	if !ok {
		if _, err := t.session.one(t.io, []any{&q.value}, t.store.sql.sequence, name); err != nil {
			return 0, t.trouble(t.fail("read", "sequence", err))
		}
	}
	q = sequence{value: q.value + 1, dirty: true}
	t.own.sequences.Put(name, q)
	t.own.counted = append(t.own.counted, name)
	return q.value, t.wrote()
}
