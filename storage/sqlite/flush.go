package sqlite

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// flush writes a layer to the database, after which it can be cleared. What it cannot
// write is trouble, because whatever could be refused was refused when it was noted:
// then part of it may be written, and the transaction, or the savepoint, must go.
func (c *conn) flush(l *layer, cache *cache) error {
	if l.empty() {
		return nil
	}
	if err := c.flushRecords(l); err != nil {
		return err
	}
	if err := c.flushLedger(l, cache); err != nil {
		return err
	}
	for i, name := range l.sequences.Keys {
		c.args = append(c.args[:0], name, l.sequences.Values[i])
		if err := c.change(setSequence); err != nil {
			return err
		}
	}
	for i, key := range l.records.Keys {
		if r := &l.records.Values[i]; r.record.Version > 1 {
			cache.keep(key, r.record)
		} else { // new, and hardly ever read again by the writer; or gone
			cache.drop(key)
		}
	}
	return nil
}

// flushRecords writes the records of one table after the other.
func (c *conn) flushRecords(l *layer) error {
	done := 0
	var tables []*table
	for i := range l.records.Keys {
		if b := l.records.Keys[i].table; !slices.Contains(tables, b) {
			tables = append(tables, b)
		}
	}
	for _, b := range tables {
		fresh := c.fresh[:0]
		for i := range l.records.Keys {
			key, r := &l.records.Keys[i], &l.records.Values[i]
			if key.table != b {
				continue
			}
			done++
			var err error
			switch {
			case r.stored == 0 && r.record.Version > 0:
				fresh = append(fresh, i)
			case r.record.Version > 0:
				c.args = append(c.args[:0], r.record.Version)
				c.addDocument(&r.record)
				c.args = append(c.args, key.scope.Merchant, key.scope.Live, key.id, r.stored)
				err = c.change(b.rewrite)
			case r.stored > 0:
				c.args = append(c.args[:0], key.scope.Merchant, key.scope.Live, key.id, r.stored)
				err = c.change(b.remove)
			}
			if err != nil {
				return err
			}
		}
		c.fresh = fresh
		err := c.insertAll(&b.inserts, len(fresh), func(i int) {
			r := &l.records.Values[fresh[i]].record
			c.args = append(c.args, r.Scope.Merchant, r.Scope.Live, r.ID, r.Version)
			c.addDocument(r)
		})
		if err != nil {
			return err
		}
		if done == len(l.records.Keys) {
			break
		}
	}
	return nil
}

// flushLedger writes accounts, then postings, then entries, as foreign keys want it.
func (c *conn) flushLedger(l *layer, cache *cache) error {
	for i := range l.accounts.Values {
		a := &l.accounts.Values[i]
		if a.id != 0 {
			c.args = append(c.args[:0], a.Amount, a.Entries, a.id)
			if err := c.change(updateAccount); err != nil {
				return err
			}
		} else {
			result, err := c.exec(insertAccount, a.Account, a.Guarded, a.Amount, a.Entries)
			if err != nil {
				return err
			}
			if a.id, err = result.LastInsertId(); err != nil {
				return err
			}
		}
		cache.keepAccount(*a)
	}
	err := c.insertAll(&insertPostings, len(l.postings.Keys), func(i int) {
		p := &l.postings.Values[i]
		c.args = append(c.args, p.ID, p.Type, p.Ref, p.At.UnixMilli())
	})
	if err != nil {
		return err
	}
	for i := range l.entries {
		l.entries[i].id = l.accounts.Find(l.entries[i].account).id
	}
	// One account's entries stand together.
	slices.SortFunc(l.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.number, b.number))
	})
	return c.insertAll(&insertEntries, len(l.entries), func(i int) {
		e := &l.entries[i]
		c.args = append(c.args, e.id, e.number, e.posting, e.amount, e.balance)
	})
}

// change runs a statement, with the arguments that stand in args, that must change
// one row.
func (c *conn) change(query string) error {
	n, err := c.run(query, c.args)
	if err == nil && n != 1 {
		err = errors.New("a row cannot be found by its id")
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

// insertAll inserts n rows, the values of which add appends to args.
func (c *conn) insertAll(by *insertion, n int, add func(i int)) error {
	for from := 0; from < n; {
		size := rowsAtOnce - 1
		for 1<<size > n-from {
			size--
		}
		c.args = c.args[:0]
		for i := range 1 << size {
			add(from + i)
		}
		inserted, err := c.run(by[size], c.args)
		if err != nil {
			return err
		}
		if inserted != 1<<size {
			return errors.New("inserted " + strconv.FormatInt(inserted, 10) + " rows of " + strconv.Itoa(1<<size))
		}
		from += 1 << size
	}
	return nil
}
