package postgres

import (
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
)

// column is an array parameter: the values of one column in many rows.
type column struct {
	values []any
	of     any // a value of the elements' type
}

// Dimensions implements [pgtype.ArrayGetter].
func (c column) Dimensions() []pgtype.ArrayDimension {
	return []pgtype.ArrayDimension{{Length: int32(len(c.values)), LowerBound: 1}}
}

// Index implements [pgtype.ArrayGetter].
func (c column) Index(i int) any { return c.values[i] }

// IndexType implements [pgtype.ArrayGetter].
func (c column) IndexType() any { return c.of }

// rows collects rows by column.
type rows []column

func newRows(types ...any) rows {
	r := make(rows, len(types))
	for i, of := range types {
		r[i].of = of
	}
	return r
}

func (r rows) add(values ...any) {
	for i, v := range values {
		r[i].values = append(r[i].values, v)
	}
}

func (r rows) len() int { return len(r[0].values) }

func (r rows) args(more ...any) []any {
	args := make([]any, 0, len(r)+len(more))
	for _, c := range r {
		args = append(args, c)
	}
	return append(args, more...)
}

var goType = map[storage.Type]any{
	storage.Text: "", storage.Int: int64(0), storage.Bool: false, storage.Time: int64(0),
}

// writes are the rows of one table.
type writes struct {
	table                   *table
	insert, replace, remove rows
}

func newWrites(b *table) *writes {
	types := []any{"", false, "", int64(0)} // merchant, live, id, version
	remove := newRows(types...)
	for _, c := range b.kind.Columns {
		types = append(types, goType[c.Type])
	}
	types = append(types, []byte{})
	return &writes{table: b, insert: newRows(types...), replace: newRows(append(types, int64(0))...), remove: remove}
}

func (w *writes) add(key recordKey, k *known) {
	if k.stored > 0 && (k.record.Version == 0 || k.renewed) {
		w.remove.add(key.scope.Merchant, key.scope.Live, key.id, k.stored)
	}
	if k.record.Version == 0 {
		return
	}
	values := make([]any, 0, len(k.record.Columns)+6)
	values = append(values, key.scope.Merchant, key.scope.Live, key.id, k.record.Version)
	for _, v := range k.record.Columns {
		values = append(values, sqltext.Stored(v))
	}
	values = append(values, k.record.Data)
	if k.stored > 0 && !k.renewed {
		w.replace.add(append(values, k.stored)...)
	} else {
		w.insert.add(values...)
	}
}

// queue adds the statements that write what a layer holds, each for all rows of
// a table at once. What frees a unique key comes before what may take it.
func (l *layer) queue(b *pgx.Batch, sql *ledgerSQL, changed *changes) {
	tables := map[string]*writes{}
	var order []*writes
	for i, key := range l.records.Keys {
		k := &l.records.Values[i]
		if !k.dirty {
			continue
		}
		w := tables[key.kind]
		if w == nil {
			w = newWrites(k.table)
			tables[key.kind] = w
			order = append(order, w)
		}
		w.add(key, k)
		changed.add(key.hash())
	}
	for _, w := range order {
		if n := w.remove.len(); n > 0 {
			b.Queue(w.table.remove, w.remove.args(n)...)
		}
		if n := w.replace.len(); n > 0 {
			b.Queue(w.table.replace, w.replace.args(n)...)
		}
		if w.insert.len() > 0 {
			b.Queue(w.table.insert, w.insert.args()...)
		}
	}
	l.queueLedger(b, sql, changed)
	l.queueSequences(b, sql, changed)
}

func (l *layer) queueLedger(b *pgx.Batch, sql *ledgerSQL, changed *changes) {
	fresh, moved := newRows("", false, int64(0), int64(0)), newRows("", int64(0), int64(0), int64(0))
	slices.Sort(l.moved)
	for _, name := range slices.Compact(l.moved) {
		a := l.accounts.Find(name)
		changed.add(nameHash("account/", name))
		if a.stored == 0 {
			fresh.add(name, a.Guarded, a.Amount, a.Entries)
		} else {
			moved.add(name, a.Amount, a.Entries, a.stored)
		}
	}
	if n := moved.len(); n > 0 {
		b.Queue(sql.moveAccounts, moved.args(n)...)
	}
	if fresh.len() > 0 {
		b.Queue(sql.insertAccounts, fresh.args()...)
	}
	if len(l.booked) == 0 {
		return
	}
	postings, entries := newRows("", "", "", int64(0)), newRows("", int64(0), "", int64(0), int64(0))
	for i := range l.booked {
		p := &l.booked[i]
		postings.add(p.ID, p.Type, p.Ref, p.At.UnixMilli())
	}
	for i := range l.entries {
		e := &l.entries[i]
		entries.add(e.Account, e.Number, e.Posting, e.Amount, e.Balance)
	}
	b.Queue(sql.insertPostings, postings.args()...)
	b.Queue(sql.insertEntries, entries.args()...)
}

func (l *layer) queueSequences(b *pgx.Batch, sql *ledgerSQL, changed *changes) {
	if len(l.counted) == 0 {
		return
	}
	r := newRows("", int64(0))
	slices.Sort(l.counted)
	for _, name := range slices.Compact(l.counted) {
		r.add(name, l.sequences.Find(name).value)
		changed.add(nameHash("sequence/", name))
	}
	b.Queue(sql.setSequences, r.args()...)
}

// flush writes to the database what the transaction has of its own and of the
// members before it, so that a query meets it.
func (t *tx) flush() error {
	if err := t.flushGroup(); err != nil || !t.own.unwritten() {
		return err
	}
	if !t.savepoint {
		t.session.before = append(t.session.before, "SAVEPOINT member")
		t.savepoint = true
	}
	return t.write(t.own)
}

// flushGroup does so for the members before. It must be done before a savepoint,
// to which this member may have to go back.
func (t *tx) flushGroup() error {
	if !t.group.layer.unwritten() {
		return nil
	}
	return t.write(t.group.layer)
}

// direct makes ready for a statement that changes rows by itself.
func (t *tx) direct() error {
	if err := t.flushGroup(); err != nil {
		return err
	}
	if !t.savepoint {
		t.session.before = append(t.session.before, "SAVEPOINT member")
		t.savepoint = true
	}
	return t.flush()
}

// flushKind is flush for those who ask for records of one kind.
func (t *tx) flushKind(kind string) error {
	of := func(key recordKey) bool { return key.kind == kind }
	if slices.ContainsFunc(t.own.dirty, of) || slices.ContainsFunc(t.group.layer.dirty, of) {
		return t.flush()
	}
	return nil
}

// flushLedger is flush for those who ask for entries.
func (t *tx) flushLedger() error {
	if len(t.own.moved)+len(t.group.layer.moved) > 0 {
		return t.flush()
	}
	return nil
}

func (t *tx) write(l *layer) error {
	err := t.session.send(t.io, func(b *pgx.Batch) { l.queue(b, &t.store.sql, &t.group.changes) })
	if err == nil {
		l.written()
		t.group.wrote = true
		return nil
	}
	t.failed = fmt.Errorf("postgres: write: %w", err)
	if !t.strict || l != t.own || isLost(err) || isTransient(err) {
		t.group.broken, t.blameless = err, true
	}
	return t.failed
}

// trouble passes on an error of a read, after which, unless it is an answer, the
// transaction is of no use to the others in the group either.
func (t *tx) trouble(err error) error {
	if err == nil || t.failed == nil {
		return err
	}
	switch {
	case isLost(err) || isTransient(err):
		t.group.broken, t.blameless = err, true
	case !t.savepoint:
		t.group.broken = err
	}
	return err
}

// undo takes back what the member wrote.
func (t *tx) undo() {
	if !t.savepoint || t.group.broken != nil {
		return // all of it was in its own layer, or is going anyway
	}
	s := t.session
	if n := len(s.before); n > 0 && s.before[n-1] == "SAVEPOINT member" {
		s.before = s.before[:n-1]
		return
	}
	s.before = append(s.before, "ROLLBACK TO SAVEPOINT member", "RELEASE SAVEPOINT member")
	if t.failed == nil {
		return
	}
	// In a transaction that has failed no statement is accepted before.
	for _, text := range s.before {
		ctx, cancel := s.context(t.io)
		_, err := s.db.Exec(ctx, text)
		cancel()
		if err != nil {
			t.group.broken = err
			break
		}
	}
	s.before = nil
}

// join makes what the member wrote part of the group.
func (t *tx) join() {
	if t.savepoint {
		t.session.before = append(t.session.before, "RELEASE SAVEPOINT member")
	}
	t.group.layer.take(t.own)
}

// moment is a time as it is kept.
func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
