package sqlite

import (
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

	get, exists, newest       string
	insert                    string // where a unique key decides
	inserts                   insertion
	rewrite, remove           string
	claim, claimScoped, lease string
	backlog                   string
	find                      map[string]string // by name of the key
	keys                      [][]int           // of each unique key the columns beside the id

	mu    sync.RWMutex
	lists map[string]string // by shape, so that a prepared statement is found again
}

// record is the condition that selects one record.
const record = `merchant = ? AND live = ? AND id = ?`

func newTable(k *storage.Kind) *table {
	name := quote(k.Name)
	b := &table{kind: k, find: map[string]string{}, lists: map[string]string{}}
	b.get = "SELECT " + columns(k, true) + " FROM " + name + " WHERE " + record
	b.exists = "SELECT 1 FROM " + name + " WHERE " + record
	b.newest = "SELECT id FROM " + name + " WHERE merchant = ? AND live = ? ORDER BY id DESC LIMIT 1"
	b.remove = "DELETE FROM " + name + " WHERE " + record + " AND version = ?"

	var names, marks, sets strings.Builder
	for _, c := range k.Columns {
		names.WriteString(quote(c.Name) + ", ")
		marks.WriteString("?, ")
		sets.WriteString(quote(c.Name) + " = ?, ")
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
			conditions = append(conditions, quote(c)+" = ?")
		}
		b.find[key.Name] = "SELECT " + columns(k, !key.Global) + " FROM " + name +
			" WHERE " + strings.Join(conditions, " AND ")
	}

	if k.Due != "" {
		due := quote(k.Due)
		// Without statistics the planner would read a merchant's whole history
		// to claim from one scope.
		from := " FROM " + name + " INDEXED BY " + quote(k.Name+".due") + " WHERE " + due + " <= ? AND lease <= ?"
		order := " ORDER BY " + due + ", id LIMIT ? + 0"
		b.claim = "SELECT " + columns(k, false) + from + order
		b.claimScoped = "SELECT " + columns(k, true) + from + " AND merchant = ? AND live = ?" + order
		// The index has all that is counted; no row is read.
		b.backlog = "SELECT count(*), coalesce(min(" + due + "), 0) FROM (SELECT " + due + " FROM " + name +
			" INDEXED BY " + quote(k.Name+".due") + " WHERE " + due + " <= ? ORDER BY " + due + " LIMIT ? + 0)"
		b.lease = "UPDATE " + name + " SET lease = ?, version = version + 1 WHERE " + record
	}
	return b
}

// bareColumns names what conn.scan reads of a record whose columns nobody looks at.
// More than half of a list is the way of its values through the driver; without three
// columns, a list of 20 over HTTP went from 0.32 to 0.36 of a bare handler's rate.
const bareColumns = "id, version, data"

// columns names what conn.scan reads. A scope that the caller knows is not
// read.
func columns(k *storage.Kind, scoped bool) string {
	var s strings.Builder
	s.WriteString("id, version, ")
	for _, c := range k.Columns {
		s.WriteString(quote(c.Name) + ", ")
	}
	s.WriteString("data")
	if !scoped {
		s.WriteString(", merchant, live")
	}
	return s.String()
}

// list returns the statement for a checked query, and its arguments appended
// to args.
func (b *table) list(q storage.Query, args []any) (string, []any) {
	var buffer [64]byte
	shape := append(buffer[:0], 'c')
	if q.Bare {
		shape[0] = 'b'
	}
	args = append(args, q.Scope.Merchant, q.Scope.Live)
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
		args = append(args, q.After)
	case q.Before != "":
		shape = append(shape, '>')
		args = append(args, q.Before)
	}
	args = append(args, q.Limit)

	b.mu.RLock()
	text, ok := b.lists[string(shape)]
	b.mu.RUnlock()
	if !ok {
		text = b.listing(shape)
		b.mu.Lock()
		if len(b.lists) >= maxStatements {
			clear(b.lists)
		}
		b.lists[string(shape)] = text
		b.mu.Unlock()
	}
	return text, args
}

// listing writes the statement of a shape, which says whether the promoted columns are
// read, and then is a sequence of conditions: a letter and, for all but the cursors, the
// index of a column.
//
// It has LIMIT ? + 0, as the statements that claim have: SQLite looks at what is bound to
// a plain LIMIT ? when it plans, and so would plan anew for every list, which was a
// fifth of its time.
func (b *table) listing(shape []byte) string {
	var s strings.Builder
	selected := columns(b.kind, true)
	if shape[0] == 'b' {
		selected = bareColumns
	}
	s.WriteString("SELECT " + selected + " FROM " + quote(b.kind.Name) + " WHERE merchant = ? AND live = ?")
	order := " ORDER BY id DESC LIMIT ? + 0"
	for i := 1; i < len(shape); i++ {
		switch shape[i] {
		case '<':
			s.WriteString(" AND id < ?")
			continue
		case '>':
			s.WriteString(" AND id > ?")
			order = " ORDER BY id LIMIT ? + 0"
			continue
		}
		s.WriteString(" AND " + quote(b.kind.Columns[shape[i+1]].Name) + conditions[shape[i]])
		i++
	}
	return s.String() + order
}

var conditions = map[byte]string{
	'e': " = ?", 'n': " IS NULL", 's': " IS NOT NULL", 'f': " >= ?", 'u': " < ?",
}

// ceiling returns the first instant that is stored and not before t.
func ceiling(t time.Time) int64 {
	n := t.UnixMilli()
	if time.UnixMilli(n).Before(t) {
		n++
	}
	return n
}

func quote(name string) string { return `"` + name + `"` }

// learn makes kinds known to transactions that begin from now on, and forgets
// an earlier description of the same kind that had fewer columns. Whoever describes a
// kind as it is known already means the same table, of which much is kept by its address.
func (s *Store) learn(kinds []*storage.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tables := maps.Clone(*s.tables.Load())
	for _, k := range kinds {
		maps.DeleteFunc(tables, func(old *storage.Kind, _ *table) bool {
			return old.Name == k.Name && len(old.Columns) < len(k.Columns)
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
		if known.Name == k.Name && len(known.Columns) == len(k.Columns) && len(known.Keys) == len(k.Keys) {
			return b
		}
	}
	return newTable(k)
}
