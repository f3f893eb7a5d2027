package sqlstore

import (
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/storage"
)

// This file writes a call's buffered writes to the database, or undoes them.

// maxBuffered bounds the bytes that a call, and a batch, buffers before they are written.
const maxBuffered = 4 << 20

// afterWrite follows every write. It flushes if the call writes through or has buffered
// too much.
func (t *tx) afterWrite() error {
	if !t.writeThrough && t.own.bytes <= maxBuffered {
		return nil
	}
	return t.flushAll()
}

// flushAll writes the buffered writes of the call, and of the calls before it, to the
// database.
func (t *tx) flushAll() error {
	if err := t.flushBatch(); err != nil || !t.own.hasUnwritten() {
		return err
	}
	if err := t.ensureSavepoint(); err != nil {
		return err
	}
	return t.writeBuffered(t.own)
}

// flushBatch writes the buffered writes of the calls before to the database. It comes
// before the savepoint to which this call may roll back.
func (t *tx) flushBatch() error {
	if !t.batch.buffered.hasUnwritten() {
		return nil
	}
	if err := t.writeBuffered(t.batch.buffered); err != nil {
		return err
	}
	t.own.rebase(t.batch.buffered)
	return nil
}

// ensureSavepoint sets a savepoint after the writes of the calls before, if there is
// none.
func (t *tx) ensureSavepoint() error {
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

// flushKind flushes everything if the database lacks a write to a kind, to the ledger for
// flushLedger, or any write for "".
func (t *tx) flushKind(what string) error {
	if t.own.hasUnwrittenOf(what) || t.batch.buffered.hasUnwrittenOf(what) {
		return t.flushAll()
	}
	return nil
}

func (t *tx) writeBuffered(w *writeSet) error {
	s, err := t.session()
	if err == nil {
		err = s.Write(t.ioCtx, t.store.newWrites(w, &t.batch.changes))
	}
	if err == nil {
		w.markWritten()
		t.batch.wroteToDatabase = true
		return nil
	}
	t.failed = fmt.Errorf("%s: write: %w", t.store.Name, err)
	switch class, _ := t.store.driver.Classify(err); {
	case !t.writeThrough || w != t.own || class == ConnectionLost || class == Transient:
		t.batch.failure, t.retryable = err, true
	case class == UniqueViolation: // a unique key of a newer declaration
		t.failed = fmt.Errorf("%w: %w", storage.ErrExists, t.failed)
	}
	return t.failed
}

// transactionFailed notes an error of the database. It fails the whole batch, unless the
// savepoint protects the other calls.
func (t *tx) transactionFailed(err error) {
	if ended := t.ctx.Err(); ended != nil && errors.Is(err, ended) {
		return
	}
	switch class, _ := t.store.driver.Classify(err); {
	case class == ConnectionLost || class == Transient:
		t.batch.failure, t.retryable = err, true
	case !t.savepoint:
		t.batch.failure = err
	}
}

// rollback undoes the call's writes. Those in its own write set are simply dropped.
func (t *tx) rollback() {
	if !t.savepoint || t.batch.failure != nil {
		return
	}
	s, err := t.session()
	if err == nil {
		err = s.RollbackToSavepoint(t.failed != nil)
	}
	if err != nil {
		t.batch.failure = err
	}
}

// mergeIntoBatch makes the call's writes part of the batch.
func (t *tx) mergeIntoBatch() error {
	if t.savepoint {
		s, err := t.session()
		if err == nil {
			err = s.Release()
		}
		if err != nil {
			t.batch.failure, t.retryable = err, true
			return t.fail("release", "savepoint", err)
		}
	}
	t.batch.buffered.merge(t.own)
	if t.batch.buffered.bytes > maxBuffered {
		return t.flushBatch()
	}
	return nil
}
