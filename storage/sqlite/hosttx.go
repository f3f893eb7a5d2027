package sqlite

import (
	"context"
	"database/sql"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// In returns a store whose Updates and Views run inside the host's open transaction, so that the host's
// rows and the library's are committed together or not at all. tx must be of the same file, through
// modernc.org/sqlite. It should have begun with BEGIN IMMEDIATE (_txlock=immediate in the data source),
// because a transaction that has read before another connection wrote cannot write any more. Bind
// services to it with payments.Service.InTx.
//
// Each Update runs its function once, in a savepoint: a failed one leaves the host's
// transaction as it was. If another transaction interferes, Update fails with
// [storage.ErrRetry]; the host then rolls back and begins again. A View sees the writes
// of the transaction.
//
// SQLite has one writer: until the host commits or rolls back, all other updates wait.
// The host must not call Update of the store itself meanwhile: it would wait for ever.
func (s *Store) In(tx *sql.Tx) storage.Store {
	c := newConn()
	c.tx = tx
	return s.store.In(&hostSession{session{store: s, conn: c}})
}

// hostSession implements [sqlstore.HostSession]. Other connections see its writes as the
// commit of another connection.
type hostSession struct{ session }

// Begin implements [sqlstore.HostSession].
func (h *hostSession) Begin(context.Context) (log sqlstore.CommitLog, err error) {
	if err = h.exec("SAVEPOINT payments"); err == nil {
		log.SchemaVersion, err = schemaNumber(h.conn)
	}
	return log, err
}

// Finish implements [sqlstore.HostSession].
func (h *hostSession) Finish(_ context.Context, _ sqlstore.Commit, w *sqlstore.Writes, _ bool) error {
	if err := h.conn.write(w); err != nil {
		return err
	}
	return h.exec("RELEASE payments")
}

// Rollback implements [sqlstore.HostSession].
func (h *hostSession) Rollback() {
	if h.exec("ROLLBACK TO payments") == nil {
		_ = h.exec("RELEASE payments") // a leftover savepoint does no harm
	}
}
