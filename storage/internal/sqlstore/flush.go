package sqlstore

import (
	"errors"
	"fmt"
)

// This file writes buffered writes to the database before the commit.

// maxBuffered bounds the bytes that a call, and a batch, buffers before they are written.
const maxBuffered = 4 << 20

// afterWrite follows every write. It flushes if the call has buffered too much.
func (t *tx) afterWrite() error {
	if t.own.bytes <= maxBuffered {
		return nil
	}
	return t.flushAll()
}

// flushAll writes the buffered writes of the call, or else of the calls before it, to the
// database. Writes there cannot be undone for one call alone, so a call that has written
// must have the transaction for itself.
func (t *tx) flushAll() error {
	if !t.own.hasUnwritten() {
		return t.flushBatch()
	}
	if !t.alone {
		if err := t.needOwnBatch(); err != nil {
			return err
		}
	}
	return t.writeBuffered(t.own) // the batch has no other call, and so no other writes
}

// flushBatch writes the buffered writes of the calls before to the database.
func (t *tx) flushBatch() error {
	if !t.batch.buffered.hasUnwritten() {
		return nil
	}
	return t.writeBuffered(t.batch.buffered)
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
	t.batch.failure, t.retryable = err, true // the function whose write it is may be another one
	return t.failed
}

// transactionFailed notes an error of the database. It fails the whole batch.
func (t *tx) transactionFailed(err error) {
	if ended := t.ctx.Err(); ended != nil && errors.Is(err, ended) {
		return
	}
	t.batch.failure = err
	class, _ := t.store.driver.Classify(err)
	t.retryable = class == ConnectionLost || class == Transient
}

// mergeIntoBatch makes the call's writes part of the batch.
func (t *tx) mergeIntoBatch() error {
	t.batch.buffered.merge(t.own)
	if t.batch.buffered.bytes > maxBuffered {
		return t.flushBatch()
	}
	return nil
}
