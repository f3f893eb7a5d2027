package sqlstore

import (
	"strings"
	"sync"

	"github.com/seed-7082ffec/payments/storage"
)

// Lists has the statements that list the records of one table. It is safe for
// concurrent use.
type Lists struct {
	kind          *storage.Kind
	dialect       *Dialect
	columns, bare string // what is selected
	table         string

	mu    sync.RWMutex
	texts map[string]string // by shape, so that a prepared statement is found again
}

// NewLists returns the lists of a kind's table, which select those columns, or, of
// records whose Columns nobody looks at, the bare ones.
func NewLists(d *Dialect, k *storage.Kind, table, columns, bare string) *Lists {
	return &Lists{kind: k, dialect: d, columns: columns, bare: bare, table: table, texts: map[string]string{}}
}

// maxShapes bounds the statements that are kept. A program has fewer, because their
// text depends on the shape of queries, never on values.
const maxShapes = 512

// The conditions of a shape, each with the column that follows it but for the cursors.
const (
	equal  = 'e'
	isNull = 'n'
	isSet  = 's'
	from   = 'f'
	until  = 'u'
	older  = '<'
	newer  = '>'
)

// List returns the statement for a checked query, and its arguments appended to args.
func (l *Lists) List(q storage.Query, args []any) (string, []any) {
	var buffer [64]byte
	shape := append(buffer[:0], 'c')
	if q.Bare {
		shape[0] = 'b'
	}
	args = append(args, q.Scope.Merchant, q.Scope.Live)
	for _, e := range q.Where {
		if e.Value == nil {
			shape = append(shape, isNull, byte(l.kind.Column(e.Column)))
			continue
		}
		shape = append(shape, equal, byte(l.kind.Column(e.Column)))
		args = append(args, Stored(e.Value))
	}
	for _, r := range q.Range {
		column := byte(l.kind.Column(r.Column))
		if r.From.IsZero() && r.Until.IsZero() {
			shape = append(shape, isSet, column)
		}
		if !r.From.IsZero() {
			shape = append(shape, from, column)
			args = append(args, Ceiling(r.From))
		}
		if !r.Until.IsZero() {
			shape = append(shape, until, column)
			args = append(args, Ceiling(r.Until))
		}
	}
	switch {
	case q.After != "":
		shape = append(shape, older)
		args = append(args, l.dialect.cursor(q.After))
	case q.Before != "":
		shape = append(shape, newer)
		args = append(args, l.dialect.cursor(q.Before))
	}
	args = append(args, q.Limit)

	l.mu.RLock()
	text, ok := l.texts[string(shape)]
	l.mu.RUnlock()
	if !ok {
		text = l.write(shape)
		l.mu.Lock()
		if len(l.texts) >= maxShapes {
			clear(l.texts)
		}
		l.texts[string(shape)] = text
		l.mu.Unlock()
	}
	return text, args
}

// write writes the statement of a shape.
func (l *Lists) write(shape []byte) string {
	var s strings.Builder
	n := 0
	parameter := func() string {
		n++
		return l.dialect.Parameter(n)
	}
	selected := l.columns
	if shape[0] == 'b' {
		selected = l.bare
	}
	s.WriteString("SELECT " + selected + " FROM " + l.table + " WHERE merchant = " + parameter() + " AND live = " + parameter())
	order := " ORDER BY id DESC"
	for i := 1; i < len(shape); i++ {
		switch shape[i] {
		case older:
			s.WriteString(" AND id < " + parameter())
			continue
		case newer:
			s.WriteString(" AND id > " + parameter())
			order = " ORDER BY id"
			continue
		}
		column := Quote(l.kind.Columns[shape[i+1]].Name)
		switch shape[i] {
		case equal:
			s.WriteString(" AND " + column + " = " + parameter())
		case isNull:
			s.WriteString(" AND " + column + " IS NULL")
		case isSet:
			s.WriteString(" AND " + column + " IS NOT NULL")
		case from:
			s.WriteString(" AND " + column + " >= " + parameter())
		case until:
			s.WriteString(" AND " + column + " < " + parameter())
		}
		i++
	}
	return s.String() + order + " LIMIT " + l.dialect.Limit(parameter())
}
