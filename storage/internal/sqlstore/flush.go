package sqlstore

import (
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/storage"
)

// How what a call has written in memory reaches the database, or is undone.

// maxBuffered bounds the bytes that a call, and that a batch, keeps in memory
// before they are written.
const maxBuffered = 4 << 20

// wrote follows every write.
func (t *tx) wrote() error {
	if !t.strict && t.own.bytes <= maxBuffered {
		return nil
	}
	return t.flushAll()
}

// flushAll writes to the database what the call has written, and the calls before it,
// so that a query meets it.
func (t *tx) flushAll() error {
	if err := t.flushBatch(); err != nil || !t.own.unwritten() {
		return err
	}
	if err := t.mark(); err != nil {
		return err
	}
	return t.send(t.own)
}

// flushBatch does so for the calls before. It comes before a savepoint, to which this
// call may have to go back.
func (t *tx) flushBatch() error {
	if !t.batch.written.unwritten() {
		return nil
	}
	if err := t.send(t.batch.written); err != nil {
		return err
	}
	t.own.rebase(t.batch.written)
	return nil
}

// mark makes a savepoint, if there is none, behind what the calls before have written.
func (t *tx) mark() error {
	if t.savepoint {
		return nil
	}
	if err := t.flushBatch(); err != nil {
		return err
	}
	s, err := t.session()
	if err == nil {
		err = s.Savepoint()
	}
	if err != nil {
		return t.fail("open", "savepoint", err)
	}
	t.savepoint = true
	return nil
}

// flushFor is flush for a question about a kind, the ledger, or, if what is "", anything.
func (t *tx) flushFor(what string) error {
	if t.own.touches(what) || t.batch.written.touches(what) {
		return t.flushAll()
	}
	return nil
}

func (t *tx) send(w *writeSet) error {
	s, err := t.session()
	if err == nil {
		err = t.store.writing(w, &t.batch.changes, func(rows *Writes) error { return s.Write(t.io, rows) })
	}
	if err == nil {
		w.written()
		t.batch.wrote = true
		return nil
	}
	t.failed = fmt.Errorf("%s: write: %w", t.store.Name, err)
	switch fault, _ := t.store.driver.Fault(err); {
	case !t.strict || w != t.own || fault == Lost || fault == Transient:
		t.batch.broken, t.blameless = err, true
	case fault == Taken: // a key that only a newer process knows of
		t.failed = fmt.Errorf("%w: %w", storage.ErrExists, t.failed)
	}
	return t.failed
}

// trouble learns of an error that is no answer. The transaction is of no use to the
// others in the batch either, unless a savepoint keeps it from them.
func (t *tx) trouble(err error) {
	if ended := t.ctx.Err(); ended != nil && errors.Is(err, ended) {
		return
	}
	switch fault, _ := t.store.driver.Fault(err); {
	case fault == Lost || fault == Transient:
		t.batch.broken, t.blameless = err, true
	case !t.savepoint:
		t.batch.broken = err
	}
}

// undo takes back what the call wrote. What is in its own write set is simply
// forgotten.
func (t *tx) undo() {
	if !t.savepoint || t.batch.broken != nil {
		return
	}
	s, err := t.session()
	if err == nil {
		err = s.Undo(t.failed != nil)
	}
	if err != nil {
		t.batch.broken = err
	}
}

// join makes what the call wrote part of the batch.
func (t *tx) join() error {
	if t.savepoint {
		s, err := t.session()
		if err == nil {
			err = s.Release()
		}
		if err != nil {
			t.batch.broken, t.blameless = err, true
			return t.fail("release", "savepoint", err)
		}
	}
	t.batch.written.take(t.own)
	if t.batch.written.bytes > maxBuffered {
		return t.flushBatch()
	}
	return nil
}
