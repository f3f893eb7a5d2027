package sqlite

import (
	"context"
	"database/sql"
	"slices"

	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// session is one transaction on one connection. It implements [sqlstore.Session].
type session struct {
	store    *Store
	conn     *conn // nil when the session has ended
	readOnly bool
	// failed is the first error of a query. The connection of a failed reader is closed.
	failed error
}

// row implements [sqlstore.Row].
type row struct {
	*sql.Rows
	conn    *conn
	columns int
}

// Values implements [sqlstore.Row].
func (r *row) Values() ([]any, error) {
	if r.columns == 0 {
		names, err := r.Columns()
		if err != nil {
			return nil, err
		}
		r.columns = len(names)
	}
	c, n := r.conn, r.columns
	if len(c.values) < n {
		c.values = make([]any, n)
		c.dests = make([]any, n)
		for i := range c.values {
			c.dests[i] = &c.values[i]
		}
	}
	if err := r.Scan(c.dests[:n]...); err != nil {
		return nil, err
	}
	values := slices.Clone(c.values[:n])
	clear(c.values[:n])
	return values, nil
}

// Query implements [sqlstore.Session].
func (s *session) Query(_ context.Context, scan func(sqlstore.Row) error, text string, args ...any) (err error) {
	defer func() {
		if err != nil && s.failed == nil {
			s.failed = err
		}
	}()
	rows, err := s.conn.query(text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	r := row{Rows: rows, conn: s.conn}
	for rows.Next() {
		if err := scan(&r); err == sqlstore.ErrStopScan {
			return nil
		} else if err != nil {
			return err
		}
	}
	return rows.Err()
}

// Write implements [sqlstore.Session].
func (s *session) Write(_ context.Context, w *sqlstore.Writes) error { return s.conn.write(w) }

func (s *session) exec(text string) error {
	_, err := s.conn.exec(text)
	return err
}

// Commit implements [sqlstore.Session].
func (s *session) Commit(next sqlstore.Commit, w *sqlstore.Writes) error {
	err := s.conn.write(w)
	if err == nil {
		err = s.exec("COMMIT")
	}
	if err != nil {
		return err // Close rolls back
	}
	s.store.writer.newest = next
	s.store.checkpointer.committed(s.conn)
	s.conn = nil
	return nil
}

// Close implements [sqlstore.Session].
func (s *session) Close() {
	switch {
	case s.conn == nil:
	case s.readOnly:
		s.store.readers.release(s.conn, s.failed)
	default:
		s.store.writer.reset()
	}
	s.conn = nil
}
