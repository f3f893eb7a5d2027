package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// session sends statements over one connection, inside one transaction.
type session struct {
	db querier
	// before are statements without an answer that go out with the next one, and
	// so cost no round trip of their own.
	before []string
	// limit bounds each round trip that has no deadline of its own; zero for none.
	limit time.Duration
	// open, unless it is nil, must be called before anything is sent.
	open func() error
	// renew, unless it is nil, replaces a connection that failed before it answered.
	renew func() error
}

// ready opens the session if it is not open yet.
func (s *session) ready() error {
	if s.open == nil {
		return nil
	}
	return s.open()
}

// context returns the context of a round trip.
func (s *session) context(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.limit == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.limit)
}

// query runs a statement and calls scan for each row.
func (s *session) query(ctx context.Context, scan func(pgx.Rows) error, text string, args ...any) error {
	if err := s.ready(); err != nil {
		return err
	}
	before, scanned := s.before, false
	seen := func(rows pgx.Rows) error {
		scanned = true
		return scan(rows)
	}
	err := s.ask(ctx, seen, text, args)
	if s.renew != nil && len(before) > 0 && !scanned && ctx.Err() == nil && isLost(err) && isUnavailable(err) {
		// The transaction has just begun, and nothing of it was seen.
		if renewed := s.renew(); renewed == nil {
			s.before = before
			err = s.ask(ctx, seen, text, args)
		}
	}
	return s.failed(ctx, err)
}

// failed notes what has become of the connection, and says of an error whether it is
// trouble of that. ctx is the caller's.
func (s *session) failed(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if conn, ok := s.db.(*pgx.Conn); ok {
		noteFailure(conn, err)
	}
	return unavailable(err)
}

// ask sends a statement and those before it.
func (s *session) ask(ctx context.Context, scan func(pgx.Rows) error, text string, args []any) error {
	ctx, cancel := s.context(ctx)
	defer cancel()
	if len(s.before) == 0 {
		rows, err := s.db.Query(ctx, text, args...)
		if err != nil {
			return err
		}
		return each(rows, scan)
	}
	var b pgx.Batch
	n := s.queueBefore(&b)
	b.Queue(text, args...)
	results := s.db.SendBatch(ctx, &b)
	for range n {
		if _, err := results.Exec(); err != nil {
			return errors.Join(err, closed(results))
		}
	}
	rows, err := results.Query()
	if err == nil {
		err = each(rows, scan)
	}
	if err != nil {
		return errors.Join(err, closed(results))
	}
	return results.Close()
}

// closed closes results of which an error is known already.
func closed(results pgx.BatchResults) error {
	_ = results.Close() // it repeats the error
	return nil
}

func each(rows pgx.Rows, scan func(pgx.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// one scans the only row and reports whether there was one.
func (s *session) one(ctx context.Context, dests []any, text string, args ...any) (found bool, err error) {
	err = s.query(ctx, func(rows pgx.Rows) error {
		found = true
		return rows.Scan(dests...)
	}, text, args...)
	return found, err
}

// send runs what was queued in one round trip, and nothing after the first
// statement that fails.
func (s *session) send(ctx context.Context, queue func(*pgx.Batch)) error {
	if err := s.ready(); err != nil {
		return err
	}
	var b pgx.Batch
	s.queueBefore(&b)
	queue(&b)
	if b.Len() == 0 {
		return nil
	}
	return s.failed(ctx, s.sendBatch(ctx, &b))
}

// sendBatch runs a batch in one round trip.
func (s *session) sendBatch(ctx context.Context, b *pgx.Batch) error {
	ctx, cancel := s.context(ctx)
	defer cancel()
	switch db := s.db.(type) {
	case *pgx.Conn:
		teach(db)
	case pgx.Tx:
		teach(db.Conn())
	}
	results := s.db.SendBatch(ctx, b)
	for range b.Len() {
		if _, err := results.Exec(); err != nil {
			_ = results.Close() // it repeats the error
			return err
		}
	}
	return results.Close()
}

func (s *session) queueBefore(b *pgx.Batch) int {
	n := len(s.before)
	for _, text := range s.before {
		b.Queue(text)
	}
	s.before = nil
	return n
}

// The classes of what goes wrong.

// code returns PostgreSQL's code of an error by which the server has refused a
// statement, and undone the transaction, or "".
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && (e.SeverityUnlocalized == "ERROR" || e.SeverityUnlocalized == "" && e.Severity == "ERROR") {
		return e.Code
	}
	return ""
}

func isUnique(err error) bool { return code(err) == "23505" }

// isTransient reports a refusal that is no fault of the statement: the
// transactions of others came in between.
func isTransient(err error) bool {
	switch code(err) {
	// Serialization failure, deadlock, lock_timeout or no lock available, and
	// statement_timeout or an operator's pg_cancel_backend.
	case "40001", "40P01", "55P03", "57014":
		return true
	}
	return false
}

// isLost reports trouble of the connection or the server, after which the
// connection is of no use.
func isLost(err error) bool { return err != nil && code(err) == "" }
