package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed-7082ffec/payments/storage"
)

// HostTx is a [storage.Store] inside the host's own transaction.
type HostTx struct {
	store   *Store
	session HostSession

	mu     sync.Mutex
	closed bool
}

// In returns the store inside a transaction of the host.
func (s *Store) In(session HostSession) *HostTx { return &HostTx{store: s, session: session} }

// Define implements [storage.Store]. It succeeds for kinds that are defined already.
func (h *HostTx) Define(_ context.Context, kinds ...*storage.Kind) error {
	tables := *h.store.tables.Load()
	for _, k := range kinds {
		if tables[k] == nil {
			return fmt.Errorf("%w: %s: define %s on the store, not inside a transaction", storage.ErrInvalid, h.store.Name, k.Name)
		}
	}
	return nil
}

// Close implements [storage.Store]. The host's transaction stays open.
func (h *HostTx) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	return nil
}

// enter waits until no other call uses the transaction, and returns the function that
// ends the call.
func (h *HostTx) enter(ctx context.Context) (func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, fmt.Errorf("%s: %w", h.store.Name, storage.ErrClosed)
	}
	if err := h.store.Enter(); err != nil {
		h.mu.Unlock()
		return nil, err
	}
	return func() { h.store.Leave(); h.mu.Unlock() }, nil
}

// View implements [storage.Store]. It sees the writes of the transaction.
func (h *HostTx) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	t := h.newReadTx(ctx)
	defer func() { t.ended = true }()
	return fn(&t)
}

func (h *HostTx) newReadTx(ctx context.Context) readTx {
	return readTx{ctx: ctx, ioCtx: ctx, store: h.store, session: func() (Session, error) { return h.session, nil }}
}

// Update implements [storage.Store]. It runs fn once, in a savepoint.
func (h *HostTx) Update(ctx context.Context, fn func(storage.Tx) error) (err error) {
	leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	log, err := h.session.Begin(ctx)
	if err == nil {
		err = h.store.checkVersion(ctx, h.session, log.SchemaVersion)
	}
	if err != nil {
		h.session.Rollback()
		return h.wrapError("begin", err)
	}
	b := &batch{buffered: new(writeSet), commit: nextCommit(log.Newest)}
	b.changes.disabled = !h.store.Remote

	// An Update of a host's transaction cannot run again, so it checks before it inserts.
	t := &tx{readTx: h.newReadTx(ctx), batch: b, cache: &cache{}, own: new(writeSet), alone: true, checkAllTables: true}
	t.flushBuffered, t.onFailure = t.flushKind, t.transactionFailed
	kept := false
	defer func() {
		t.ended = true
		if !kept { // also when fn panics
			h.session.Rollback()
		}
	}()
	err = fn(t)
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	if t.failed != nil {
		return h.wrapError("update", t.failed)
	}
	if err != nil {
		return err
	}
	if err := h.session.Finish(ctx, b.commit, h.store.newWrites(t.own, &b.changes), b.wroteToDatabase); err != nil {
		return h.wrapError("write", err)
	}
	kept = true
	return nil
}

// wrapError adds [storage.ErrRetry] to an error that a new transaction may be spared.
func (h *HostTx) wrapError(doing string, err error) error {
	if errors.Is(err, storage.ErrRetry) {
		return err
	}
	if class, _ := h.store.driver.Classify(err); class == Transient || class == UniqueViolation {
		return fmt.Errorf("%s: %s: %w: %w", h.store.Name, doing, storage.ErrRetry, err)
	}
	return fmt.Errorf("%s: %s: %w", h.store.Name, doing, err)
}
