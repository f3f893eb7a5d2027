package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// session is one transaction on one connection. It implements [sqlstore.Session].
type session struct {
	store *Store
	conn  *pgxpool.Conn // nil in a host's transaction, and when the session is over
	db    querier
	// before are statements without an answer that go out with the next one, and
	// so cost no round trip of their own.
	before []string
	// limit bounds each round trip that has no deadline of its own; zero for none.
	limit time.Duration
	// renew, unless it is nil, replaces a connection that failed before it answered.
	renew func() error
}

// querier is what a connection and a transaction of pgx have in common.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// context returns the context of a round trip.
func (s *session) context(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.limit == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.limit)
}

// Query implements [sqlstore.Session].
func (s *session) Query(ctx context.Context, scan func(sqlstore.Row) error, text string, args ...any) error {
	before, scanned := s.before, false
	seen := func(row sqlstore.Row) error {
		scanned = true
		return scan(row)
	}
	err := s.ask(ctx, seen, text, args)
	if s.renew != nil && len(before) > 0 && !scanned && ctx.Err() == nil && code(err) == "" && isUnavailable(err) {
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
func (s *session) ask(ctx context.Context, scan func(sqlstore.Row) error, text string, args []any) error {
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

func each(rows pgx.Rows, scan func(sqlstore.Row) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err == sqlstore.ErrEnough {
			rows.Close() // which reads the rest, a row at a time
		} else if err != nil {
			return err
		}
	}
	return rows.Err()
}

// send runs what was queued in one round trip, and nothing after the first
// statement that fails.
func (s *session) send(ctx context.Context, queue func(*pgx.Batch)) error {
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

// Write implements [sqlstore.Session].
func (s *session) Write(ctx context.Context, w *sqlstore.Writes) error {
	return s.store.encoding(func(e *encoder) error {
		return s.send(ctx, func(b *pgx.Batch) { e.queue(b, w, &s.store.sql) })
	})
}

// savepoint is the statement of Savepoint, which is not sent before another one is.
const savepoint = "SAVEPOINT batch"

// Savepoint implements [sqlstore.Session].
func (s *session) Savepoint() error {
	s.before = append(s.before, savepoint)
	return nil
}

// Release implements [sqlstore.Session].
func (s *session) Release() error {
	s.before = append(s.before, "RELEASE "+savepoint)
	return nil
}

// Undo implements [sqlstore.Session].
func (s *session) Undo(failed bool) error {
	if n := len(s.before); n > 0 && s.before[n-1] == savepoint {
		s.before = s.before[:n-1]
		return nil
	}
	s.before = append(s.before, "ROLLBACK TO "+savepoint, "RELEASE "+savepoint)
	if !failed {
		return nil
	}
	// In a transaction that has failed no statement is accepted before.
	before := slices.Clone(s.before)
	s.before = nil
	for _, text := range before {
		ctx, cancel := s.context(context.Background())
		_, err := s.db.Exec(ctx, text)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// Commit implements [sqlstore.Session].
func (s *session) Commit(next sqlstore.Commit, w *sqlstore.Writes) error {
	return s.commit(nil, next, w)
}

// commit writes and commits in one round trip. base, unless it is nil, must be the
// newest commit.
func (s *session) commit(base *sqlstore.Commit, next sqlstore.Commit, w *sqlstore.Writes) error {
	sql := &s.store.sql
	err := s.store.encoding(func(e *encoder) error {
		return s.send(context.Background(), func(b *pgx.Batch) {
			if base != nil {
				b.Queue(sql.expectCommit, base.Token)
			}
			e.queue(b, w, sql)
			b.Queue(sql.insertCommit, next.Number, next.Token, w.Hashes)
			if next.Number%256 == 0 {
				b.Queue(sql.deleteCommits, next.Number)
			}
			b.Queue("COMMIT")
		})
	})
	if err != nil && code(err) == "" { // the answer was lost
		s.Close()
		return s.store.resolve(next, err)
	}
	return err
}

// Close implements [sqlstore.Session].
func (s *session) Close() {
	if s.conn != nil {
		s.store.watch.giveBack(s.conn)
		s.conn = nil
	}
}
