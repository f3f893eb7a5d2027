package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// In returns a store whose Updates and Views run inside the host's open transaction, so that the host's
// rows and the library's are committed together or not at all. tx must be of the same file, through
// modernc.org/sqlite; Update fails with [storage.ErrInvalid] for another file. It should have begun with
// BEGIN IMMEDIATE (_txlock=immediate in the data source), because a transaction that has read before
// another connection wrote cannot write any more. Bind services to it with payments.Service.InTx.
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
	return s.store.In(&hostSession{session: session{store: s, conn: c}})
}

// hostSession implements [sqlstore.HostSession]. Other connections see its writes as the
// commit of another connection.
type hostSession struct {
	session
	ofStore bool // the transaction is of the store's file
}

// Begin implements [sqlstore.HostSession].
func (h *hostSession) Begin(context.Context) (log sqlstore.CommitLog, err error) {
	if err = h.checkFile(); err != nil {
		return log, err
	}
	if err = h.exec("SAVEPOINT payments"); err == nil {
		log.SchemaVersion, err = schemaNumber(h.conn)
	}
	return log, err
}

// checkFile refuses a transaction of another file. There the library's rows would be committed where no
// service of this store finds them, or fail for the lack of tables.
func (h *hostSession) checkFile() error {
	if h.ofStore {
		return nil
	}
	var path string
	if _, err := h.conn.queryRow("SELECT file FROM pragma_database_list WHERE name = 'main'", nil, &path); err != nil {
		return err
	}
	file, err := os.Stat(path)
	if err != nil || !os.SameFile(file, h.store.file) {
		return fmt.Errorf("%w: the host's transaction is of another file than the store; open your connection with the store's path", storage.ErrInvalid)
	}
	h.ofStore = true
	return nil
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
