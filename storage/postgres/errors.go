package postgres

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed-7082ffec/payments/storage"
)

// unavailable wraps an error of the connection or the server with
// [storage.ErrUnavailable], and returns every other error as it is.
func unavailable(err error) error {
	if err == nil || errors.Is(err, storage.ErrUnavailable) || !isUnavailable(err) {
		return err
	}
	return fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
}

// isUnavailable reports an error of the connection or the server, which the statement has
// not caused and which a retry may not meet.
func isUnavailable(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		if errorCode(err) == "" { // FATAL: the session has ended or did not begin
			return true
		}
		// Connection, resources, operator, system.
		switch class := e.Code[:min(2, len(e.Code))]; class {
		case "08", "53", "57", "58":
			return true
		}
		return isReadOnly(err) || isTransient(err)
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok { // a context's deadline is one, too
		return true
	}
	for _, known := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed, errReadOnly} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// errReadOnly says that new connections lead to a server that takes no writes.
var errReadOnly = errors.New("the server is read-only")

// isReadOnly reports that a server refused to write because it is a standby or read-only.
// On a standby BEGIN READ WRITE fails with feature_not_supported, and LOCK TABLE with
// object_not_in_prerequisite_state.
func isReadOnly(err error) bool {
	e, _ := errors.AsType[*pgconn.PgError](err)
	switch errorCode(err) {
	case "25006":
		return true
	case "0A000":
		return strings.HasSuffix(e.Routine, "check_hook") || strings.HasPrefix(e.Routine, "check_transaction")
	case "55000":
		return strings.HasPrefix(e.Routine, "LockAcquire")
	}
	return errors.Is(err, errReadOnly)
}

// noteFailure marks a connection that has failed or leads to a read-only server, so that
// its release resets the pool.
func noteFailure(conn *pgx.Conn, err error) {
	if conn.IsClosed() || isReadOnly(err) {
		stateOf(conn).failed = true
	}
}
