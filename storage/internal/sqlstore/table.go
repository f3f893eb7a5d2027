package sqlstore

import (
	"encoding/binary"
	"maps"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/schema"
)

// Table is a defined kind with the statements that read its table. Statements bind all
// values. Only names are spliced into the text, and [storage.Kind.Validate] limits names
// to letters, digits and underscores.
type Table struct {
	Kind *storage.Kind
	// Name is the quoted name of the table with its schema.
	Name string
	// The statements that write. Lease is nil without a due column.
	Insert, Replace, Remove, Lease *Statement
	// InsertAt inserts records of an Ordered kind that come with a number. Insert gives them the next.
	InsertAt *Statement

	due           int // the column of the due time; -1 for none
	get           string
	find          []string // by the index of the key in Kind.Keys
	scan          string
	backlog       string
	claimDue      string
	claimByClock  string // for one clock
	claimByClocks string // for clocksAtOnce
	nextDue       string
	listColumns   string // that a list reads
	bareColumns   string // that a list reads for a query that is Bare
}

// recordCondition is the condition that selects one record.
func recordCondition(d *Dialect) string {
	return "merchant = " + d.Parameter(1) + " AND live = " + d.Parameter(2) + " AND id = " + d.Parameter(3)
}

func newTable(d *Dialect, k *storage.Kind) *Table {
	name := d.tableName(k.Name)
	all, scoped := columns(k, false), columns(k, true)
	t := &Table{Kind: k, Name: name, due: k.Column(k.Due), listColumns: scoped, bareColumns: bareColumns(k)}
	t.get = "SELECT " + scoped + " FROM " + name + " WHERE " + recordCondition(d)
	t.scan = "SELECT " + all + " FROM " + name + " WHERE (merchant, live, id) > (" + d.Parameter(1) + ", " + d.Parameter(2) + ", " +
		d.Parameter(3) + ") ORDER BY merchant, live, id LIMIT " + d.Limit(d.Parameter(4))
	for _, key := range k.Keys {
		var conditions []string
		where := func(column string) {
			conditions = append(conditions, column+" = "+d.Parameter(len(conditions)+1))
		}
		if !key.Global {
			where("merchant")
			where("live")
		}
		for _, c := range key.Columns {
			where(Quote(c))
		}
		t.find = append(t.find, "SELECT "+all+" FROM "+name+" WHERE "+strings.Join(conditions, " AND "))
	}
	if k.Due != "" {
		due, index := Quote(k.Due), d.indexHint(k.Name+".due.mode")
		// The index alone answers it; no row is read.
		t.backlog = "SELECT count(*), coalesce(min(" + due + "), 0) FROM (SELECT " + due + " FROM " + name + index +
			" WHERE live = " + d.Parameter(1) + " AND " + due + " <= " + d.Parameter(2) +
			" ORDER BY " + due + " LIMIT " + d.Limit(d.Parameter(3)) + ") AS found"
		t.claimDue = "SELECT " + all + " FROM " + name + index + " WHERE live = " + d.Parameter(1) + " AND " + due + " <= " + d.Parameter(2) +
			" AND lease <= " + d.Parameter(3) + " ORDER BY " + due + ", id LIMIT " + d.Limit(d.Parameter(4))
		if !k.OneQueue {
			t.claimByClock, t.claimByClocks = t.claimByClocksSQL(d, 1), t.claimByClocksSQL(d, clocksAtOnce)
			t.nextDue = t.nextDueSQL(d)
		}
	}
	return t
}

// clocksAtOnce is how many clocks one statement claims by, if there is more than one.
const clocksAtOnce = 16

// claimByClocksSQL returns the statement that claims by n clocks. Its arguments are, for
// each clock, the mode, the merchant, the due time, the current time and the limit; and
// then the total limit.
func (t *Table) claimByClocksSQL(d *Dialect, n int) string {
	all, due, index := columns(t.Kind, false), Quote(t.Kind.Due), d.indexHint(t.Kind.Name+".due.scope")
	var s strings.Builder
	for i := range n {
		if i > 0 {
			s.WriteString(" UNION ALL ")
		}
		p := func(k int) string { return d.Parameter(5*i + k) }
		s.WriteString("SELECT * FROM (SELECT " + all + " FROM " + t.Name + index + " WHERE live = " + p(1) +
			" AND merchant = " + p(2) + " AND " + due + " <= " + p(3) + " AND lease <= " + p(4) +
			" ORDER BY " + due + ", id LIMIT " + d.Limit(p(5)) + ") AS found")
	}
	return s.String() + " LIMIT " + d.Limit(d.Parameter(5*n+1))
}

// nextDueSQL returns the statement that walks from one merchant of a mode to the next,
// with one index lookup for each. Its arguments are the mode, the first merchant, the
// mode twice more, and the limit.
func (t *Table) nextDueSQL(d *Dialect) string {
	due := Quote(t.Kind.Due)
	first := func(what, from string) string {
		return "(SELECT " + what + " FROM " + t.Name + d.indexHint(t.Kind.Name+".due.scope") + " WHERE live = " + from +
			" AND " + due + " IS NOT NULL ORDER BY merchant, " + due + " LIMIT 1)"
	}
	return "WITH RECURSIVE found(merchant) AS (SELECT " + first("merchant", d.Parameter(1)+" AND merchant >= "+d.Parameter(2)) +
		" UNION ALL SELECT " + first("merchant", d.Parameter(3)+" AND merchant > found.merchant") +
		" FROM found WHERE found.merchant IS NOT NULL) SELECT merchant, " +
		first(due, d.Parameter(4)+" AND merchant = found.merchant") +
		" FROM found WHERE merchant IS NOT NULL LIMIT " + d.Limit(d.Parameter(5))
}

// bareColumns returns columns without the promoted ones, which take more than half of the time of a list.
func bareColumns(k *storage.Kind) string { return columns(&storage.Kind{Ordered: k.Ordered}, true) }

// Columns returns the columns of a row for [Fetch].AddRecord.
func (t *Table) Columns() string { return columns(t.Kind, false) }

// columns returns the columns that [DecodeRow] reads. With scoped it leaves out the
// scope, which the caller knows.
func columns(k *storage.Kind, scoped bool) string {
	var s strings.Builder
	s.WriteString("id, version, ")
	for _, c := range k.Columns {
		s.WriteString(Quote(c.Name) + ", ")
	}
	s.WriteString("data")
	if !scoped {
		s.WriteString(", merchant, live")
	}
	if k.Ordered {
		s.WriteString(", number")
	}
	return s.String()
}

// DecodeRow reads a row of columns or bareColumns. promoted are the promoted columns in it. With a nil
// scope the row has the scope.
func DecodeRow(row Row, k *storage.Kind, promoted []storage.Column, scope *storage.Scope) (storage.Record, error) {
	v, err := row.Values()
	if err != nil {
		return storage.Record{}, err
	}
	n := len(promoted)
	r := storage.Record{ID: v[0].(string), Version: v[1].(int64), Data: v[2+n].([]byte)}
	if n > 0 {
		r.Columns = v[2 : 2+n : 2+n]
	}
	for i, c := range promoted {
		r.Columns[i] = decode(c.Type, r.Columns[i])
	}
	if scope != nil {
		r.Scope = *scope
	} else {
		live, _ := decode(storage.Bool, v[4+n]).(bool)
		r.Scope = storage.Scope{Merchant: v[3+n].(string), Live: live}
	}
	if k.Ordered {
		r.Number = v[len(v)-1].(int64)
	}
	return r, nil
}

// decode is the inverse of [Encode].
func decode(is storage.Type, v any) any {
	if n, ok := v.(int64); ok {
		switch is {
		case storage.Bool:
			return n != 0
		case storage.Time:
			return time.UnixMilli(n).UTC()
		}
	}
	return v
}

// findArgs returns the arguments of the statement that finds a record by a unique key.
func findArgs(key *storage.Key, s storage.Scope, values []any) []any {
	args := make([]any, 0, 8)
	if !key.Global {
		args = append(args, s.Merchant, s.Live)
	}
	for _, v := range values {
		args = append(args, Encode(v))
	}
	return args
}

// eachUniqueKey calls f with the index and the encoding of each unique key of a record.
func (t *Table) eachUniqueKey(r *storage.Record, f func(i int, key string)) {
	for i := range t.Kind.Keys {
		if key, ok := t.uniqueKey(i, r); ok {
			f(i, key)
		}
	}
}

// uniqueKey returns the encoding of a record's unique key, or false if a null keeps the
// record out of the key.
func (t *Table) uniqueKey(i int, r *storage.Record) (string, bool) {
	k := &t.Kind.Keys[i]
	var buffer [8]any
	values := buffer[:0]
	for _, column := range k.Columns {
		if column == "id" {
			values = append(values, r.ID)
			continue
		}
		v := r.Columns[t.Kind.Column(column)]
		if v == nil {
			return "", false
		}
		values = append(values, Encode(v))
	}
	return t.encodeKey(i, r.Scope, values), true
}

// encodeKey encodes a unique key as a text that no other key has. values are encoded.
func (t *Table) encodeKey(i int, s storage.Scope, values []any) string {
	k := &t.Kind.Keys[i]
	text := make([]byte, 0, 96)
	add := func(s string) {
		text = binary.AppendUvarint(text, uint64(len(s)))
		text = append(text, s...)
	}
	add(t.Kind.Name)
	text = append(text, byte(i))
	if !k.Global {
		add(s.Merchant)
		text = appendBool(text, s.Live)
	}
	for _, v := range values {
		switch v := v.(type) {
		case string:
			add(v)
		case int64:
			text = binary.BigEndian.AppendUint64(text, uint64(v))
		case bool:
			text = appendBool(text, v)
		}
	}
	return string(text)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// Register makes kinds known to transactions that begin from now on. It forgets differing
// declarations of the same kind, and shares the table among equal ones.
func (s *Store) Register(kinds []*storage.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tables := maps.Clone(*s.tables.Load())
	for _, k := range kinds {
		var table *Table
		for known, t := range tables {
			switch {
			case known.Name != k.Name:
			case schema.Same(known, k):
				table = t
			default:
				delete(tables, known)
			}
		}
		if table == nil {
			table = newTable(s.Dialect, k)
			s.prepareWrites(table)
		}
		tables[k] = table
	}
	s.tables.Store(&tables)
	s.checkedSchema.Store(nil)
}
