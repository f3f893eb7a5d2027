package sqlite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

const (
	insertAccount = `INSERT INTO ledger_accounts (name, guarded, balance, entries) VALUES (?, ?, ?, ?)`
	updateAccount = `UPDATE ledger_accounts SET balance = ?, entries = ? WHERE id = ? AND entries = ?`
	findAccount   = `SELECT id FROM ledger_accounts WHERE name = ?`
	newSequence   = `INSERT INTO storage_sequences (name, value) VALUES (?, ?)`
	setSequence   = `UPDATE storage_sequences SET value = ? WHERE name = ? AND value = ?`
)

var (
	insertPostings = newInsertion("ledger_postings (id, type, ref, at)", 4)
	insertEntries  = newInsertion("ledger_entries (account, number, posting, amount, balance)", 5)
)

// tableSQL are the statements that write one kind.
type tableSQL struct {
	insert                 insertion
	replace, remove, lease string
}

// Prepare implements [sqlstore.Driver].
func (driver) Prepare(t *sqlstore.Table) {
	var names, sets strings.Builder
	columns := len(t.Kind.Columns) + 5
	if t.Kind.Due != "" {
		names.WriteString("lease, ")
		sets.WriteString("lease = ?, ")
		columns++
	}
	for _, c := range t.Kind.Columns {
		names.WriteString(sqlstore.Quote(c.Name) + ", ")
		sets.WriteString(sqlstore.Quote(c.Name) + " = ?, ")
	}
	const row = " WHERE merchant = ? AND live = ? AND id = ? AND version = ?"
	t.Own = &tableSQL{
		insert:  newInsertion(t.Name+" (merchant, live, id, version, "+names.String()+"data)", columns),
		replace: "UPDATE " + t.Name + " SET version = ?, " + sets.String() + "data = ?" + row,
		remove:  "DELETE FROM " + t.Name + row,
		lease:   "UPDATE " + t.Name + " SET version = ?, lease = ?" + row,
	}
}

// write sends buffered writes, those of one table after the other. A statement changes
// several rows where SQLite can.
func (c *conn) write(w *sqlstore.Writes) error {
	for _, t := range w.Tables {
		if err := c.writeTable(t); err != nil {
			return err
		}
	}
	if err := c.writeLedger(w); err != nil {
		return err
	}
	for _, s := range w.Sequences {
		query := setSequence
		if s.Stored == 0 {
			query, c.args = newSequence, append(c.args[:0], s.Name, s.Value)
		} else {
			c.args = append(c.args[:0], s.Value, s.Name, s.Stored)
		}
		if err := c.change(query); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) writeTable(t *sqlstore.TableWrites) error {
	own := t.Table.Own.(*tableSQL)
	where := func(w sqlstore.RowWrite) {
		c.args = append(c.args, w.Scope.Merchant, w.Scope.Live, w.ID, w.Stored)
	}
	for _, w := range t.Remove {
		c.args = c.args[:0]
		where(w)
		if err := c.change(own.remove); err != nil {
			return err
		}
	}
	for _, w := range t.Replace {
		c.args = c.args[:0]
		c.addRow(w)
		where(w)
		if err := c.change(own.replace); err != nil {
			return err
		}
	}
	for _, w := range t.Lease {
		c.args = append(c.args[:0], w.Record.Version, w.State.Lease)
		where(w)
		if err := c.change(own.lease); err != nil {
			return err
		}
	}
	return c.insert(&own.insert, len(t.Insert), func(i int) {
		w := t.Insert[i]
		c.args = append(c.args, w.Scope.Merchant, w.Scope.Live, w.ID)
		c.addRow(w)
	})
}

// addRow adds all of a row that changes to the arguments.
func (c *conn) addRow(w sqlstore.RowWrite) {
	c.args = append(c.args, w.Record.Version)
	if w.Table.Kind.Due != "" {
		c.args = append(c.args, w.State.Lease)
	}
	for _, v := range w.Record.Columns {
		c.args = append(c.args, sqlstore.Stored(v))
	}
	c.args = append(c.args, w.Record.Data)
}

// writeLedger writes accounts, then postings, then entries, as foreign keys want it.
func (c *conn) writeLedger(w *sqlstore.Writes) error {
	for _, a := range w.Accounts {
		if err := c.writeAccount(a); err != nil {
			return err
		}
	}
	err := c.insert(&insertPostings, len(w.Postings), func(i int) {
		p := &w.Postings[i]
		c.args = append(c.args, p.ID, p.Type, p.Ref, p.At.UnixMilli())
	})
	if err != nil || len(w.Entries) == 0 {
		return err
	}
	entries := c.entries[:0]
	for i := range w.Entries {
		id, err := c.accountID(w.Entries[i].Account)
		if err != nil {
			return err
		}
		entries = append(entries, entry{id, &w.Entries[i]})
	}
	// One account's entries stand together.
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.account, b.account), cmp.Compare(a.Number, b.Number))
	})
	err = c.insert(&insertEntries, len(entries), func(i int) {
		e := &entries[i]
		c.args = append(c.args, e.account, e.Number, e.Posting, e.Amount, e.Balance)
	})
	clear(entries)
	c.entries = entries
	return err
}

// entry is a row of ledger_entries.
type entry struct {
	account int64
	*storage.Entry
}

func (c *conn) writeAccount(a *sqlstore.Account) error {
	if a.Stored == 0 {
		result, err := c.exec(insertAccount, a.Account, a.Guarded, a.Amount, a.Entries)
		if err != nil {
			return err
		}
		id, err := result.LastInsertId()
		c.accounts[a.Account] = id
		return err
	}
	id, err := c.accountID(a.Account)
	if err != nil {
		return err
	}
	c.args = append(c.args[:0], a.Amount, a.Entries, id, a.Stored)
	return c.change(updateAccount)
}

// maxAccounts bounds how many account numbers a connection remembers.
const maxAccounts = 16384

// accountID returns the number of an account's row.
func (c *conn) accountID(name string) (int64, error) {
	id, ok := c.accounts[name]
	if ok {
		return id, nil
	}
	found, err := c.one(findAccount, []any{name}, &id)
	if err == nil && !found {
		err = fmt.Errorf("account: %w", errMissed)
	}
	if err != nil {
		return 0, err
	}
	if len(c.accounts) >= maxAccounts {
		clear(c.accounts)
	}
	c.accounts[name] = id
	return id, nil
}

// change runs a statement, with the arguments that stand in args, that must change
// one row.
func (c *conn) change(query string) error {
	n, err := c.run(query, c.args)
	if err == nil && n != 1 {
		err = errMissed
	}
	return err
}

// rowsAtOnce are the numbers of rows that one statement inserts, as powers of two.
const rowsAtOnce = 6

// insertion is the statements that insert rows into one table: 1, 2, 4 … at once. A
// statement costs as much as some rows, half of which is the opening of the indexes.
//
// They say OR FAIL because nothing is kept anyway when one fails, and SQLite need not
// remember what the rows before it changed.
type insertion [rowsAtOnce]string

func newInsertion(into string, columns int) (all insertion) {
	row := "(?" + strings.Repeat(", ?", columns-1) + ")"
	for i := range all {
		all[i] = "INSERT OR FAIL INTO " + into + " VALUES " + row + strings.Repeat(", "+row, 1<<i-1)
	}
	return all
}

// insert inserts n rows, the values of which add appends to args.
func (c *conn) insert(by *insertion, n int, add func(i int)) error {
	for from := 0; from < n; {
		size := rowsAtOnce - 1
		for 1<<size > n-from {
			size--
		}
		c.args = c.args[:0]
		for i := range 1 << size {
			add(from + i)
		}
		if _, err := c.run(by[size], c.args); err != nil {
			return err
		}
		from += 1 << size
	}
	return nil
}
