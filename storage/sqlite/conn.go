package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
	code "modernc.org/sqlite/lib"

	"github.com/seed-7082ffec/payments/storage"
)

// maxStatements bounds the prepared statements of a connection. A program has
// fewer, because the text of a statement depends on kinds and on the shape of
// queries, never on values.
const maxStatements = 512

// conn is a connection with its prepared statements, which halve the cost of a
// point select. It is for one goroutine at a time.
//
// Statements run with a context that cannot be cancelled: watching one costs a
// goroutine per statement, and an interrupted statement may take the whole
// transaction with it. The caller looks at the context between statements, none of which
// reads more than some thousand rows: longer lists are read in windows.
type conn struct {
	sql        *sql.Conn // nil inside a host's transaction
	tx         *sql.Tx   // the host's
	statements map[string]*sql.Stmt

	accounts map[string]int64 // numbers of ledger accounts, by name

	// Kept between calls to spare allocations.
	args    []any
	values  []any
	dests   []any
	entries []entry
}

func newConn() *conn {
	return &conn{statements: map[string]*sql.Stmt{}, accounts: map[string]int64{}}
}

// role is what a connection is for.
type role int

const (
	forWriting role = iota
	forReading
)

// setup holds the settings of a role that are not in the data source: cache
// sizes in KiB (negative by SQLite's convention), and the wait for locks. The
// writer waits in short steps, between which it looks at the caller's context,
// and cuts a write-ahead log that a long View let grow, when it begins anew.
var setup = map[role]string{
	forWriting: fmt.Sprint("PRAGMA cache_size = -32768; PRAGMA busy_timeout = 100; PRAGMA journal_size_limit = ", (logLimit+1000)*4096),
	forReading: "PRAGMA cache_size = -8192; PRAGMA query_only = ON",
}

// locate returns the absolute path of a database file.
func locate(path string) (string, error) {
	switch {
	case path == ":memory:":
		return "", fmt.Errorf("%w: sqlite keeps files; for a store in memory use storage/memory", storage.ErrInvalid)
	case path == "" || strings.ContainsRune(path, 0):
		return "", fmt.Errorf("%w: sqlite: path of the database file is %q", storage.ErrInvalid, path)
	case strings.HasPrefix(path, "file:"):
		return "", fmt.Errorf("%w: sqlite wants the plain path of the file, not a URI", storage.ErrInvalid)
	}
	file, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("sqlite: open: %w", err)
	}
	return file, nil
}

// creating keeps two Opens of this process from overlapping in create: where locks
// are POSIX locks, closing any descriptor of a file drops those that SQLite holds.
var creating sync.Mutex

// create makes an empty file that only its owner can read, if there is none.
// SQLite gives the log files the same permissions.
func create(file string) error {
	creating.Lock()
	defer creating.Unlock()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// uri returns the URI of a file.
func uri(file string) string {
	path := filepath.ToSlash(file)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath()
}

// dataSource returns the URI of a file with the settings of every connection.
func dataSource(file string) string {
	return uri(file) +
		"?_journal_mode=WAL&_synchronous=FULL&_foreign_keys=on&_busy_timeout=2000&_txlock=immediate" +
		"&_dqs=0&_defensive=1&_pragma=temp_store(MEMORY)&_pragma=wal_autocheckpoint(0)"
}

// connect opens a connection. It tries again while another process holds the
// file for itself, which is while it opens or closes it.
func connect(ctx context.Context, db *sql.DB, r role) (*conn, error) {
	for {
		c, err := connectOnce(ctx, db, r)
		if !isBusy(err) {
			return c, err
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

// pause waits a little: for a file that is busy, or to leave the machine to others.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(5 * time.Millisecond):
		return nil
	}
}

func connectOnce(ctx context.Context, db *sql.DB, r role) (*conn, error) {
	raw, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := newConn()
	c.sql = raw
	if err := c.script(setup[r]); err != nil {
		return nil, errors.Join(err, c.close())
	}
	var mode string
	if err := raw.QueryRowContext(context.Background(), "PRAGMA journal_mode").Scan(&mode); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if mode != "wal" {
		return nil, errors.Join(errors.New("this file system does not allow a write-ahead log"), c.close())
	}
	return c, nil
}

func (c *conn) statement(query string) (*sql.Stmt, error) {
	if s, ok := c.statements[query]; ok {
		return s, nil
	}
	var s *sql.Stmt
	var err error
	if c.tx != nil {
		s, err = c.tx.PrepareContext(context.Background(), query)
	} else {
		s, err = c.sql.PrepareContext(context.Background(), query)
	}
	if err != nil {
		return nil, err
	}
	if len(c.statements) >= maxStatements {
		for text, old := range c.statements {
			delete(c.statements, text)
			_ = old.Close() // an error of its last run, which was reported then
			break
		}
	}
	c.statements[query] = s
	return s, nil
}

func (c *conn) exec(query string, args ...any) (sql.Result, error) {
	s, err := c.statement(query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(context.Background(), args...)
}

// run is exec for those who want the number of changed rows.
func (c *conn) run(query string, args []any) (rows int64, err error) {
	result, err := c.exec(query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (c *conn) query(query string, args ...any) (*sql.Rows, error) {
	s, err := c.statement(query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(context.Background(), args...)
}

// one scans the only row of a query and reports whether there was one.
func (c *conn) one(query string, args []any, dests ...any) (bool, error) {
	rows, err := c.query(query, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, rows.Err()
	}
	if err := rows.Scan(dests...); err != nil {
		return false, err
	}
	return true, rows.Close()
}

// script runs statements that are not worth keeping.
func (c *conn) script(text string) error {
	_, err := c.sql.ExecContext(context.Background(), text)
	return err
}

// rollback ends the transaction, if there is one. When it returns an error the
// state of the connection is unknown.
func (c *conn) rollback() error {
	clear(c.accounts) // some may not be there any more
	_, err := c.exec("ROLLBACK")
	if e, ok := errors.AsType[*sqlite.Error](err); ok &&
		e.Code() == code.SQLITE_ERROR && strings.Contains(e.Error(), "no transaction is active") {
		return nil // SQLite has rolled back by itself
	}
	return err
}

func (c *conn) close() error {
	for _, s := range c.statements {
		_ = s.Close() // an error of its last run, which was reported then
	}
	c.statements = nil
	return c.sql.Close()
}

// primary returns SQLite's primary result code of an error, or -1.
func primary(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return -1
}

func isBusy(err error) bool {
	return err != nil && primary(err) == code.SQLITE_BUSY
}

// isUnique reports a taken unique key. SQLite has then undone the statement and
// nothing else.
func isUnique(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code() == code.SQLITE_CONSTRAINT_UNIQUE || e.Code() == code.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// readers are the connections of Views, the last used first, because its cache
// is warm.
type readers struct {
	db     *sql.DB
	places chan struct{} // one in it for each View that runs

	mu   sync.Mutex
	idle []*conn
}

// take waits for a connection and begins a transaction on it.
func (r *readers) take(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case r.places <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c, err := r.begin(ctx)
	if err != nil {
		<-r.places
		return nil, fmt.Errorf("sqlite: view: %w", err)
	}
	return c, nil
}

func (r *readers) begin(ctx context.Context) (*conn, error) {
	var c *conn
	r.mu.Lock()
	if last := len(r.idle) - 1; last >= 0 {
		c, r.idle = r.idle[last], r.idle[:last]
	}
	r.mu.Unlock()
	if c == nil {
		var err error
		if c, err = connect(ctx, r.db, forReading); err != nil {
			return nil, err
		}
	}
	if _, err := c.exec("BEGIN"); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// give ends the transaction of a connection and keeps it, unless it failed.
func (r *readers) give(c *conn, failed error) {
	if err := c.rollback(); err != nil || failed != nil {
		_ = c.close() // it is being thrown away because of an error that was reported
	} else {
		r.mu.Lock()
		r.idle = append(r.idle, c)
		r.mu.Unlock()
	}
	<-r.places
}
