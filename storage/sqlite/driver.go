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

// dialect is SQLite's SQL. A limit is an expression, because SQLite plans a statement anew
// for each value of a plain LIMIT ?; see docs/notes/performance.md. Without statistics and
// without a hint, a claim in one scope would read its whole history.
var dialect = sqlstore.Dialect{
	Name:        "sqlite",
	Parameter:   func(int) string { return "?" },
	Limit:       func(parameter string) string { return parameter + " + 0" },
	IndexHint:   func(name string) string { return " INDEXED BY " + sqlstore.Quote(name) },
	OrderedJoin: "CROSS JOIN",
	Greatest:    "max",
	Clock:       "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
}

// writer is the connection that writes. One call or commit uses it at a time.
type writer struct {
	conn *conn // nil after a failure, until the next use
	// version is SQLite's data version as the connection last read it. It changes only
	// when another connection commits.
	version int64
	// newest names the newest commit. A commit of another connection gets a name without
	// relation to the one before, so that the cache is cleared.
	newest sqlstore.Commit
	schema int64 // the schema version as of version
}

// ensureConn opens the connection that writes, unless it is open.
func (s *Store) ensureConn(ctx context.Context) error {
	w := &s.writer
	if w.conn != nil {
		return nil
	}
	c, err := connect(ctx, s.db, writerRole)
	if err != nil {
		return fmt.Errorf("connect again: %w", err)
	}
	w.conn, w.version = c, 0
	return nil
}

// ErrReplaced is the error of every Update once the path has another file, such as a restored
// backup, or no file. Close the store and open it again.
var ErrReplaced = errors.New("sqlite: the database file was replaced or removed; close the store and open it again")

// checkSameFile returns ErrReplaced if the path does not lead to the opened file any
// more.
func (s *Store) checkSameFile() error {
	if now, err := os.Stat(s.path); err != nil || !os.SameFile(s.file, now) {
		return sqlstore.Final{Cause: ErrReplaced}
	}
	return nil
}

// detectCommits checks whether another connection has committed.
func (w *writer) detectCommits() error {
	version := w.version
	if _, err := w.conn.queryRow("PRAGMA data_version", nil, &version); err != nil {
		return err
	}
	if version != w.version {
		schema, err := schemaNumber(w.conn)
		if err != nil {
			return err
		}
		w.version, w.schema = version, schema
		w.newest = sqlstore.Commit{Number: w.newest.Number + 1, Token: rand.Int64()}
	}
	return nil
}

// reset rolls back an open transaction. If that fails, it closes the connection.
func (w *writer) reset() {
	if w.conn != nil && w.conn.rollback() != nil {
		_ = w.conn.close() // the caller reports the first error
		w.conn = nil
	}
}

// BeginRead implements [sqlstore.Driver].
func (d driver) BeginRead(ctx context.Context) (sqlstore.Session, error) {
	c, err := d.readers.acquire(ctx)
	if err != nil {
		return nil, err
	}
	return &session{store: d.Store, conn: c, readOnly: true}, nil
}

// BeginWrite implements [sqlstore.Driver].
func (d driver) BeginWrite(ctx context.Context, since sqlstore.Commit, _ *sqlstore.Fetch) (sqlstore.Session, sqlstore.CommitLog, error) {
	for {
		s, err := d.begin(ctx)
		if err == nil {
			newest := d.writer.newest
			return s, sqlstore.CommitLog{Newest: newest, Found: newest == since, SchemaVersion: d.writer.schema}, nil
		}
		if !isBusy(err) {
			return nil, sqlstore.CommitLog{}, err
		}
		if err := pause(ctx); err != nil {
			return nil, sqlstore.CommitLog{}, err
		}
	}
}

// begin begins a write transaction, unless another process holds the lock.
func (d driver) begin(ctx context.Context) (*session, error) {
	if err := d.checkSameFile(); err != nil {
		return nil, err
	}
	if err := d.ensureConn(ctx); err != nil {
		return nil, err
	}
	w := &d.writer
	_, err := w.conn.exec("BEGIN IMMEDIATE")
	if err == nil {
		err = w.detectCommits()
	}
	if err != nil {
		if !isBusy(err) {
			w.reset()
		}
		return nil, err
	}
	return &session{store: d.Store, conn: w.conn}, nil
}

// CommitIfValid implements [sqlstore.Driver]. It fails after any commit of another connection.
func (d driver) CommitIfValid(base sqlstore.Commit, token int64, _ sqlstore.Hashes, w *sqlstore.Writes) (sqlstore.CommitLog, error) {
	s, err := d.begin(context.Background())
	if err != nil {
		return sqlstore.CommitLog{}, fmt.Errorf("begin: %w", err)
	}
	defer s.Close()
	if d.writer.newest != base {
		return sqlstore.CommitLog{}, sqlstore.ErrStale
	}
	next := sqlstore.Commit{Number: base.Number + 1, Token: token}
	return sqlstore.CommitLog{Newest: next, Found: true}, s.Commit(next, w)
}

// Validate implements [sqlstore.Driver].
func (d driver) Validate(base sqlstore.Commit, _ sqlstore.Hashes) error {
	err := d.ensureConn(context.Background())
	if err == nil {
		err = d.writer.detectCommits()
	}
	if err != nil {
		d.writer.reset()
		return err
	}
	if d.writer.newest != base {
		return sqlstore.ErrStale
	}
	return nil
}

// errRowChanged says that a row to be changed is not as it was read.
var errRowChanged = errors.New("a row has changed since it was read")

// Classify implements [sqlstore.Driver].
func (driver) Classify(err error) (class sqlstore.ErrorClass, table string) {
	if errors.Is(err, errRowChanged) {
		return sqlstore.Transient, ""
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return sqlstore.ConnectionLost, ""
	}
	switch e.Code() {
	case code.SQLITE_CONSTRAINT_UNIQUE, code.SQLITE_CONSTRAINT_PRIMARYKEY:
		return sqlstore.UniqueViolation, violatedTable(e.Error())
	}
	switch e.Code() & 0xff {
	case code.SQLITE_BUSY, code.SQLITE_LOCKED:
		return sqlstore.Transient, ""
	case code.SQLITE_ERROR, code.SQLITE_CONSTRAINT, code.SQLITE_TOOBIG, code.SQLITE_MISMATCH, code.SQLITE_RANGE:
		return sqlstore.Rejected, ""
	}
	return sqlstore.ConnectionLost, "" // SQLite may have rolled back the transaction
}

// violatedTable returns the table in "… UNIQUE constraint failed: table.column, …", or "".
func violatedTable(text string) string {
	_, columns, found := strings.Cut(text, "UNIQUE constraint failed: ")
	if table, _, dotted := strings.Cut(columns, "."); found && dotted {
		return table
	}
	return ""
}
