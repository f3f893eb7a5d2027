package sqlite

import (
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

const (
	selectAccount  = `SELECT id, guarded, balance, entries FROM ledger_accounts WHERE name = ?`
	selectAccounts = `SELECT name, guarded, balance, entries FROM ledger_accounts WHERE name > ? ORDER BY name LIMIT ? + 0`
	insertAccount  = `INSERT INTO ledger_accounts (name, guarded, balance, entries) VALUES (?, ?, ?, ?)`
	updateAccount  = `UPDATE ledger_accounts SET balance = ?, entries = ? WHERE id = ?`

	selectEntries = `SELECT e.number, e.amount, e.balance, p.id, p.type, p.ref, p.at
		FROM ledger_entries e CROSS JOIN ledger_postings p ON p.id = e.posting
		WHERE e.account = (SELECT id FROM ledger_accounts WHERE name = ?) AND e.number < ?
		ORDER BY e.number DESC LIMIT ? + 0`

	existsPosting = `SELECT 1 FROM ledger_postings WHERE id = ?`
	newestPosting = `SELECT coalesce(max(id), '') FROM ledger_postings`

	selectPosting = bookedColumns + ` FROM ledger_postings p` + bookedJoins + `
		WHERE p.id = ? ORDER BY a.name`
	selectPostings = bookedColumns + `
		FROM (SELECT * FROM ledger_postings WHERE id > ? ORDER BY id LIMIT ? + 0) p` + bookedJoins + `
		ORDER BY p.id, a.name`
	bookedColumns = `SELECT p.id, p.type, p.ref, p.at, a.name, e.number, e.amount, e.balance`
	bookedJoins   = `
		CROSS JOIN ledger_entries e ON e.posting = p.id
		CROSS JOIN ledger_accounts a ON a.id = e.account`

	selectSequence = `SELECT value FROM storage_sequences WHERE name = ?`
	setSequence    = `INSERT INTO storage_sequences (name, value) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`
)

var (
	insertPostings = newInsertion("ledger_postings (id, type, ref, at)", 4)
	insertEntries  = newInsertion("ledger_entries (account, number, posting, amount, balance)", 5)
)

// account is a row of ledger_accounts; id is zero for one that is yet to come.
type account struct {
	id int64
	storage.Balance
}

// Balance implements [storage.ReadTx].
func (t *readTx) Balance(name string) (storage.Balance, error) {
	if err := t.usable(); err != nil {
		return storage.Balance{}, err
	}
	a, err := t.account(name)
	return a.Balance, err
}

func (t *readTx) account(name string) (account, error) {
	a := account{Balance: storage.Balance{Account: name}}
	t.conn.args = append(t.conn.args[:0], name)
	if _, err := t.conn.one(selectAccount, t.conn.args, &a.id, &a.Guarded, &a.Amount, &a.Entries); err != nil {
		return account{}, t.fail("read", "account", err)
	}
	return a, nil
}

// Balances implements [storage.ReadTx].
func (t *readTx) Balances(after string, limit int) ([]storage.Balance, error) {
	var balances []storage.Balance
	err := t.each("list accounts", limit, func(rows *sql.Rows) error {
		var b storage.Balance
		err := rows.Scan(&b.Account, &b.Guarded, &b.Amount, &b.Entries)
		balances = append(balances, b)
		return err
	}, selectAccounts, after, limit)
	if err != nil {
		return nil, err
	}
	return balances, nil
}

// Entries implements [storage.ReadTx].
func (t *readTx) Entries(name string, before int64, limit int) ([]storage.Entry, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	var entries []storage.Entry
	err := t.each("list entries", limit, func(rows *sql.Rows) error {
		e := storage.Entry{Account: name}
		var at int64
		err := rows.Scan(&e.Number, &e.Amount, &e.Balance, &e.Posting, &e.Type, &e.Ref, &at)
		e.At = time.UnixMilli(at).UTC()
		entries = append(entries, e)
		return err
	}, selectEntries, name, before, limit)
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// Posting implements [storage.ReadTx].
func (t *readTx) Posting(id string) (storage.Booked, error) {
	booked, err := t.booked("read posting", 1, selectPosting, id)
	if err != nil {
		return storage.Booked{}, err
	}
	if len(booked) == 0 {
		return storage.Booked{}, fmt.Errorf("sqlite: posting: %w", storage.ErrNotFound)
	}
	return booked[0], nil
}

// Postings implements [storage.ReadTx].
func (t *readTx) Postings(after string, limit int) ([]storage.Booked, error) {
	return t.booked("list postings", limit, selectPostings, after, limit)
}

// booked reads rows of bookedColumns, which stand together by posting.
func (t *readTx) booked(doing string, limit int, query string, args ...any) ([]storage.Booked, error) {
	var all []storage.Booked
	err := t.each(doing, limit, func(rows *sql.Rows) error {
		var b storage.Booked
		var e storage.Entry
		var at int64
		if err := rows.Scan(&b.ID, &b.Type, &b.Ref, &at, &e.Account, &e.Number, &e.Amount, &e.Balance); err != nil {
			return err
		}
		b.At = time.UnixMilli(at).UTC()
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

// each calls scan for each row of a query. To SQLite a negative limit means
// none; here, like zero, it asks for nothing.
func (t *readTx) each(doing string, limit int, scan func(*sql.Rows) error, query string, args ...any) error {
	if err := t.usable(); err != nil || limit < 1 {
		return err
	}
	rows, err := t.conn.query(query, args...)
	if err != nil {
		return t.fail(doing, "of ledger", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		if err := scan(rows); err != nil {
			return t.fail(doing, "of ledger", err)
		}
	}
	if err := rows.Err(); err != nil {
		return t.fail(doing, "of ledger", err)
	}
	return nil
}

// account reads an account, which has no id if it is yet to come.
func (t *tx) account(name string) (account, error) {
	if a := t.own.accounts.Find(name); a != nil {
		return *a, nil
	}
	if a := t.group.layer.accounts.Find(name); a != nil {
		return *a, nil
	}
	if a, ok := t.cache.accounts[name]; ok {
		return a, nil
	}
	a, err := t.readTx.account(name)
	if err == nil && a.id != 0 {
		t.cache.keepAccount(a)
	}
	return a, err
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
	if err := t.settleLedger(); err != nil {
		return nil, err
	}
	return t.readTx.Balances(after, limit)
}

// Entries implements [storage.ReadTx].
func (t *tx) Entries(name string, before int64, limit int) ([]storage.Entry, error) {
	if err := t.settleLedger(); err != nil {
		return nil, err
	}
	return t.readTx.Entries(name, before, limit)
}

// Posting implements [storage.ReadTx].
func (t *tx) Posting(id string) (storage.Booked, error) {
	if err := t.settleLedger(); err != nil {
		return storage.Booked{}, err
	}
	return t.readTx.Posting(id)
}

// Postings implements [storage.ReadTx].
func (t *tx) Postings(after string, limit int) ([]storage.Booked, error) {
	if err := t.settleLedger(); err != nil {
		return nil, err
	}
	return t.readTx.Postings(after, limit)
}

// settleLedger writes what is pending if money is among it.
func (t *tx) settleLedger() error {
	switch {
	case t.usable() != nil:
		return t.usable()
	case len(t.own.entries) > 0:
		return t.spill()
	case len(t.group.layer.entries) > 0:
		return t.flushGroup()
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
	taken := t.own.postings.Find(p.ID) != nil || t.group.layer.postings.Find(p.ID) != nil
	if !taken {
		var err error
		if taken, err = t.taken(series{}, p.ID); err != nil {
			return t.fail("read", "posting", err)
		}
	}
	if taken {
		return fmt.Errorf("sqlite: posting: %w", storage.ErrExists)
	}
	var buffer [8]account
	accounts := buffer[:0]
	for _, m := range p.Moves {
		a, err := t.account(m.Account)
		if err != nil {
			return err
		}
		if a.Balance, err = storage.Apply(a.Balance, m); err != nil {
			return fmt.Errorf("sqlite: posting: %w", err)
		}
		accounts = append(accounts, a)
	}
	for i, a := range accounts {
		t.own.accounts.Put(a.Account, a)
		t.own.entries = append(t.own.entries, entry{
			account: a.Account, number: a.Entries, posting: p.ID, amount: p.Moves[i].Amount, balance: a.Amount,
		})
	}
	t.cache.raise(series{}, p.ID)
	p.Moves = nil
	t.own.postings.Put(p.ID, p)
	t.own.bytes += 256 * (1 + len(accounts))
	return t.noted()
}

// Next implements [storage.Tx].
func (t *tx) Next(sequence string) (int64, error) {
	if err := t.usable(); err != nil {
		return 0, err
	}
	var n int64
	if known := t.own.sequences.Find(sequence); known != nil {
		n = *known
	} else if known := t.group.layer.sequences.Find(sequence); known != nil {
		n = *known
	} else if _, err := t.conn.one(selectSequence, []any{sequence}, &n); err != nil {
		return 0, t.fail("count", "sequence", err)
	}
	n++
	t.own.sequences.Put(sequence, n)
	t.own.bytes += 64 + len(sequence)
	return n, t.noted()
}
