package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"modernc.org/sqlite"
	code "modernc.org/sqlite/lib"

	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// driver is SQLite for [sqlstore.Store].
type driver struct{ *Store }

// dialect is SQLite's. It looks at what is bound to a plain LIMIT ? when it plans, and
// so would plan anew for every list, or claim, which was a fifth of its time. Without
// statistics it would read a merchant's whole history to claim from one scope.
var dialect = sqlstore.Dialect{
	Name:      "sqlite",
	Parameter: func(int) string { return "?" },
	Limit:     func(parameter string) string { return parameter + " + 0" },
	Index:     func(name string) string { return " INDEXED BY " + sqlstore.Quote(name) },
	Straight:  "CROSS JOIN",
	Local:     true,
}

// writer is the connection that writes. One call or commit uses it at a time.
type writer struct {
	conn *conn // nil after trouble, until it is used again
	// version is SQLite's data version as the connection last saw it. It changes when
	// another connection commits, and only then.
	version int64
	// newest names the newest commit. After one of another connection's, it is a new
	// name, so that everything is forgotten that was known of the one before.
	newest sqlstore.Commit
	schema int64 // its number as of version
}

// ready makes sure that there is a connection.
func (s *Store) ready(ctx context.Context) error {
	w := &s.writer
	if w.conn != nil {
		return nil
	}
	c, err := connect(ctx, s.db, forWriting)
	if err != nil {
		return fmt.Errorf("connect again: %w", err)
	}
	w.conn, w.version = c, 0
	return nil
}

// ErrReplaced is what every Update fails with once another file stands where the database
// was opened, such as a backup that was moved there, or none. What was written would go
// to the file that has no name any more.
var ErrReplaced = errors.New("sqlite: the database file was replaced or removed; close the store and open it again")

// sameFile returns ErrReplaced if the file that was opened is not in its place.
func (s *Store) sameFile() error {
	if now, err := os.Stat(s.path); err != nil || !os.SameFile(s.file, now) {
		return sqlstore.Final{Cause: ErrReplaced}
	}
	return nil
}

// look learns whether another connection has committed.
func (w *writer) look() error {
	version := w.version
	if _, err := w.conn.one("PRAGMA data_version", nil, &version); err != nil {
		return err
	}
	if version != w.version {
		schema, err := schemaNumber(w.conn)
		if err != nil {
			return err
		}
		w.version, w.schema = version, schema
		clear(w.conn.accounts) // a backup may have been restored into the file
		w.newest = sqlstore.Commit{Number: w.newest.Number + 1, Token: rand.Int64()}
	}
	return nil
}

// reset leaves no transaction open. A connection in doubt is given up.
func (w *writer) reset() {
	if w.conn != nil && w.conn.rollback() != nil {
		_ = w.conn.close() // what went wrong is already being reported
		w.conn = nil
	}
}

// Snapshot implements [sqlstore.Driver].
func (d driver) Snapshot(ctx context.Context) (sqlstore.Session, error) {
	c, err := d.readers.take(ctx)
	if err != nil {
		return nil, err
	}
	return &session{store: d.Store, conn: c, reads: true}, nil
}

// Lock implements [sqlstore.Driver].
func (d driver) Lock(ctx context.Context, since sqlstore.Commit) (sqlstore.Session, sqlstore.Log, error) {
	for {
		s, err := d.begin(ctx)
		if err == nil {
			newest := d.writer.newest
			return s, sqlstore.Log{Newest: newest, Known: newest == since, Schema: d.writer.schema}, nil
		}
		if !isBusy(err) {
			return nil, sqlstore.Log{}, err
		}
		if err := pause(ctx); err != nil {
			return nil, sqlstore.Log{}, err
		}
	}
}

// begin begins a transaction that writes, unless another process holds the lock.
func (d driver) begin(ctx context.Context) (*session, error) {
	if err := d.sameFile(); err != nil {
		return nil, err
	}
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	w := &d.writer
	_, err := w.conn.exec("BEGIN IMMEDIATE")
	if err == nil {
		err = w.look()
	}
	if err != nil {
		if !isBusy(err) {
			w.reset()
		}
		return nil, err
	}
	return &session{store: d.Store, conn: w.conn}, nil
}

// CommitOnto implements [sqlstore.Driver].
func (d driver) CommitOnto(base, next sqlstore.Commit, w *sqlstore.Writes) error {
	s, err := d.begin(context.Background())
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer s.Close()
	if d.writer.newest != base {
		return sqlstore.ErrStale
	}
	return s.Commit(next, w)
}

// Newest implements [sqlstore.Driver].
func (d driver) Newest() (sqlstore.Commit, error) {
	err := d.ready(context.Background())
	if err == nil {
		err = d.writer.look()
	}
	if err != nil {
		d.writer.reset()
	}
	return d.writer.newest, err
}

// errMissed is what a write meets whose row is not as it was read.
var errMissed = errors.New("a row is not as it was read")

// Fault implements [sqlstore.Driver].
func (driver) Fault(err error) (fault sqlstore.Fault, table string) {
	if errors.Is(err, errMissed) {
		return sqlstore.Transient, ""
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return sqlstore.Lost, ""
	}
	switch e.Code() {
	case code.SQLITE_CONSTRAINT_UNIQUE, code.SQLITE_CONSTRAINT_PRIMARYKEY:
		return sqlstore.Taken, violated(e.Error())
	}
	switch e.Code() & 0xff {
	case code.SQLITE_BUSY, code.SQLITE_LOCKED:
		return sqlstore.Transient, ""
	case code.SQLITE_ERROR, code.SQLITE_CONSTRAINT, code.SQLITE_TOOBIG, code.SQLITE_MISMATCH, code.SQLITE_RANGE:
		return sqlstore.Refused, ""
	}
	return sqlstore.Lost, "" // the whole transaction may be rolled back
}

// violated returns the table in "… UNIQUE constraint failed: table.column, …", or "".
func violated(text string) string {
	_, columns, found := strings.Cut(text, "constraint failed: ")
	if table, _, dotted := strings.Cut(columns, "."); found && dotted {
		return table
	}
	return ""
}
