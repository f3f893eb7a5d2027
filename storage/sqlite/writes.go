package sqlite

import (
	"fmt"
	"strings"

	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// Prepare implements [sqlstore.Driver]. The SQL of an insert is a multiInsert, and else a text.
func (driver) Prepare(s *sqlstore.Statement) {
	var names, values, sets, keys, conditions []string
	for i, c := range s.Set {
		value := c.Value("?")
		if s.Join != "" {
			value = c.Value(fmt.Sprint("v.column", i+1))
		}
		names, values, sets = append(names, c.Name), append(values, value), append(sets, c.Name+" = "+value)
	}
	for _, c := range s.Key {
		conditions = append(conditions, c.Condition("?"))
		if s.Verb == sqlstore.Upsert {
			names, values, keys = append(names, c.Name), append(values, "?"), append(keys, c.Name)
		}
	}
	where := " WHERE " + strings.Join(conditions, " AND ")
	switch s.Verb {
	case sqlstore.Insert:
		into, all := s.Table+" ("+strings.Join(names, ", ")+")", strings.Join(values, ", ")
		if s.Join == "" {
			s.SQL = newMultiInsert(into+" VALUES ", "("+all+")", "")
		} else {
			s.SQL = newMultiInsert(into+" SELECT "+all+" FROM (VALUES ", "(?"+strings.Repeat(", ?", len(values)-1)+")",
				") AS v CROSS JOIN "+s.Join+" AS a WHERE a.name = v.column1")
		}
	case sqlstore.Update:
		s.SQL = "UPDATE " + s.Table + " AS t SET " + strings.Join(sets, ", ") + where
	case sqlstore.Upsert:
		s.SQL = "INSERT INTO " + s.Table + " AS t (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") +
			") ON CONFLICT (" + strings.Join(keys, ", ") + ") DO UPDATE SET " + s.Merge
	case sqlstore.Delete:
		s.SQL = "DELETE FROM " + s.Table + " AS t" + where
	}
}

// write sends buffered writes, with several rows a statement where SQLite can.
func (c *conn) write(w *sqlstore.Writes) error {
	for _, r := range w.Statements {
		var err error
		switch sql := r.SQL.(type) {
		case *multiInsert:
			err = c.insert(sql, r)
		case string:
			err = c.change(sql, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// change runs a statement for each row. Each time it must change one row.
func (c *conn) change(sql string, rows *sqlstore.Rows) error {
	for i := range rows.Count {
		c.args = rows.Append(c.args[:0], i)
		n, err := c.execRows(sql, c.args)
		if err != nil {
			return err
		}
		if n != 1 {
			return errRowChanged
		}
	}
	return nil
}

// insertSizes is how many statements insert into a table: the i-th inserts 1<<i rows.
const insertSizes = 6

// multiInsert holds the statements that insert 1, 2, 4 … rows into a table at once,
// because a statement costs as much as some rows; see docs/notes/performance.md.
//
// They say OR FAIL: a failure drops the whole batch anyway, and SQLite need not remember
// the rows before it.
type multiInsert [insertSizes]string

func newMultiInsert(before, row, after string) *multiInsert {
	var all multiInsert
	for i := range all {
		all[i] = "INSERT OR FAIL INTO " + before + row + strings.Repeat(", "+row, 1<<i-1) + after
	}
	return &all
}

func (c *conn) insert(by *multiInsert, rows *sqlstore.Rows) error {
	for from := 0; from < rows.Count; {
		size := insertSizes - 1
		for 1<<size > rows.Count-from {
			size--
		}
		c.args = c.args[:0]
		for range 1 << size {
			c.args = rows.Append(c.args, from)
			from++
		}
		n, err := c.execRows(by[size], c.args)
		if err != nil {
			return err
		}
		if n != 1<<size {
			return errRowChanged
		}
	}
	return nil
}
