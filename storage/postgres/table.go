package postgres

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/declared"
	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
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

	lists *sqltext.Lists
}

// dialect is PostgreSQL's.
var dialect = sqltext.Dialect{
	Parameter: func(n int) string { return "$" + strconv.Itoa(n) },
	Limit:     func(parameter string) string { return parameter },
	Cursor:    cursor,
}

var arrayOf = map[storage.Type]string{
	storage.Text: "text[]", storage.Int: "bigint[]", storage.Bool: "boolean[]", storage.Time: "bigint[]",
}

func newTable(schema string, k *storage.Kind) *table {
	name := sqltext.Quote(schema) + "." + sqltext.Quote(k.Name)
	all := columns(k, "", true)
	b := &table{kind: k, name: name, find: map[string]string{}, lists: sqltext.NewLists(&dialect, k, name, all, all)}
	b.get = "SELECT " + all + " FROM " + name + " WHERE merchant = $1 AND live = $2 AND id = $3"

	names := []string{"merchant", "live", "id", "version"}
	types := []string{"text[]", "boolean[]", "text[]", "bigint[]"}
	sets := []string{"version = v.version"}
	for _, c := range k.Columns {
		names = append(names, sqltext.Quote(c.Name))
		types = append(types, arrayOf[c.Type])
		sets = append(sets, sqltext.Quote(c.Name)+" = v."+sqltext.Quote(c.Name))
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
			add(sqltext.Quote(c))
		}
		b.find[key.Name] = "SELECT " + columns(k, "", false) + " FROM " + name + " WHERE " + strings.Join(conditions, " AND ")
	}

	if k.Due != "" {
		due := sqltext.Quote(k.Due)
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
		statement, sqltext.Quote(schema), parameter)
}

// columns names what scan reads. A scope that the caller knows is not read.
func columns(k *storage.Kind, of string, scoped bool) string {
	names := []string{of + "id", of + "version"}
	for _, c := range k.Columns {
		names = append(names, of+sqltext.Quote(c.Name))
	}
	names = append(names, of+"data")
	if !scoped {
		names = append(names, of+"merchant", of+"live")
	}
	return strings.Join(names, ", ")
}

// loaded is the inverse of sqltext.Stored.
func loaded(is storage.Type, v any) any {
	if n, ok := v.(int64); ok && is == storage.Time {
		return time.UnixMilli(n).UTC()
	}
	return v
}

// learn makes kinds known to transactions that begin from now on, and forgets
// descriptions of the same kind that say something else.
func (s *Store) learn(kinds []*storage.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tables := maps.Clone(*s.tables.Load())
	for _, k := range kinds {
		maps.DeleteFunc(tables, func(old *storage.Kind, _ *table) bool {
			return old.Name == k.Name && !declared.Same(old, k)
		})
		if tables[k] == nil {
			tables[k] = newTable(s.config.Schema, k)
		}
	}
	s.tables.Store(&tables)
}
