package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// arrayType holds the types of array parameters by those of columns, 0 for bytes.
var arrayType = map[storage.Type]string{
	storage.Text: "text[]", storage.Int: "bigint[]", storage.Bool: "boolean[]", storage.Time: "bigint[]", 0: "bytea[]",
}

// Prepare implements [sqlstore.Driver]. The SQL writes many rows at once. It has an array for each
// column, and then, if it changes or deletes rows, their number.
func (d driver) Prepare(s *sqlstore.Statement) {
	var names, types, values, sets, keys, same []string
	add := func(c sqlstore.WriteColumn) (value string) {
		types = append(types, arrayType[c.Type])
		return c.Value(fmt.Sprint("v.c", len(types)))
	}
	for _, c := range s.Set {
		value := add(c)
		names, values, sets = append(names, c.Name), append(values, value), append(sets, c.Name+" = "+value)
	}
	for _, c := range s.Key {
		value := add(c)
		keys, same = append(keys, c.Name), append(same, c.Condition(fmt.Sprint("v.c", len(types))))
		if s.Verb == sqlstore.Upsert {
			names, values = append(names, c.Name), append(values, value)
		}
	}
	var columns []string
	for i := range types {
		columns = append(columns, fmt.Sprint("c", i+1))
	}
	rows := "(" + unnest(types) + ") AS v(" + strings.Join(columns, ", ") + ")"
	where := " WHERE " + strings.Join(same, " AND ") + " RETURNING 1"
	insert := "INSERT INTO " + s.Table + " AS t (" + strings.Join(names, ", ") + ") SELECT " + strings.Join(values, ", ") + " FROM " + rows
	switch s.Verb {
	case sqlstore.Insert:
		s.SQL = insert
		if s.Join != "" {
			s.SQL = expectRows(d.config.Schema, len(types)+1, insert+" JOIN "+s.Join+" AS a ON a.name = v.c1 RETURNING 1")
		}
	case sqlstore.Upsert:
		s.SQL = insert + " ON CONFLICT (" + strings.Join(keys, ", ") + ") DO UPDATE SET " + s.Merge
	case sqlstore.Update:
		s.SQL = expectRows(d.config.Schema, len(types)+1, "UPDATE "+s.Table+" AS t SET "+strings.Join(sets, ", ")+" FROM "+rows+where)
	case sqlstore.Delete:
		s.SQL = expectRows(d.config.Schema, len(types)+1, "DELETE FROM "+s.Table+" AS t USING "+rows+where)
	}
}

// unnest returns a query that turns arrays of equal length into rows. The server makes
// each row on demand. "SELECT * FROM unnest($1, $2)" would materialize the arrays first;
// see docs/notes/performance.md.
func unnest(types []string) string {
	var s strings.Builder
	s.WriteString("SELECT ")
	for i, t := range types {
		if i > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, "unnest($%d::%s)", i+1, t)
	}
	return s.String()
}

// expectRows makes a statement, which returns a row for each that it changed, fail unless
// the number of rows is that of the last parameter.
func expectRows(schema string, parameter int, statement string) string {
	return fmt.Sprintf("WITH done AS (%s) %s FROM (SELECT count(*) FROM done) AS met(n)",
		statement, expect(schema, fmt.Sprintf("$%d::bigint", parameter)))
}

// expect returns the SELECT list of a statement that fails unless n is the wanted number. Only
// then it calls the function, which fails: a call of PL/pgSQL takes as long as a small statement.
func expect(schema, wanted string) string {
	return "SELECT CASE WHEN n = " + wanted + " THEN NULL ELSE " + sqlstore.Quote(schema) + ".storage_expect(n, " + wanted + ") END"
}

// encoder encodes buffered writes as arrays. It is reused for its memory.
type encoder struct {
	arrays map[*sqlstore.Statement]rows
	used   []rows
	values []any // of a row
}

// withEncoder calls use with an encoder that no other call uses.
func (s *Store) withEncoder(use func(*encoder) error) error {
	e := s.spareEncoder.Swap(nil)
	if e == nil {
		e = &encoder{arrays: map[*sqlstore.Statement]rows{}}
	}
	defer func() {
		for _, r := range e.used {
			r.clear()
		}
		e.used = e.used[:0]
		clear(e.values)
		s.spareEncoder.Store(e)
	}()
	return use(e)
}

func (e *encoder) queue(b *pgx.Batch, w *sqlstore.Writes) {
	for _, r := range w.Statements {
		into := e.arrays[r.Statement]
		if into == nil {
			for _, c := range slices.Concat(r.Set, r.Key) {
				into = append(into, array{element: elementOID[c.Type]})
			}
			e.arrays[r.Statement] = into
		}
		e.used = append(e.used, into)
		for i := range r.Count {
			e.values = r.Append(e.values[:0], i)
			into.add(e.values...)
		}
		if r.Verb == sqlstore.Upsert || r.Verb == sqlstore.Insert && r.Join == "" {
			b.Queue(r.SQL.(string), into.args()...)
		} else {
			b.Queue(r.SQL.(string), into.args(r.Count)...)
		}
	}
}
