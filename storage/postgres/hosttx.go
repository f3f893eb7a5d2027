package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// In returns a store whose Updates and Views run inside the host's open transaction, so
// that the host's rows and the library's are committed together or not at all. tx must be
// of the same database and READ COMMITTED. Bind services to it with
// payments.Service.InTx.
//
// Each Update runs its function once, in a savepoint: a failed one leaves the host's
// transaction as it was. If another transaction interferes, Update fails with
// [storage.ErrRetry]; the host then rolls back and begins again. A View sees the writes
// of the transaction, and each of its reads sees what others have committed by then.
//
// The first Update takes the writers' lock and holds it until the host commits or rolls
// back: all other updates, in all processes, wait for that. So let it come last in the
// transaction, and make no network call after it. The host must not call Update of the
// store itself meanwhile: it would wait for ever.
func (s *Store) In(tx pgx.Tx) storage.Store {
	return s.store.In(&hostSession{session: session{store: s, db: tx}, tx: tx})
}

// hostSession implements [sqlstore.HostSession].
type hostSession struct {
	session
	tx      pgx.Tx
	planner [5]string // the host's planner settings
}

// readPlannerSQL reads the host's planner settings, which Finish restores.
const readPlannerSQL = `SELECT current_setting('enable_seqscan'), current_setting('enable_hashjoin'),
	current_setting('enable_mergejoin'), current_setting('enable_bitmapscan'), current_setting('plan_cache_mode')`

const setPlannerSQL = `SELECT set_config('enable_seqscan', $1, true), set_config('enable_hashjoin', $2, true),
	set_config('enable_mergejoin', $3, true), set_config('enable_bitmapscan', $4, true), set_config('plan_cache_mode', $5, true)`

// Begin implements [sqlstore.HostSession].
func (h *hostSession) Begin(ctx context.Context) (log sqlstore.CommitLog, err error) {
	if err := checkIsolation(ctx, h.tx); err != nil {
		return log, err
	}
	h.queued = []string{"SAVEPOINT payments", h.store.sql.lock}
	p := &h.planner
	err = h.Query(ctx, func(row sqlstore.Row) error { return row.Scan(&p[0], &p[1], &p[2], &p[3], &p[4]) }, readPlannerSQL)
	if err == nil {
		err = h.send(ctx, func(b *pgx.Batch) { b.Queue(setPlannerSQL, "off", "off", "off", "off", "force_generic_plan") })
	}
	if err == nil {
		err = h.Query(ctx, func(row sqlstore.Row) error {
			return row.Scan(&log.Newest.Number, &log.Newest.Token, nil, &log.SchemaVersion)
		}, h.store.sql.newestCommit)
	}
	return log, err
}

// Finish implements [sqlstore.HostSession].
func (h *hostSession) Finish(ctx context.Context, next sqlstore.Commit, w *sqlstore.Writes, wrote bool) error {
	return h.store.withEncoder(func(e *encoder) error {
		return h.send(ctx, func(b *pgx.Batch) {
			if wrote || len(w.Statements) > 0 {
				e.queue(b, w)
				b.Queue(h.store.sql.insertCommit, next.Token, []int64(w.Hashes))
			}
			p := &h.planner
			b.Queue(setPlannerSQL, p[0], p[1], p[2], p[3], p[4])
			b.Queue("RELEASE SAVEPOINT payments")
		})
	})
}

// Rollback implements [sqlstore.HostSession]. It also releases the lock, if that was
// taken after the savepoint. If it fails, the host's transaction has failed and cannot be
// committed.
func (h *hostSession) Rollback() {
	h.queued = nil
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if _, err := h.tx.Exec(ctx, "ROLLBACK TO SAVEPOINT payments"); err == nil {
		_, _ = h.tx.Exec(ctx, "RELEASE SAVEPOINT payments") // a leftover savepoint does no harm
	}
}
