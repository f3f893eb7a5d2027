package sqlstore

import (
	"math"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/storage"
)

// A list is ordered by id. An index of a column has that order among equal values only, so
// a list with further conditions must search among records that do not match. It can walk
// through the ids until the page is full, or through the whole range of an indexed time.
// Which is shorter depends on the data. A search does both in turns, a window at a time,
// and ends with the walk that ends first. So it takes about twice as long as the shorter
// walk. It never assumes that ids and times ascend together: test clocks move only times.
//
// No statement reads more than a window. So a list ends soon after its context, also in an
// Update, where other calls share the transaction.

// The sizes of windows, in records. Windows grow, because only long searches go on.
const (
	firstWindow = 128
	maxWindow   = 4096
	// indexEntriesPerRecord is how many index entries take as long to read as a record.
	indexEntriesPerRecord = 4
)

// listQuery is the plan of one query.
type listQuery struct {
	*readTx
	table        *Table
	query        storage.Query
	seekWhere    int  // index in query.Where of the condition that an index answers; -1 for none
	seekRange    int  // index in query.Range of the range that an index answers; -1 for none
	filtered     bool // whether there are conditions besides seekWhere
	columns      []storage.Column
	found, bytes int
}

// countFound counts a record, and reports whether it completes the list.
func (s *listQuery) countFound(r *storage.Record) bool {
	s.found++
	s.bytes += len(r.Data)
	return s.query.IsFull(s.found, s.bytes)
}

// newListQuery plans a checked query.
func (t *readTx) newListQuery(table *Table, q storage.Query) *listQuery {
	s := &listQuery{readTx: t, table: table, query: q, seekWhere: -1, seekRange: -1}
	if !q.Bare {
		s.columns = table.Kind.Columns
	}
	best := math.MaxInt
	for i, e := range q.Where {
		c := table.Kind.Columns[table.Kind.Column(e.Column)]
		if rank := selectivity(&c); c.Indexed && e.Value != nil && rank < best {
			s.seekWhere, best = i, rank
		}
	}
	for i, r := range q.Range {
		if s.seekRange < 0 && table.Kind.Columns[table.Kind.Column(r.Column)].Indexed && !(r.From.IsZero() && r.Until.IsZero()) {
			s.seekRange = i
		}
	}
	s.filtered = len(q.Range) > 0 || len(q.Where) > 1 || len(q.Where) > 0 && s.seekWhere < 0
	return s
}

// selectivity ranks columns: the lower, the fewer records share a value.
func selectivity(c *storage.Column) int {
	switch {
	case c.Type == storage.Bool:
		return 1
	case len(c.OneOf) > 0:
		return 2
	}
	return 0
}

// page returns the records in the order of the search.
func (s *listQuery) page() ([]storage.Record, error) {
	var page []storage.Record
	var ids []string
	at := s.query.After + s.query.Before // at most one is set
	if !s.filtered {
		return s.recordsBetween(at, "", s.query.Limit)
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
		found, err := s.recordsBetween(at, edge, s.query.Limit-len(page))
		if err != nil {
			return nil, err
		}
		page = append(page, found...)
		if s.query.IsFull(s.found, s.bytes) || edge == "" {
			return page, nil
		}
		at = edge
		if s.seekRange < 0 {
			continue
		}
		if err := s.usable(); err != nil {
			return nil, err
		}
		next, err := s.timeBefore(from, until, indexEntriesPerRecord*window)
		if err != nil {
			return nil, err
		}
		more, err := s.idsBetween(next, until)
		if err != nil {
			return nil, err
		}
		ids = s.firstPage(append(ids, more...))
		if next == from {
			s.found, s.bytes = 0, 0
			return s.byIDs(ids)
		}
		until = next
	}
}

// timePosition is a position in the index of a time column.
type timePosition struct {
	at int64
	id string
}

// bounds returns the begin and the end of the range that an index answers.
func (s *listQuery) bounds() (from, until timePosition) {
	from, until = timePosition{at: math.MinInt64}, timePosition{at: math.MaxInt64}
	if s.seekRange >= 0 {
		r := s.query.Range[s.seekRange]
		if !r.From.IsZero() {
			from.at = CeilMillis(r.From)
		}
		if !r.Until.IsZero() {
			until.at = CeilMillis(r.Until)
		}
	}
	return from, until
}

// firstPage sorts ids by the order of the list, and returns at most a page of them.
func (s *listQuery) firstPage(ids []string) []string {
	slices.Sort(ids)
	if s.query.Before == "" {
		slices.Reverse(ids)
	}
	return ids[:min(len(ids), s.query.Limit)]
}

// statement is a statement under construction.
type statement struct {
	*listQuery
	text strings.Builder
	args []any
}

// newStatement begins a statement. index is the index to read by, "" for any.
func (s *listQuery) newStatement(columns, index string) *statement {
	st := &statement{listQuery: s}
	if index != "" {
		index = s.store.indexHint(index)
	}
	st.add("SELECT "+columns+" FROM "+s.table.Name+index+" WHERE merchant = ? AND live = ?", s.query.Scope.Merchant, s.query.Scope.Live)
	return st
}

// add appends text, in which each question mark stands for an argument.
func (st *statement) add(text string, args ...any) {
	for i, part := range strings.Split(text, "?") {
		if i > 0 {
			st.args = append(st.args, args[i-1])
			st.text.WriteString(st.store.Parameter(len(st.args)))
		}
		st.text.WriteString(part)
	}
}

// addLimit appends LIMIT or OFFSET.
func (st *statement) addLimit(word string, n int) {
	st.args = append(st.args, n)
	st.text.WriteString(" " + word + " " + st.store.Limit(st.store.Parameter(len(st.args))))
}

// order returns the operators that compare ids by the order of the list, and its
// direction.
func (s *listQuery) order() (later, earlierOrEqual, direction string) {
	if s.query.Before != "" {
		return ">", "<=", ""
	}
	return "<", ">=", " DESC"
}

// idAfter returns the id that is n positions after at, or "" if there is none. It counts
// the records that match seekWhere.
func (s *listQuery) idAfter(at string, n int) (id string, err error) {
	later, _, direction := s.order()
	st := s.newStatement("id", "")
	st.addSeekCondition()
	if at != "" {
		st.add(" AND id "+later+" ?", s.store.cursorText(at))
	}
	st.text.WriteString(" ORDER BY id" + direction + " LIMIT 1")
	st.addLimit("OFFSET", n-1)
	return id, st.query(func(row Row) error { return row.Scan(&id) })
}

// recordsBetween returns the matching records after the id at, up to the id edge or, if
// edge is "", to the end.
func (s *listQuery) recordsBetween(at, edge string, limit int) ([]storage.Record, error) {
	later, earlierOrEqual, direction := s.order()
	st := s.newStatement(s.selectList(), "")
	st.addSeekCondition()
	st.addFilters(s.seekWhere, -1)
	if at != "" {
		st.add(" AND id "+later+" ?", s.store.cursorText(at))
	}
	if edge != "" {
		st.add(" AND id "+earlierOrEqual+" ?", edge)
	}
	st.text.WriteString(" ORDER BY id" + direction)
	st.addLimit("LIMIT", limit)
	return s.records(s.table, limit, s.columns, &s.query.Scope, s.countFound, st.text.String(), st.args...)
}

func (s *listQuery) selectList() string {
	if s.query.Bare {
		return columnsWithoutPromoted
	}
	return s.table.listColumns
}

// rangeColumn returns the column of seekRange and its index.
func (s *listQuery) rangeColumn() (quoted, index string) {
	name := s.query.Range[s.seekRange].Column
	return Quote(name), s.table.Kind.Name + ".by." + name
}

// timeBefore returns the position that is n before the end of a range, or the begin of
// the range if that is nearer.
func (s *listQuery) timeBefore(from, until timePosition, n int) (timePosition, error) {
	column, index := s.rangeColumn()
	st := s.newStatement(column+", id", index)
	st.addTimeRange(column, from, until)
	st.text.WriteString(" ORDER BY " + column + " DESC, id DESC LIMIT 1")
	st.addLimit("OFFSET", n-1)
	found := from
	return found, st.query(func(row Row) error { return row.Scan(&found.at, &found.id) })
}

// idsBetween returns the first page of the matching ids in a range.
func (s *listQuery) idsBetween(from, until timePosition) (ids []string, err error) {
	later, _, direction := s.order()
	column, index := s.rangeColumn()
	st := s.newStatement("id", index)
	st.addTimeRange(column, from, until)
	st.addFilters(-1, s.seekRange)
	if at := s.query.After + s.query.Before; at != "" {
		st.add(" AND id || '' "+later+" ?", s.store.cursorText(at))
	}
	st.text.WriteString(" ORDER BY id || ''" + direction)
	st.addLimit("LIMIT", s.query.Limit)
	return collect(s.readTx, s.table.Kind.Name, func(row Row) (id string, err error) {
		err = row.Scan(&id)
		return id, err
	}, st.text.String(), st.args...)
}

func (s *listQuery) byIDs(ids []string) ([]storage.Record, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	_, _, direction := s.order()
	st := s.newStatement(s.selectList(), "")
	st.add(" AND id IN (?", ids[0])
	for i := 1; i < len(ids) || i&(i-1) != 0; i++ { // powers of two, so that there are few statements
		st.add(", ?", ids[min(i, len(ids)-1)])
	}
	st.text.WriteString(") ORDER BY id" + direction)
	return s.records(s.table, len(ids), s.columns, &s.query.Scope, s.countFound, st.text.String(), st.args...)
}

// query runs the statement.
func (st *statement) query(scan func(Row) error) error {
	return st.readTx.query("read", st.table.Kind.Name, scan, st.text.String(), st.args...)
}

// addSeekCondition appends the condition of seekWhere.
func (st *statement) addSeekCondition() {
	if st.seekWhere >= 0 {
		e := st.listQuery.query.Where[st.seekWhere]
		st.add(" AND "+Quote(e.Column)+" = ?", Encode(e.Value))
	}
}

// addTimeRange appends a range of positions. Nulls are outside it.
func (st *statement) addTimeRange(column string, from, until timePosition) {
	st.add(" AND ("+column+", id) >= (?, ?) AND ("+column+", id) < (?, ?)", from.at, from.id, until.at, until.id)
}

// addFilters appends all conditions but the given ones. It writes them as expressions, so
// that the planner does not read by another index, which would leave the window.
func (st *statement) addFilters(seek, ranged int) {
	q := &st.listQuery.query
	for i, e := range q.Where {
		switch {
		case i == seek:
		case e.Value == nil:
			st.add(" AND " + Quote(e.Column) + " IS NULL")
		default:
			st.add(" AND "+st.unindexedExpression(e.Column)+" = ?", Encode(e.Value))
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
			st.add(" AND "+st.unindexedExpression(r.Column)+" >= ?", CeilMillis(r.From))
		}
		if !r.Until.IsZero() {
			st.add(" AND "+st.unindexedExpression(r.Column)+" < ?", CeilMillis(r.Until))
		}
	}
}

// unindexedExpression returns an expression for a column's value that no index serves.
func (st *statement) unindexedExpression(column string) string {
	quoted := Quote(column)
	switch k := st.table.Kind; k.Columns[k.Column(column)].Type {
	case storage.Text:
		return quoted + " || ''"
	case storage.Int, storage.Time:
		return quoted + " + 0"
	}
	return quoted
}
