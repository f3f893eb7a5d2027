package sqlite

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

const (
	insertAccountSQL  = `INSERT INTO ledger_accounts (name, guarded, balance, entries) VALUES (?, ?, ?, ?)`
	updateAccountSQL  = `UPDATE ledger_accounts SET balance = ?, entries = ? WHERE name = ? AND entries = ?`
	accountIDSQL      = `(SELECT id FROM ledger_accounts WHERE name = ?)`
	insertSequenceSQL = `INSERT INTO storage_sequences (name, value) VALUES (?, ?)`
	updateSequenceSQL = `UPDATE storage_sequences SET value = ? WHERE name = ? AND value = ?`
)

var (
	insertPostingsSQL = newMultiInsert("ledger_postings (id, type, ref, at)", "?", 4)
	insertEntriesSQL  = newMultiInsert("ledger_entries (account, number, posting, amount, balance)", accountIDSQL, 5)
)

// tableSQL holds the statements that write one kind.
type tableSQL struct {
	insert                 multiInsert
	replace, remove, lease string
}

// PrepareTable implements [sqlstore.Driver].
func (driver) PrepareTable(t *sqlstore.Table) {
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
	t.DriverSQL = &tableSQL{
		insert:  newMultiInsert(t.Name+" (merchant, live, id, version, "+names.String()+"data)", "?", columns),
		replace: "UPDATE " + t.Name + " SET version = ?, " + sets.String() + "data = ?" + row,
		remove:  "DELETE FROM " + t.Name + row,
		lease:   "UPDATE " + t.Name + " SET version = ?, lease = ?" + row,
	}
}

// write sends buffered writes, table by table, with several rows a statement where SQLite
// can.
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
		query := updateSequenceSQL
		if s.StoredValue == 0 {
			query, c.args = insertSequenceSQL, append(c.args[:0], s.Name, s.Value)
		} else {
			c.args = append(c.args[:0], s.Value, s.Name, s.StoredValue)
		}
		if err := c.updateOne(query); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) writeTable(t *sqlstore.TableWrites) error {
	own := t.Table.DriverSQL.(*tableSQL)
	where := func(w sqlstore.RowWrite) {
		c.args = append(c.args, w.Scope.Merchant, w.Scope.Live, w.ID, w.StoredVersion)
	}
	for _, w := range t.Remove {
		c.args = c.args[:0]
		where(w)
		if err := c.updateOne(own.remove); err != nil {
			return err
		}
	}
	for _, w := range t.Replace {
		c.args = c.args[:0]
		c.addRow(w)
		where(w)
		if err := c.updateOne(own.replace); err != nil {
			return err
		}
	}
	for _, w := range t.Lease {
		c.args = append(c.args[:0], w.Record.Version, w.Lease)
		where(w)
		if err := c.updateOne(own.lease); err != nil {
			return err
		}
	}
	return c.insert(&own.insert, len(t.Insert), func(i int) {
		w := t.Insert[i]
		c.args = append(c.args, w.Scope.Merchant, w.Scope.Live, w.ID)
		c.addRow(w)
	})
}

// addRow appends to the arguments all columns of a row that change.
func (c *conn) addRow(w sqlstore.RowWrite) {
	c.args = append(c.args, w.Record.Version)
	if w.Table.Kind.Due != "" {
		c.args = append(c.args, w.Lease)
	}
	for _, v := range w.Record.Columns {
		c.args = append(c.args, sqlstore.Encode(v))
	}
	c.args = append(c.args, w.Record.Data)
}

// writeLedger writes accounts, then postings, then entries, in the order of the foreign
// keys.
func (c *conn) writeLedger(w *sqlstore.Writes) error {
	for _, a := range w.Accounts {
		if err := c.writeAccount(a); err != nil {
			return err
		}
	}
	err := c.insert(&insertPostingsSQL, len(w.Postings), func(i int) {
		p := &w.Postings[i]
		c.args = append(c.args, p.ID, p.Type, p.Ref, p.At.UnixMilli())
	})
	if err != nil || len(w.Entries) == 0 {
		return err
	}
	// The entries of an account go together.
	slices.SortFunc(w.Entries, func(a, b storage.Entry) int {
		return cmp.Or(strings.Compare(a.Account, b.Account), cmp.Compare(a.Number, b.Number))
	})
	return c.insert(&insertEntriesSQL, len(w.Entries), func(i int) {
		e := &w.Entries[i]
		c.args = append(c.args, e.Account, e.Number, e.Posting, e.Amount, e.Balance)
	})
}

func (c *conn) writeAccount(a *sqlstore.Account) error {
	if a.StoredEntries == 0 {
		_, err := c.exec(insertAccountSQL, a.Account, a.Guarded, a.Amount, a.Entries)
		return err
	}
	c.args = append(c.args[:0], a.Amount, a.Entries, a.Account, a.StoredEntries)
	return c.updateOne(updateAccountSQL)
}

// updateOne runs a statement with the arguments c.args. It must change one row.
func (c *conn) updateOne(query string) error {
	n, err := c.execRows(query, c.args)
	if err == nil && n != 1 {
		err = errRowChanged
	}
	return err
}

// insertSizes is how many statements insert into a table: the i-th inserts 1<<i rows.
const insertSizes = 6

// multiInsert holds the statements that insert 1, 2, 4 … rows into a table at once,
// because a statement costs as much as some rows; see docs/performance.md.
//
// They say OR FAIL: a failure drops the whole batch anyway, and SQLite need not remember
// the rows before it.
type multiInsert [insertSizes]string

// newMultiInsert takes the expression of the first column.
func newMultiInsert(into, first string, columns int) (all multiInsert) {
	row := "(" + first + strings.Repeat(", ?", columns-1) + ")"
	for i := range all {
		all[i] = "INSERT OR FAIL INTO " + into + " VALUES " + row + strings.Repeat(", "+row, 1<<i-1)
	}
	return all
}

// insert inserts n rows. add appends the values of row i to c.args.
func (c *conn) insert(by *multiInsert, n int, add func(i int)) error {
	for from := 0; from < n; {
		size := insertSizes - 1
		for 1<<size > n-from {
			size--
		}
		c.args = c.args[:0]
		for i := range 1 << size {
			add(from + i)
		}
		if _, err := c.execRows(by[size], c.args); err != nil {
			return err
		}
		from += 1 << size
	}
	return nil
}
