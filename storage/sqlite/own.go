package sqlite

import (
	"context"
	"database/sql"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

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
// back and begins again. A View sees what the transaction has written.
//
// SQLite has one writer: until the host commits or rolls back, all other updates
// wait. An Update of the store itself, made by the one who holds the transaction,
// would wait for ever.
func (s *Store) In(tx *sql.Tx) storage.Store {
	c := newConn()
	c.tx = tx
	return s.store.In(&hostSession{session{store: s, conn: c}})
}

// hostSession implements [sqlstore.HostSession]. What it writes is seen by others as
// the commit of another connection.
type hostSession struct{ session }

// Begin implements [sqlstore.HostSession].
func (h *hostSession) Begin(context.Context) (log sqlstore.Log, err error) {
	if err = h.run("SAVEPOINT payments"); err == nil {
		log.Schema, err = schemaNumber(h.conn)
	}
	return log, err
}

// Finish implements [sqlstore.HostSession].
func (h *hostSession) Finish(_ context.Context, _ sqlstore.Commit, w *sqlstore.Writes, _ bool) error {
	if err := h.conn.write(w); err != nil {
		return err
	}
	return h.run("RELEASE payments")
}

// Abandon implements [sqlstore.HostSession].
func (h *hostSession) Abandon() {
	clear(h.conn.accounts)
	if h.run("ROLLBACK TO payments") == nil {
		_ = h.run("RELEASE payments") // one savepoint more does no harm
	}
}
