package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/seed-7082ffec/payments/storage"
)

// HostTx is a store inside the host's own transaction; see [Store.In].
type HostTx struct {
	store *Store
	tx    pgx.Tx

	mu     sync.Mutex
	closed bool
}

// In returns a store whose Updates and Views run inside the host's open
// transaction, so that the host's rows and ours are committed together or not at
// all. tx must be of the same database and READ COMMITTED. Bind services to it
// with payments.Service.InTx.
//
// Each Update runs its function once, in a savepoint: one that is refused leaves
// the host's transaction as it was. Where another run is needed, because
// somebody else came in between, Update is [storage.ErrRetry], and the host rolls
// back and begins again.
//
// The first Update takes the lock under which everybody writes, and it is held
// until the host commits or rolls back: all other updates, in all processes, wait
// for that. So it comes last in the transaction, and no network call after it. An
// Update of the store itself, made by the one who holds the transaction, would
// wait for ever.
func (s *Store) In(tx pgx.Tx) *HostTx { return &HostTx{store: s, tx: tx} }

// Define implements [storage.Store] for kinds that the store knows already.
func (h *HostTx) Define(_ context.Context, kinds ...*storage.Kind) error {
	tables := *h.store.tables.Load()
	for _, k := range kinds {
		if tables[k] == nil {
			return fmt.Errorf("%w: postgres: define %s on the store, not inside a transaction", storage.ErrInvalid, k.Name)
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
		return nil, errClosed()
	}
	if err := h.store.enter(); err != nil {
		h.mu.Unlock()
		return nil, err
	}
	return func() { h.store.running.Done(); h.mu.Unlock() }, nil
}

// View implements [storage.Store]. It sees what the transaction has written, and
// each of its reads what others have committed by then.
func (h *HostTx) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	t := &readTx{ctx: ctx, io: ctx, store: h.store, session: &session{db: h.tx}}
	defer func() { t.ended = true }()
	return fn(t)
}

// planner are the settings of which the host's are put back.
const planner = `SELECT current_setting('enable_seqscan'), current_setting('enable_hashjoin'),
	current_setting('enable_mergejoin'), current_setting('enable_bitmapscan'), current_setting('plan_cache_mode')`

const setPlanner = `SELECT set_config('enable_seqscan', $1, true), set_config('enable_hashjoin', $2, true),
	set_config('enable_mergejoin', $3, true), set_config('enable_bitmapscan', $4, true), set_config('plan_cache_mode', $5, true)`

// Update implements [storage.Store].
func (h *HostTx) Update(ctx context.Context, fn func(storage.Tx) error) (err error) {
	leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := checkIsolation(ctx, h.tx); err != nil {
		return err
	}
	g := &group{layer: new(layer)}
	g.session.db = h.tx
	g.session.before = []string{"SAVEPOINT payments", lockWriter(h.store.config.Schema)}
	var host [5]string
	_, err = g.session.one(ctx, []any{&host[0], &host[1], &host[2], &host[3], &host[4]}, planner)
	if err == nil {
		err = g.session.send(ctx, func(b *pgx.Batch) { b.Queue(setPlanner, "off", "off", "off", "off", "force_generic_plan") })
	}
	if err == nil {
		_, err = g.session.one(ctx, []any{&g.number, &g.token, nil}, h.store.newestCommit)
	}
	if err != nil {
		h.undo()
		return h.trouble("begin", err)
	}
	g.number, g.token = g.number+1, rand.Int64()

	// Nobody else's run depends on this one, so it looks before it inserts.
	t := &tx{
		readTx: readTx{ctx: ctx, io: ctx, store: h.store, session: &g.session},
		group:  g, cache: &cache{}, own: new(layer), savepoint: true, lookFirst: true,
	}
	kept := false
	defer func() {
		t.ended = true
		if !kept { // also when fn panics
			h.undo()
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
	err = h.store.drafted(func(d *draft) error {
		return g.session.send(ctx, func(b *pgx.Batch) {
			if t.own.unwritten() || g.wrote {
				t.own.queue(b, d, &h.store.sql, &g.changes)
				b.Queue(h.store.insertCommit, g.number, g.token, g.changes.bytes())
			}
			b.Queue(setPlanner, host[0], host[1], host[2], host[3], host[4])
			b.Queue("RELEASE SAVEPOINT payments")
		})
	})
	if err != nil {
		return h.trouble("write", err)
	}
	kept = true
	return nil
}

// undo goes back to before the update, which also gives back the lock if it was
// taken there. Where that fails, the host's transaction has, and cannot be
// committed.
func (h *HostTx) undo() {
	ctx, cancel := context.WithTimeout(context.Background(), groupLimit)
	defer cancel()
	if _, err := h.tx.Exec(ctx, "ROLLBACK TO SAVEPOINT payments"); err == nil {
		_, _ = h.tx.Exec(ctx, "RELEASE SAVEPOINT payments") // the server goes on without it
	}
}

// trouble says of an error whether another attempt may be spared it.
func (h *HostTx) trouble(doing string, err error) error {
	if isTransient(err) || isUnique(err) {
		return fmt.Errorf("postgres: %s: %w: %w", doing, storage.ErrRetry, err)
	}
	if errors.Is(err, storage.ErrRetry) {
		return err
	}
	return fmt.Errorf("postgres: %s: %w", doing, err)
}
