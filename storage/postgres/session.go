package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// session is one transaction on one connection. It implements [sqlstore.Session].
type session struct {
	store *Store
	conn  *pgxpool.Conn // nil in a host's transaction, and when the session has ended
	db    querier
	// queued are statements without an answer. They go out with the next statement, and
	// so cost no round trip of their own.
	queued []string
	// timeout bounds each round trip; zero for none.
	timeout time.Duration
	// reconnect, if not nil, replaces a connection that failed before it answered.
	reconnect func() error
}

// querier is the common part of a pgx connection and a pgx transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// withTimeout returns the context of a round trip.
func (s *session) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.timeout)
}

// Query implements [sqlstore.Session].
func (s *session) Query(ctx context.Context, scan func(sqlstore.Row) error, text string, args ...any) error {
	before, scanned := s.queued, false
	seen := func(row sqlstore.Row) error {
		scanned = true
		return scan(row)
	}
	err := s.queryOnce(ctx, seen, text, args)
	if s.reconnect != nil && len(before) > 0 && !scanned && ctx.Err() == nil && errorCode(err) == "" && isUnavailable(err) {
		// The transaction has just begun, and the caller has seen no row.
		if renewed := s.reconnect(); renewed == nil {
			s.queued = before
			err = s.queryOnce(ctx, seen, text, args)
		}
	}
	return s.classify(ctx, err)
}

// classify notes a failure of the connection, and wraps its error. ctx is the caller's.
func (s *session) classify(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if conn, ok := s.db.(*pgx.Conn); ok {
		noteFailure(conn, err)
	}
	return unavailable(err)
}

// queryOnce sends a statement with the queued ones.
func (s *session) queryOnce(ctx context.Context, scan func(sqlstore.Row) error, text string, args []any) error {
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	if len(s.queued) == 0 {
		rows, err := s.db.Query(ctx, text, args...)
		if err != nil {
			return err
		}
		return scanRows(rows, scan)
	}
	return s.sendQueries(ctx, []query{{text, args, scan}})
}

// query is a statement, and what reads its rows.
type query struct {
	text string
	args []any
	scan func(sqlstore.Row) error
}

// queryAll runs the queued statements and the queries in one round trip.
func (s *session) queryAll(ctx context.Context, queries []query) error {
	trip, cancel := s.withTimeout(ctx)
	defer cancel()
	return s.classify(ctx, s.sendQueries(trip, queries))
}

func (s *session) sendQueries(ctx context.Context, queries []query) error {
	var b pgx.Batch
	n := s.flushQueued(&b)
	for _, q := range queries {
		b.Queue(q.text, q.args...)
	}
	results := s.db.SendBatch(ctx, &b)
	for range n {
		if _, err := results.Exec(); err != nil {
			_ = results.Close() // repeats the error
			return err
		}
	}
	for _, q := range queries {
		rows, err := results.Query()
		if err == nil {
			err = scanRows(rows, q.scan)
		}
		if err != nil {
			_ = results.Close() // repeats the error
			return err
		}
	}
	return results.Close()
}

func scanRows(rows pgx.Rows, scan func(sqlstore.Row) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err == sqlstore.ErrStopScan {
			rows.Close() // reads and drops the rest
		} else if err != nil {
			return err
		}
	}
	return rows.Err()
}

// send runs the queued statements and those that queue adds, in one round trip. It stops
// at the first statement that fails.
func (s *session) send(ctx context.Context, queue func(*pgx.Batch)) error {
	var b pgx.Batch
	s.flushQueued(&b)
	queue(&b)
	if b.Len() == 0 {
		return nil
	}
	return s.classify(ctx, s.sendBatch(ctx, &b))
}

// sendBatch runs a batch in one round trip.
func (s *session) sendBatch(ctx context.Context, b *pgx.Batch) error {
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	switch db := s.db.(type) {
	case *pgx.Conn:
		prepareConn(db, b)
	case pgx.Tx:
		prepareConn(db.Conn(), b)
	}
	results := s.db.SendBatch(ctx, b)
	for _, q := range b.QueuedQueries {
		var err error
		if q.Fn != nil {
			err = q.Fn(results)
		} else {
			_, err = results.Exec()
		}
		if err != nil {
			_ = results.Close() // repeats the error
			return err
		}
	}
	return results.Close()
}

// prepareConn makes a connection ready to send a batch.
func prepareConn(c *pgx.Conn, b *pgx.Batch) {
	registerArrays(c)
	c.PgConn().Frontend().Send(roomOf(b))
}

func (s *session) flushQueued(b *pgx.Batch) int {
	n := len(s.queued)
	for _, text := range s.queued {
		b.Queue(text)
	}
	s.queued = nil
	return n
}

// Write implements [sqlstore.Session].
func (s *session) Write(ctx context.Context, w *sqlstore.Writes) error {
	return s.store.withEncoder(func(e *encoder) error {
		return s.send(ctx, func(b *pgx.Batch) { e.queue(b, w) })
	})
}

// Commit implements [sqlstore.Session].
func (s *session) Commit(next sqlstore.Commit, w *sqlstore.Writes) error {
	_, _, err := s.commit(next.Token, w)
	return err
}

// commit runs queries, writes, and commits, in one round trip. It returns the commit's number, and whether the
// queries were answered: not if the answer was lost, and the commit found afterwards.
func (s *session) commit(token int64, w *sqlstore.Writes, first ...query) (number int64, answered bool, err error) {
	defer func() {
		if p := recover(); p != nil { // of a tracer of the host, perhaps after the commit
			err = fmt.Errorf("postgres: panic beside a commit: %v", p)
		}
		if err != nil && errorCode(err) == "" { // the answer was lost
			s.Close()
			answered = false
			number, err = s.store.resolve(token, err)
		}
	}()
	sql := &s.store.sql
	inserted := query{sql.insertCommit, []any{token, []int64(w.Hashes)}, func(row sqlstore.Row) error { return row.Scan(&number) }}
	err = s.store.withEncoder(func(e *encoder) error {
		return s.send(context.Background(), func(b *pgx.Batch) {
			for _, q := range first {
				queueQuery(b, q)
			}
			e.queue(b, w)
			queueQuery(b, inserted)
			if token%256 == 0 {
				b.Queue(sql.deleteCommits)
			}
			b.Queue("COMMIT")
		})
	})
	return number, true, err
}

// queueQuery queues a query whose rows sendBatch passes on.
func queueQuery(b *pgx.Batch, q query) {
	queued := b.Queue(q.text, q.args...)
	if q.scan != nil {
		queued.Query(func(rows pgx.Rows) error { return scanRows(rows, q.scan) })
	}
}

// Close implements [sqlstore.Session].
func (s *session) Close() {
	if s.conn != nil {
		s.store.monitor.release(s.conn)
		s.conn = nil
	}
}
