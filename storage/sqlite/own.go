package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	code "modernc.org/sqlite/lib"

	"github.com/seed-7082ffec/payments/storage"
)

// HostTx is a store inside the host's own transaction; see [Store.In].
type HostTx struct {
	store *Store
	conn  *conn

	mu     sync.Mutex
	closed bool
}

// In returns a store whose Updates and Views run inside the host's open
// transaction, so that the host's rows and ours are committed together or not at
// all. tx must be of the same file, through modernc.org/sqlite, and should have
// begun with BEGIN IMMEDIATE (_txlock=immediate in the data source): one that has
// read before somebody else wrote cannot write any more. Bind services to it with
// payments.Service.InTx.
//
// Each Update runs its function once, in a savepoint: one that is refused leaves
// the host's transaction as it was. Where another run is needed, because
// somebody else came in between, Update is [storage.ErrRetry], and the host rolls
// back and begins again.
//
// SQLite has one writer: until the host commits or rolls back, all other updates
// wait. An Update of the store itself, made by the one who holds the transaction,
// would wait for ever.
func (s *Store) In(tx *sql.Tx) *HostTx {
	return &HostTx{store: s, conn: &conn{tx: tx, statements: map[string]*sql.Stmt{}}}
}

// Define implements [storage.Store] for kinds that the store knows already.
func (h *HostTx) Define(_ context.Context, kinds ...*storage.Kind) error {
	tables := *h.store.tables.Load()
	for _, k := range kinds {
		if tables[k] == nil {
			return fmt.Errorf("%w: sqlite: define %s on the store, not inside a transaction", storage.ErrInvalid, k.Name)
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
		return nil, fmt.Errorf("sqlite: %w", storage.ErrClosed)
	}
	if err := h.store.enter(); err != nil {
		h.mu.Unlock()
		return nil, err
	}
	return func() { h.store.running.Done(); h.mu.Unlock() }, nil
}

// View implements [storage.Store]. It sees what the transaction has written.
func (h *HostTx) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	t := &readTx{ctx: ctx, store: h.store, conn: h.conn}
	defer func() { t.ended = true }()
	return fn(t)
}

// Update implements [storage.Store].
func (h *HostTx) Update(ctx context.Context, fn func(storage.Tx) error) error {
	leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	// A member of a group in which others have written, so that there is a
	// savepoint before its first write; and nothing is remembered from before.
	t := &tx{readTx: readTx{ctx: ctx, store: h.store, conn: h.conn}, group: &group{wrote: 1, layer: &layer{}}, cache: &cache{}, own: &layer{}}
	kept := false
	defer func() {
		t.ended = true
		if kept || !t.savepoint { // else also when fn panics
			return
		}
		if _, err := h.conn.exec("ROLLBACK TO member"); err == nil {
			_, _ = h.conn.exec("RELEASE member") // a savepoint more does no harm
		}
	}()
	err = fn(t)
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	if t.failed != nil {
		return h.trouble(t.failed)
	}
	if err != nil {
		return err
	}
	if !t.own.empty() {
		if err := t.spill(); err != nil {
			return h.trouble(err)
		}
	}
	if err := t.release(); err != nil {
		return h.trouble(err)
	}
	kept = true
	return nil
}

// trouble says of an error whether another attempt may be spared it.
func (h *HostTx) trouble(err error) error {
	switch primary(err) {
	case code.SQLITE_BUSY, code.SQLITE_LOCKED:
		return fmt.Errorf("%w: %w", storage.ErrRetry, err)
	}
	return err
}
