package sqlite

import (
	"maps"
	"strings"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/declared"
	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
)

// table is a defined kind with the statements that work on its table. Values
// are always bound; what is spliced into the text are names, which
// [storage.Kind.Validate] has limited to letters, digits and underscores.
type table struct {
	kind *storage.Kind

	get, exists, newest       string
	insert                    string // where a unique key decides
	inserts                   insertion
	rewrite, remove           string
	claim, claimScoped, lease string
	backlog                   string
	find                      map[string]string // by name of the key
	keys                      [][]int           // of each unique key the columns beside the id

	lists *sqltext.Lists
}

// record is the condition that selects one record.
const record = `merchant = ? AND live = ? AND id = ?`

func newTable(k *storage.Kind) *table {
	name := sqltext.Quote(k.Name)
	b := &table{kind: k, find: map[string]string{}, lists: sqltext.NewLists(&dialect, k, name, columns(k, true), bareColumns)}
	b.get = "SELECT " + columns(k, true) + " FROM " + name + " WHERE " + record
	b.exists = "SELECT 1 FROM " + name + " WHERE " + record
	b.newest = "SELECT id FROM " + name + " WHERE merchant = ? AND live = ? ORDER BY id DESC LIMIT 1"
	b.remove = "DELETE FROM " + name + " WHERE " + record + " AND version = ?"

	var names, marks, sets strings.Builder
	for _, c := range k.Columns {
		names.WriteString(sqltext.Quote(c.Name) + ", ")
		marks.WriteString("?, ")
		sets.WriteString(sqltext.Quote(c.Name) + " = ?, ")
	}
	into := name + " (merchant, live, id, version, " + names.String() + "data)"
	b.insert = "INSERT INTO " + into + " VALUES (?, ?, ?, ?, " + marks.String() + "?) ON CONFLICT DO NOTHING"
	b.inserts = newInsertion(into, len(k.Columns)+5)
	if k.Due != "" {
		sets.WriteString("lease = 0, ")
	}
	b.rewrite = "UPDATE " + name + " SET version = ?, " + sets.String() + "data = ?" +
		" WHERE " + record + " AND version = ?"

	for _, key := range k.Keys {
		var of []int
		for _, c := range key.Columns {
			if i := k.Column(c); i >= 0 {
				of = append(of, i)
			}
		}
		b.keys = append(b.keys, of)
		conditions := make([]string, 0, len(key.Columns)+2)
		if !key.Global {
			conditions = append(conditions, "merchant = ?", "live = ?")
		}
		for _, c := range key.Columns {
			conditions = append(conditions, sqltext.Quote(c)+" = ?")
		}
		b.find[key.Name] = "SELECT " + columns(k, !key.Global) + " FROM " + name +
			" WHERE " + strings.Join(conditions, " AND ")
	}

	if k.Due != "" {
		due := sqltext.Quote(k.Due)
		// Without statistics the planner would read a merchant's whole history
		// to claim from one scope.
		from := " FROM " + name + " INDEXED BY " + sqltext.Quote(k.Name+".due") + " WHERE " + due + " <= ? AND lease <= ?"
		order := " ORDER BY " + due + ", id LIMIT ? + 0"
		b.claim = "SELECT " + columns(k, false) + from + order
		b.claimScoped = "SELECT " + columns(k, true) + from + " AND merchant = ? AND live = ?" + order
		// The index has all that is counted; no row is read.
		b.backlog = "SELECT count(*), coalesce(min(" + due + "), 0) FROM (SELECT " + due + " FROM " + name +
			" INDEXED BY " + sqltext.Quote(k.Name+".due") + " WHERE " + due + " <= ? ORDER BY " + due + " LIMIT ? + 0)"
		b.lease = "UPDATE " + name + " SET lease = ?, version = version + 1 WHERE " + record
	}
	return b
}

// bareColumns names what conn.scan reads of a record whose columns nobody looks at.
// More than half of a list is the way of its values through the driver; without three
// columns, a list of 20 over HTTP went from 0.32 to 0.36 of a bare handler's rate.
const bareColumns = "id, version, data"

// dialect is SQLite's. It looks at what is bound to a plain LIMIT ? when it plans, and
// so would plan anew for every list, or claim, which was a fifth of its time.
var dialect = sqltext.Dialect{
	Parameter: func(int) string { return "?" },
	Limit:     func(parameter string) string { return parameter + " + 0" },
}

// columns names what conn.scan reads. A scope that the caller knows is not
// read.
func columns(k *storage.Kind, scoped bool) string {
	var s strings.Builder
	s.WriteString("id, version, ")
	for _, c := range k.Columns {
		s.WriteString(sqltext.Quote(c.Name) + ", ")
	}
	s.WriteString("data")
	if !scoped {
		s.WriteString(", merchant, live")
	}
	return s.String()
}

// learn makes kinds known to transactions that begin from now on, and forgets
// descriptions of the same kind that say something else. A description that says the
// same means the same table, of which much is kept by its address.
func (s *Store) learn(kinds []*storage.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tables := maps.Clone(*s.tables.Load())
	for _, k := range kinds {
		maps.DeleteFunc(tables, func(old *storage.Kind, _ *table) bool {
			return old.Name == k.Name && !declared.Same(old, k)
		})
		if tables[k] == nil {
			tables[k] = tableOf(tables, k)
		}
	}
	s.tables.Store(&tables)
}

// tableOf returns the table of a kind, which may be known by another description.
func tableOf(tables map[*storage.Kind]*table, k *storage.Kind) *table {
	for known, b := range tables {
		if declared.Same(known, k) {
			return b
		}
	}
	return newTable(k)
}
