package postgres

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// table is a defined kind with the statements that work on its table. Values
// are always bound; what is spliced into the text are names, which
// [storage.Kind.Validate] has limited to letters, digits and underscores.
type table struct {
	kind *storage.Kind
	name string // with its schema

	get, backlog                       string
	due, dueScoped, claim, claimScoped string            // what is due, and the same with a lease
	find                               map[string]string // by name of the key
	insert, replace, remove            string            // of many rows at once

	mu    sync.RWMutex
	lists map[string]string // by shape, so that a prepared statement is found again
}

// maxShapes bounds the statements that are kept. A program has fewer, because
// their text depends on the shape of queries, never on values.
const maxShapes = 512

var arrayOf = map[storage.Type]string{
	storage.Text: "text[]", storage.Int: "bigint[]", storage.Bool: "boolean[]", storage.Time: "bigint[]",
}

func newTable(schema string, k *storage.Kind) *table {
	name := quote(schema) + "." + quote(k.Name)
	b := &table{kind: k, name: name, find: map[string]string{}, lists: map[string]string{}}
	b.get = "SELECT " + columns(k, "", true) + " FROM " + name + " WHERE merchant = $1 AND live = $2 AND id = $3"

	names := []string{"merchant", "live", "id", "version"}
	types := []string{"text[]", "boolean[]", "text[]", "bigint[]"}
	sets := []string{"version = v.version"}
	for _, c := range k.Columns {
		names = append(names, quote(c.Name))
		types = append(types, arrayOf[c.Type])
		sets = append(sets, quote(c.Name)+" = v."+quote(c.Name))
	}
	names, types = append(names, "data"), append(types, "bytea[]")
	sets = append(sets, "data = v.data")
	if k.Due != "" {
		sets = append(sets, "lease = 0")
	}
	b.insert = "INSERT INTO " + name + " (" + strings.Join(names, ", ") + ") " + unnest(types)
	same := " WHERE t.merchant = v.merchant AND t.live = v.live AND t.id = v.id AND t.version = v.stored RETURNING 1"
	names, types = append(names, "stored"), append(types, "bigint[]")
	b.replace = expecting(schema, len(types)+1, "UPDATE "+name+" AS t SET "+strings.Join(sets, ", ")+
		" FROM ("+unnest(types)+") AS v("+strings.Join(names, ", ")+")"+same)
	b.remove = expecting(schema, 5, "DELETE FROM "+name+" AS t USING ("+
		unnest([]string{"text[]", "boolean[]", "text[]", "bigint[]"})+") AS v(merchant, live, id, stored)"+same)

	for _, key := range k.Keys {
		conditions, n := []string{}, 0
		add := func(column string) {
			n++
			conditions = append(conditions, fmt.Sprintf("%s = $%d", column, n))
		}
		if !key.Global {
			add("merchant")
			add("live")
		}
		for _, c := range key.Columns {
			add(quote(c))
		}
		b.find[key.Name] = "SELECT " + columns(k, "", false) + " FROM " + name + " WHERE " + strings.Join(conditions, " AND ")
	}

	if k.Due != "" {
		due := quote(k.Due)
		found := func(columns, scope string) string {
			return "SELECT " + columns + " FROM " + name +
				" WHERE " + due + " <= $1 AND lease <= $2" + scope + " ORDER BY " + due + ", id LIMIT $3"
		}
		b.due = found(columns(k, "", false), "")
		b.dueScoped = found(columns(k, "", false), " AND merchant = $4 AND live = $5")
		claim := func(scope string) string {
			return "WITH found AS MATERIALIZED (" + found("merchant, live, id", scope) + " FOR UPDATE SKIP LOCKED)" +
				" UPDATE " + name + " AS t SET lease = $4, version = t.version + 1 FROM found AS f" +
				" WHERE t.merchant = f.merchant AND t.live = f.live AND t.id = f.id" +
				" RETURNING " + columns(k, "t.", false)
		}
		b.backlog = "SELECT count(*), coalesce(min(" + due + "), 0) FROM (SELECT " + due + " FROM " + name +
			" WHERE " + due + " <= $1 ORDER BY " + due + " LIMIT $2) AS found"
		b.claim = claim("")
		b.claimScoped = claim(" AND merchant = $5 AND live = $6")
	}
	return b
}

// unnest is a query that turns arrays, which are of one length, into rows. The
// server makes each row when it is asked for. "SELECT * FROM unnest($1, $2)" puts all
// values of each array aside first, which was a tenth of its time for an insert.
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

// expecting makes a statement that returns a row for each that it changed fail
// unless there are as many as the last parameter says.
func expecting(schema string, parameter int, statement string) string {
	return fmt.Sprintf("WITH done AS (%s) SELECT %s.storage_expect((SELECT count(*) FROM done), $%d)",
		statement, quote(schema), parameter)
}

// columns names what scan reads. A scope that the caller knows is not read.
func columns(k *storage.Kind, of string, scoped bool) string {
	names := []string{of + "id", of + "version"}
	for _, c := range k.Columns {
		names = append(names, of+quote(c.Name))
	}
	names = append(names, of+"data")
	if !scoped {
		names = append(names, of+"merchant", of+"live")
	}
	return strings.Join(names, ", ")
}

// list returns the statement for a checked query, and its arguments.
func (b *table) list(q storage.Query) (string, []any) {
	var buffer [64]byte
	shape := buffer[:0]
	args := []any{q.Scope.Merchant, q.Scope.Live}
	for _, e := range q.Where {
		if e.Value == nil {
			shape = append(shape, 'n', byte(b.kind.Column(e.Column)))
			continue
		}
		shape = append(shape, 'e', byte(b.kind.Column(e.Column)))
		args = append(args, stored(e.Value))
	}
	for _, r := range q.Range {
		column := byte(b.kind.Column(r.Column))
		if r.From.IsZero() && r.Until.IsZero() {
			shape = append(shape, 's', column)
		}
		if !r.From.IsZero() {
			shape = append(shape, 'f', column)
			args = append(args, ceiling(r.From))
		}
		if !r.Until.IsZero() {
			shape = append(shape, 'u', column)
			args = append(args, ceiling(r.Until))
		}
	}
	switch {
	case q.After != "":
		shape = append(shape, '<')
		args = append(args, cursor(q.After))
	case q.Before != "":
		shape = append(shape, '>')
		args = append(args, cursor(q.Before))
	}
	args = append(args, q.Limit)

	b.mu.RLock()
	text, ok := b.lists[string(shape)]
	b.mu.RUnlock()
	if !ok {
		text = b.listing(shape)
		b.mu.Lock()
		if len(b.lists) >= maxShapes {
			clear(b.lists)
		}
		b.lists[string(shape)] = text
		b.mu.Unlock()
	}
	return text, args
}

// listing writes the statement of a shape, which is a sequence of conditions: a
// letter and, for all but the cursors, the index of a column.
func (b *table) listing(shape []byte) string {
	var s strings.Builder
	s.WriteString("SELECT " + columns(b.kind, "", true) + " FROM " + b.name + " WHERE merchant = $1 AND live = $2")
	n, order := 2, " ORDER BY id DESC"
	for i := 0; i < len(shape); i++ {
		switch shape[i] {
		case '<':
			n++
			fmt.Fprintf(&s, " AND id < $%d", n)
			continue
		case '>':
			n++
			fmt.Fprintf(&s, " AND id > $%d", n)
			order = " ORDER BY id"
			continue
		}
		s.WriteString(" AND " + quote(b.kind.Columns[shape[i+1]].Name) + conditions[shape[i]])
		if shape[i] != 'n' && shape[i] != 's' {
			n++
			fmt.Fprintf(&s, "$%d", n)
		}
		i++
	}
	return fmt.Sprintf("%s%s LIMIT $%d", s.String(), order, n+1)
}

var conditions = map[byte]string{
	'e': " = ", 'n': " IS NULL", 's': " IS NOT NULL", 'f': " >= ", 'u': " < ",
}

// stored returns a column's value as the database keeps it.
func stored(v any) any {
	if at, ok := v.(time.Time); ok {
		return at.UnixMilli()
	}
	return v
}

// loaded is the inverse of stored.
func loaded(is storage.Type, v any) any {
	if n, ok := v.(int64); ok && is == storage.Time {
		return time.UnixMilli(n).UTC()
	}
	return v
}

// ceiling returns the first instant that is stored and not before t.
func ceiling(t time.Time) int64 {
	n := t.UnixMilli()
	if time.UnixMilli(n).Before(t) {
		n++
	}
	return n
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// learn makes kinds known to transactions that begin from now on, and forgets
// an earlier description of the same kind that had fewer columns.
func (s *Store) learn(kinds []*storage.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tables := maps.Clone(*s.tables.Load())
	for _, k := range kinds {
		maps.DeleteFunc(tables, func(old *storage.Kind, _ *table) bool {
			return old.Name == k.Name && len(old.Columns) < len(k.Columns)
		})
		if tables[k] == nil {
			tables[k] = newTable(s.config.Schema, k)
		}
	}
	s.tables.Store(&tables)
}
