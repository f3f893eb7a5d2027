package sqlstore

import (
	"math"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/storage"
)

// A list is in the order of ids. An index of a column has that order among equal values
// only, so that a list with further conditions has to search among records that are
// none of its own. There are two ways to find them, and which one is shorter depends on
// what is stored: to walk through the ids, as far as the page reaches, or to walk
// through the range of an indexed time, to its end. A search takes both by turns, a
// window at a time, and ends with the one that ends first. Thus it takes about twice as
// long as the shorter way, whichever that is. That ids and times ascend together is
// never assumed: test clocks move the times alone.
//
// No statement reads more than a window, so that a caller whose context ends waits for
// no more than that, also inside Update, where others share the transaction.

// The sizes of windows, in records. They grow, since a search that was short is over.
const (
	firstWindow = 128
	maxWindow   = 4096
	// perRecord is how many entries of an index are read in the time of a record.
	perRecord = 4
)

// list is how a query is answered.
type list struct {
	*readTx
	table    *Table
	query    storage.Query
	seek     int  // of query.Where, the condition that an index answers; -1 for none
	ranged   int  // of query.Range, the one that an index answers; -1 for none
	searches bool // whether there are conditions beyond seek
	wanted   []storage.Column
	// found and bytes are how many records were found, and what their documents have.
	found, bytes int
}

// ends counts a record that was found, and reports whether it ends the list.
func (s *list) ends(r *storage.Record) bool {
	s.found++
	s.bytes += len(r.Data)
	return s.query.Ends(s.found, s.bytes)
}

// list returns how a checked query is answered.
func (t *readTx) list(b *Table, q storage.Query) *list {
	s := &list{readTx: t, table: b, query: q, seek: -1, ranged: -1}
	if !q.Bare {
		s.wanted = b.Kind.Columns
	}
	best := math.MaxInt
	for i, e := range q.Where {
		c := b.Kind.Columns[b.Kind.Column(e.Column)]
		if rank := breadth(&c); c.Indexed && e.Value != nil && rank < best {
			s.seek, best = i, rank
		}
	}
	for i, r := range q.Range {
		if s.ranged < 0 && b.Kind.Columns[b.Kind.Column(r.Column)].Indexed && !(r.From.IsZero() && r.Until.IsZero()) {
			s.ranged = i
		}
	}
	s.searches = len(q.Range) > 0 || len(q.Where) > 1 || len(q.Where) > 0 && s.seek < 0
	return s
}

// breadth ranks columns by how many records have one value.
func breadth(c *storage.Column) int {
	switch {
	case c.Type == storage.Bool:
		return 1
	case len(c.OneOf) > 0:
		return 2
	}
	return 0
}

// page returns the records, in the order in which they were found.
func (s *list) page() ([]storage.Record, error) {
	var page []storage.Record
	var ids []string
	at := s.query.After + s.query.Before // at most one is set
	if !s.searches {
		return s.within(at, "", s.query.Limit)
	}
	from, until := s.bounds()
	for window := firstWindow; ; window = min(2*window, maxWindow) {
		if err := s.usable(); err != nil {
			return nil, err
		}
		edge, err := s.idAfter(at, window)
		if err != nil {
			return nil, err
		}
		found, err := s.within(at, edge, s.query.Limit-len(page))
		if err != nil {
			return nil, err
		}
		page = append(page, found...)
		if s.query.Ends(s.found, s.bytes) || edge == "" {
			return page, nil
		}
		at = edge
		if s.ranged < 0 {
			continue
		}
		if err := s.usable(); err != nil {
			return nil, err
		}
		next, err := s.timeBefore(from, until, perRecord*window)
		if err != nil {
			return nil, err
		}
		more, err := s.idsBetween(next, until)
		if err != nil {
			return nil, err
		}
		ids = s.first(append(ids, more...))
		if next == from {
			s.found, s.bytes = 0, 0
			return s.byIDs(ids)
		}
		until = next
	}
}

// place is a place in the index of a time.
type place struct {
	at int64
	id string
}

// bounds returns where the range begins and where it ends.
func (s *list) bounds() (from, until place) {
	from, until = place{at: math.MinInt64}, place{at: math.MaxInt64}
	if s.ranged >= 0 {
		r := s.query.Range[s.ranged]
		if !r.From.IsZero() {
			from.at = Ceiling(r.From)
		}
		if !r.Until.IsZero() {
			until.at = Ceiling(r.Until)
		}
	}
	return from, until
}

// first returns those ids that come first in the list, at most a page of them.
func (s *list) first(ids []string) []string {
	slices.Sort(ids)
	if s.query.Before == "" {
		slices.Reverse(ids)
	}
	return ids[:min(len(ids), s.query.Limit)]
}

// statement is one that is being written.
type statement struct {
	*list
	text strings.Builder
	args []any
}

// selecting begins a statement. index names the one that it is read by, or is empty.
func (s *list) selecting(columns, index string) *statement {
	st := &statement{list: s}
	if index != "" {
		index = s.store.index(index)
	}
	st.add("SELECT "+columns+" FROM "+s.table.Name+index+" WHERE merchant = ? AND live = ?", s.query.Scope.Merchant, s.query.Scope.Live)
	return st
}

// add adds text with its arguments, for each of which it has a question mark.
func (st *statement) add(text string, args ...any) {
	for i, part := range strings.Split(text, "?") {
		if i > 0 {
			st.args = append(st.args, args[i-1])
			st.text.WriteString(st.store.Parameter(len(st.args)))
		}
		st.text.WriteString(part)
	}
}

// limit adds LIMIT or OFFSET.
func (st *statement) limit(word string, n int) {
	st.args = append(st.args, n)
	st.text.WriteString(" " + word + " " + st.store.Limit(st.store.Parameter(len(st.args))))
}

// The order of a list, and the comparison of ids that come later in it.
func (s *list) order() (later, earlierOrEqual, direction string) {
	if s.query.Before != "" {
		return ">", "<=", ""
	}
	return "<", ">=", " DESC"
}

// idAfter returns the id that is so many after another one, "" if there is none. It
// counts those of the index alone.
func (s *list) idAfter(at string, n int) (id string, err error) {
	later, _, direction := s.order()
	st := s.selecting("id", "")
	st.seeking()
	if at != "" {
		st.add(" AND id "+later+" ?", s.store.cursor(at))
	}
	st.text.WriteString(" ORDER BY id" + direction + " LIMIT 1")
	st.limit("OFFSET", n-1)
	return id, st.query(func(row Row) error { return row.Scan(&id) })
}

// within returns the records after an id and up to another one, or to the end.
func (s *list) within(at, edge string, limit int) ([]storage.Record, error) {
	later, earlierOrEqual, direction := s.order()
	st := s.selecting(s.selected(), "")
	st.seeking()
	st.filtering(s.seek, -1)
	if at != "" {
		st.add(" AND id "+later+" ?", s.store.cursor(at))
	}
	if edge != "" {
		st.add(" AND id "+earlierOrEqual+" ?", edge)
	}
	st.text.WriteString(" ORDER BY id" + direction)
	st.limit("LIMIT", limit)
	return s.records(s.table, limit, s.wanted, &s.query.Scope, s.ends, st.text.String(), st.args...)
}

func (s *list) selected() string {
	if s.query.Bare {
		return bareColumns
	}
	return s.table.columns
}

// rangeColumn returns the column of the range that an index answers, and the index.
func (s *list) rangeColumn() (quoted, index string) {
	name := s.query.Range[s.ranged].Column
	return Quote(name), s.table.Kind.Name + ".by." + name
}

// timeBefore returns the place that is so many before the end of a range, or the range's
// beginning, if that is nearer.
func (s *list) timeBefore(from, until place, n int) (place, error) {
	column, index := s.rangeColumn()
	st := s.selecting(column+", id", index)
	st.between(column, from, until)
	st.text.WriteString(" ORDER BY " + column + " DESC, id DESC LIMIT 1")
	st.limit("OFFSET", n-1)
	found := from
	return found, st.query(func(row Row) error { return row.Scan(&found.at, &found.id) })
}

// idsBetween returns the ids of a range that come first in the list, at most a page.
func (s *list) idsBetween(from, until place) (ids []string, err error) {
	later, _, direction := s.order()
	column, index := s.rangeColumn()
	st := s.selecting("id", index)
	st.between(column, from, until)
	st.filtering(-1, s.ranged)
	if at := s.query.After + s.query.Before; at != "" {
		st.add(" AND id || '' "+later+" ?", s.store.cursor(at))
	}
	st.text.WriteString(" ORDER BY id || ''" + direction)
	st.limit("LIMIT", s.query.Limit)
	err = st.query(func(row Row) error {
		var id string
		err := row.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// byIDs returns records by their ids.
func (s *list) byIDs(ids []string) ([]storage.Record, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	_, _, direction := s.order()
	st := s.selecting(s.selected(), "")
	st.add(" AND id IN (?", ids[0])
	for i := 1; i < len(ids) || i&(i-1) != 0; i++ { // some lengths, so that there are few statements
		st.add(", ?", ids[min(i, len(ids)-1)])
	}
	st.text.WriteString(") ORDER BY id" + direction)
	return s.records(s.table, len(ids), s.wanted, &s.query.Scope, s.ends, st.text.String(), st.args...)
}

// query runs the statement.
func (st *statement) query(scan func(Row) error) error {
	return st.readTx.query("read", st.table.Kind.Name, scan, st.text.String(), st.args...)
}

// seeking adds the condition that an index answers.
func (st *statement) seeking() {
	if st.seek >= 0 {
		e := st.list.query.Where[st.seek]
		st.add(" AND "+Quote(e.Column)+" = ?", Stored(e.Value))
	}
}

// between adds a range of places. It leaves out nulls.
func (st *statement) between(column string, from, until place) {
	st.add(" AND ("+column+", id) >= (?, ?) AND ("+column+", id) < (?, ?)", from.at, from.id, until.at, until.id)
}

// filtering adds the conditions except those. They are written as expressions, so that
// the planner does not choose another index by them, whose records are in no window.
func (st *statement) filtering(seek, ranged int) {
	q := &st.list.query
	for i, e := range q.Where {
		switch {
		case i == seek:
		case e.Value == nil:
			st.add(" AND " + Quote(e.Column) + " IS NULL")
		default:
			st.add(" AND "+st.unindexed(e.Column)+" = ?", Stored(e.Value))
		}
	}
	for i, r := range q.Range {
		if i == ranged {
			continue
		}
		if r.From.IsZero() && r.Until.IsZero() {
			st.add(" AND " + Quote(r.Column) + " IS NOT NULL")
		}
		if !r.From.IsZero() {
			st.add(" AND "+st.unindexed(r.Column)+" >= ?", Ceiling(r.From))
		}
		if !r.Until.IsZero() {
			st.add(" AND "+st.unindexed(r.Column)+" < ?", Ceiling(r.Until))
		}
	}
}

// unindexed returns an expression that has a column's value and no index.
func (st *statement) unindexed(column string) string {
	quoted := Quote(column)
	switch k := st.table.Kind; k.Columns[k.Column(column)].Type {
	case storage.Text:
		return quoted + " || ''"
	case storage.Int, storage.Time:
		return quoted + " + 0"
	}
	return quoted
}
