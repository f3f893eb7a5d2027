package postgres

import (
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
)

// writes are the rows of one table.
type writes struct {
	table                   *table
	used                    bool // in the draft
	insert, replace, remove rows
}

func newWrites(b *table) *writes {
	elements := []uint32{pgtype.TextOID, pgtype.BoolOID, pgtype.TextOID, pgtype.Int8OID} // merchant, live, id, version
	remove := newRows(elements...)
	for _, c := range b.kind.Columns {
		elements = append(elements, elementOf[c.Type])
	}
	elements = append(elements, pgtype.ByteaOID)
	return &writes{table: b, insert: newRows(elements...), replace: newRows(append(elements, pgtype.Int8OID)...), remove: remove}
}

func (w *writes) add(key recordKey, k *known) {
	if k.stored > 0 && (k.record.Version == 0 || k.renewed) {
		w.remove.add(key.scope.Merchant, key.scope.Live, key.id, k.stored)
	}
	if k.record.Version == 0 {
		return
	}
	into, replaces := w.insert, k.stored > 0 && !k.renewed
	if replaces {
		into = w.replace
	}
	into.add(key.scope.Merchant, key.scope.Live, key.id, k.record.Version)
	const before = 4
	for i, v := range k.record.Columns {
		into[before+i].add(sqltext.Stored(v))
	}
	into[before+len(k.record.Columns)].bytes(k.record.Data)
	if replaces {
		into[len(into)-1].integer(k.stored)
	}
}

// draft is what is about to be written, by table. It is kept for the room that it has.
type draft struct {
	tables                                     map[*table]*writes
	order                                      []*writes
	fresh, moved, postings, entries, sequences rows
}

func newDraft() *draft {
	const text, number = pgtype.TextOID, pgtype.Int8OID
	return &draft{
		tables:    map[*table]*writes{},
		fresh:     newRows(text, pgtype.BoolOID, number, number),
		moved:     newRows(text, number, number, number),
		postings:  newRows(text, text, text, number),
		entries:   newRows(text, number, text, number, number),
		sequences: newRows(text, number),
	}
}

// of returns the rows of a table.
func (d *draft) of(b *table) *writes {
	w := d.tables[b]
	if w == nil {
		w = newWrites(b)
		d.tables[b] = w
	}
	if !w.used {
		w.used = true
		d.order = append(d.order, w)
	}
	return w
}

func (d *draft) clear() {
	for _, w := range d.order {
		w.used = false
		w.insert.clear()
		w.replace.clear()
		w.remove.clear()
	}
	clear(d.order)
	d.order = d.order[:0]
	for _, r := range []rows{d.fresh, d.moved, d.postings, d.entries, d.sequences} {
		r.clear()
	}
}

// queue adds the statements that write what a layer holds, each for all rows of
// a table at once. What frees a unique key comes before what may take it.
func (l *layer) queue(b *pgx.Batch, d *draft, sql *ledgerSQL, changed *changes) {
	for i, key := range l.records.Keys {
		if k := &l.records.Values[i]; k.dirty {
			d.of(k.table).add(key, k)
			changed.add(key.hash())
		}
	}
	for _, w := range d.order {
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
	l.queueLedger(b, d, sql, changed)
	l.queueSequences(b, d, sql, changed)
}

func (l *layer) queueLedger(b *pgx.Batch, d *draft, sql *ledgerSQL, changed *changes) {
	slices.Sort(l.moved)
	for _, name := range slices.Compact(l.moved) {
		a := l.accounts.Find(name)
		changed.add(nameHash("account/", name))
		if a.stored == 0 {
			d.fresh.add(name, a.Guarded, a.Amount, a.Entries)
		} else {
			d.moved.add(name, a.Amount, a.Entries, a.stored)
		}
	}
	if n := d.moved.len(); n > 0 {
		b.Queue(sql.moveAccounts, d.moved.args(n)...)
	}
	if d.fresh.len() > 0 {
		b.Queue(sql.insertAccounts, d.fresh.args()...)
	}
	if len(l.booked) == 0 {
		return
	}
	for i := range l.booked {
		p := &l.booked[i]
		d.postings.add(p.ID, p.Type, p.Ref, p.At.UnixMilli())
	}
	for i := range l.entries {
		e := &l.entries[i]
		d.entries.add(e.Account, e.Number, e.Posting, e.Amount, e.Balance)
	}
	b.Queue(sql.insertPostings, d.postings.args()...)
	b.Queue(sql.insertEntries, d.entries.args()...)
}

func (l *layer) queueSequences(b *pgx.Batch, d *draft, sql *ledgerSQL, changed *changes) {
	if len(l.counted) == 0 {
		return
	}
	slices.Sort(l.counted)
	for _, name := range slices.Compact(l.counted) {
		d.sequences.add(name, l.sequences.Find(name).value)
		changed.add(nameHash("sequence/", name))
	}
	b.Queue(sql.setSequences, d.sequences.args()...)
}

// drafted calls use with a draft of its own: the one that is kept, if nobody has it.
func (s *Store) drafted(use func(*draft) error) error {
	d := s.draft.Swap(nil)
	if d == nil {
		d = newDraft()
	}
	defer func() {
		d.clear()
		s.draft.Store(d)
	}()
	return use(d)
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
	err := t.store.drafted(func(d *draft) error {
		return t.session.send(t.io, func(b *pgx.Batch) { l.queue(b, d, &t.store.sql, &t.group.changes) })
	})
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
