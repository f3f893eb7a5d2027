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

// In returns the store inside a transaction of the host's.
func (s *Store) In(session HostSession) *HostTx { return &HostTx{store: s, session: session} }

// Define implements [storage.Store] for kinds that the store knows already.
func (h *HostTx) Define(_ context.Context, kinds ...*storage.Kind) error {
	tables := *h.store.tables.Load()
	for _, k := range kinds {
		if tables[k] == nil {
			return fmt.Errorf("%w: %s: define %s on the store, not inside a transaction", storage.ErrInvalid, h.store.Name, k.Name)
		}
	}
	return nil
}

// Close implements [storage.Store]. It leaves the host's transaction open.
func (h *HostTx) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	return nil
}

// enter waits until no other call uses the transaction.
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

// View implements [storage.Store]. It sees what the transaction has written.
func (h *HostTx) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	t := h.read(ctx)
	defer func() { t.ended = true }()
	return fn(&t)
}

func (h *HostTx) read(ctx context.Context) readTx {
	return readTx{ctx: ctx, io: ctx, store: h.store, session: func() (Session, error) { return h.session, nil }}
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
		err = h.store.upToDate(ctx, h.session, log.Schema)
	}
	if err != nil {
		h.session.Abandon()
		return h.trouble("begin", err)
	}
	b := &batch{written: new(writeSet), commit: following(log.Newest)}
	b.changes.ignored = !h.store.Logs

	// No other call's run depends on this one, so it looks before it inserts.
	t := &tx{readTx: h.read(ctx), batch: b, cache: &cache{}, own: new(writeSet), savepoint: true, lookFirst: true}
	t.flush, t.broke = t.flushFor, t.trouble
	kept := false
	defer func() {
		t.ended = true
		if !kept { // also when fn panics
			h.session.Abandon()
		}
	}()
	err = fn(t)
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	if t.failed != nil {
		return h.trouble("update", t.failed)
	}
	if err != nil {
		return err
	}
	err = h.store.writing(t.own, &b.changes, func(rows *Writes) error {
		return h.session.Finish(ctx, b.commit, rows, b.wrote)
	})
	if err != nil {
		return h.trouble("write", err)
	}
	kept = true
	return nil
}

// trouble says of an error whether another attempt may be spared it.
func (h *HostTx) trouble(doing string, err error) error {
	if errors.Is(err, storage.ErrRetry) {
		return err
	}
	if fault, _ := h.store.driver.Fault(err); fault == Transient || fault == Taken {
		return fmt.Errorf("%s: %s: %w: %w", h.store.Name, doing, storage.ErrRetry, err)
	}
	return fmt.Errorf("%s: %s: %w", h.store.Name, doing, err)
}
