package sqlstore

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/storage"
)

// A list is ordered by place: by id, or for an Ordered kind by number and id. An index of a column
// has that order among equal values only, so a list with further conditions must search among
// records that do not match. It can walk from place to place until the page is full, or through the
// whole range of an indexed time.
// Which is shorter depends on the data. A search does both in turns, a window at a time,
// and ends with the walk that ends first. So it takes about twice as long as the shorter
// walk. It never assumes that places and times ascend together: test clocks move only times.
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

// place is the place of a record in lists. The number is 0 unless the kind is Ordered. Without an id it is
// no place.
type place struct {
	number int64
	id     string
}

// listQuery is the plan of one query.
type listQuery struct {
	*readTx
	table        *Table
	query        storage.Query
	ordered      bool  // whether the kind is
	cursor       place // of the query
	seekWhere    int   // index in query.Where of the condition that an index answers; -1 for none
	seekRange    int   // index in query.Range of the range that an index answers; -1 for none
	filtered     bool  // whether there are conditions besides seekWhere
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
	s := &listQuery{readTx: t, table: table, query: q, ordered: table.Kind.Ordered, seekWhere: -1, seekRange: -1}
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
	var places []place
	if err := s.resolveCursor(); err != nil {
		return nil, err
	}
	at := s.cursor
	if !s.filtered {
		return s.recordsBetween(at, place{}, s.query.Limit)
	}
	from, until := s.bounds()
	for window := firstWindow; ; window = min(2*window, maxWindow) {
		if err := s.usable(); err != nil {
			return nil, err
		}
		edge, err := s.placeAfter(at, window)
		if err != nil {
			return nil, err
		}
		found, err := s.recordsBetween(at, edge, s.query.Limit-len(page))
		if err != nil {
			return nil, err
		}
		page = append(page, found...)
		if s.query.IsFull(s.found, s.bytes) || edge.id == "" {
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
		more, err := s.placesBetween(next, until)
		if err != nil {
			return nil, err
		}
		places = s.firstPage(append(places, more...))
		if next == from {
			s.found, s.bytes = 0, 0
			return s.at(places)
		}
		until = next
	}
}

// resolveCursor sets the place of the query's cursor.
func (s *listQuery) resolveCursor() error {
	s.cursor = place{s.query.Number, s.query.After + s.query.Before} // at most one is set
	if !s.ordered || s.cursor.id == "" || s.cursor.number > 0 || !s.store.validText(s.cursor.id) {
		return nil
	}
	st := s.newStatement("number", "")
	st.add(" AND id = ?", s.cursor.id)
	return st.query(func(row Row) error { return row.Scan(&s.cursor.number) })
}

// timePosition is a position in the index of a time column.
type timePosition struct {
	at int64
	place
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

// firstPage sorts places by the order of the list, and returns at most a page of them.
func (s *listQuery) firstPage(places []place) []place {
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.id, b.id))
	})
	if s.query.Before == "" {
		slices.Reverse(places)
	}
	return places[:min(len(places), s.query.Limit)]
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

// order returns the operators that compare places by the order of the list, and its direction.
func (s *listQuery) order() (later, earlierOrEqual, direction string) {
	if s.query.Before != "" {
		return ">", "<=", ""
	}
	return "<", ">=", " DESC"
}

// places returns the columns of a place, by which the lists of the kind are ordered.
func (s *listQuery) places() []string { return listOrder(s.table.Kind) }

// unindexedPlaces returns expressions for these columns that no index serves.
func (s *listQuery) unindexedPlaces() []string {
	if s.ordered {
		return []string{"number + 0", "id || ''"}
	}
	return []string{"id || ''"}
}

// scanPlace scans a row of dests and then the columns of places.
func (s *listQuery) scanPlace(row Row, dests ...any) (p place, err error) {
	if s.ordered {
		dests = append(dests, &p.number)
	}
	err = row.Scan(append(dests, &p.id)...)
	return p, err
}

// addCursor appends a condition on the columns or expressions of a place, unless p is none.
func (st *statement) addCursor(columns []string, operator string, p place) {
	switch id := st.store.cursorText(p.id); {
	case p.id == "":
	case st.ordered:
		st.add(" AND ("+strings.Join(columns, ", ")+") "+operator+" (?, ?)", p.number, id)
	default:
		st.add(" AND "+columns[0]+" "+operator+" ?", id)
	}
}

// addOrder appends the order of the list, by the columns or expressions of a place.
func (st *statement) addOrder(columns []string) {
	_, _, direction := st.order()
	st.text.WriteString(" ORDER BY " + strings.Join(columns, direction+", ") + direction)
}

// placeAfter returns the place that is n positions after at, or none if there is none. It counts the
// records that match seekWhere.
func (s *listQuery) placeAfter(at place, n int) (found place, err error) {
	later, _, _ := s.order()
	st := s.newStatement(strings.Join(s.places(), ", "), "")
	st.addSeekCondition()
	st.addCursor(s.places(), later, at)
	st.addOrder(s.places())
	st.text.WriteString(" LIMIT 1")
	st.addLimit("OFFSET", n-1)
	return found, st.query(func(row Row) (err error) {
		found, err = s.scanPlace(row)
		return err
	})
}

// recordsBetween returns the matching records after the place at, up to the place edge or, if there is no
// edge, to the end.
func (s *listQuery) recordsBetween(at, edge place, limit int) ([]storage.Record, error) {
	later, earlierOrEqual, _ := s.order()
	st := s.newStatement(s.selectList(), "")
	st.addSeekCondition()
	st.addFilters(s.seekWhere, -1)
	st.addCursor(s.places(), later, at)
	st.addCursor(s.places(), earlierOrEqual, edge)
	st.addOrder(s.places())
	st.addLimit("LIMIT", limit)
	return s.records(s.table, limit, s.columns, &s.query.Scope, s.countFound, st.text.String(), st.args...)
}

func (s *listQuery) selectList() string {
	if s.query.Bare {
		return s.table.bareColumns
	}
	return s.table.listColumns
}

// rangeColumn returns the column of seekRange and its index.
func (s *listQuery) rangeColumn() (quoted, index string) {
	name := s.query.Range[s.seekRange].Column
	return Quote(name), s.table.Kind.Name + "." + indexedBy(s.table.Kind) + name
}

// timeBefore returns the position that is n before the end of a range, or the begin of
// the range if that is nearer.
func (s *listQuery) timeBefore(from, until timePosition, n int) (timePosition, error) {
	column, index := s.rangeColumn()
	st := s.newStatement(column+", "+strings.Join(s.places(), ", "), index)
	st.addTimeRange(column, from, until)
	st.text.WriteString(" ORDER BY " + column + " DESC, " + strings.Join(s.places(), " DESC, ") + " DESC LIMIT 1")
	st.addLimit("OFFSET", n-1)
	found := from
	return found, st.query(func(row Row) (err error) {
		found.place, err = s.scanPlace(row, &found.at)
		return err
	})
}

// placesBetween returns the first page of the places of matching records in a range.
func (s *listQuery) placesBetween(from, until timePosition) ([]place, error) {
	later, _, _ := s.order()
	column, index := s.rangeColumn()
	st := s.newStatement(strings.Join(s.places(), ", "), index)
	st.addTimeRange(column, from, until)
	st.addFilters(-1, s.seekRange)
	st.addCursor(s.unindexedPlaces(), later, s.cursor)
	st.addOrder(s.unindexedPlaces())
	st.addLimit("LIMIT", s.query.Limit)
	return collect(s.readTx, s.table.Kind.Name, func(row Row) (place, error) { return s.scanPlace(row) }, st.text.String(), st.args...)
}

// at returns the records at places.
func (s *listQuery) at(places []place) ([]storage.Record, error) {
	if len(places) == 0 {
		return nil, nil
	}
	st := s.newStatement(s.selectList(), "")
	st.add(" AND id IN (?", places[0].id)
	for i := 1; i < len(places) || i&(i-1) != 0; i++ { // powers of two, so that there are few statements
		st.add(", ?", places[min(i, len(places)-1)].id)
	}
	st.text.WriteString(")")
	if s.ordered { // else the planner might walk through the order, for records that may be far apart
		st.addOrder(s.unindexedPlaces())
	} else {
		st.addOrder(s.places())
	}
	return s.records(s.table, len(places), s.columns, &s.query.Scope, s.countFound, st.text.String(), st.args...)
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
	if st.ordered {
		st.add(" AND ("+column+", number, id) >= (?, ?, ?) AND ("+column+", number, id) < (?, ?, ?)",
			from.at, from.number, from.id, until.at, until.number, until.id)
		return
	}
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
