package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
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

// maxStatements bounds the prepared statements of a connection. A program has fewer: the
// text of a statement depends on kinds and the form of queries, never on values.
const maxStatements = 512

// conn is a connection with its prepared statements. It is for one goroutine at a time.
//
// Statements run with a context that cannot be cancelled. Watching a context costs a
// goroutine per statement, and an interrupted statement may roll back the whole
// transaction. The caller checks its context between statements, and no statement reads
// more than some thousand rows.
type conn struct {
	sql        *sql.Conn // nil inside a host's transaction
	tx         *sql.Tx   // of the host; nil otherwise
	statements map[string]*sql.Stmt

	// Reused between calls to avoid allocations.
	args   []any
	values []any
	dests  []any
}

func newConn() *conn {
	return &conn{statements: map[string]*sql.Stmt{}}
}

// connRole is the purpose of a connection.
type connRole int

const (
	writerRole connRole = iota
	readerRole
)

// roleSettings holds the settings that differ by role: cache sizes in KiB (negative by
// SQLite's convention) and the wait for locks. The writer waits in short steps, and
// checks the caller's context between them. When SQLite restarts a write-ahead log that a
// long View let grow, it truncates the log.
var roleSettings = map[connRole]string{
	writerRole: fmt.Sprint("PRAGMA cache_size = -32768; PRAGMA busy_timeout = 100; PRAGMA journal_size_limit = ", (maxLogPages+1000)*4096),
	readerRole: "PRAGMA cache_size = -8192; PRAGMA query_only = ON",
}

// resolvePath returns the absolute path of a database file.
func resolvePath(path string) (string, error) {
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

// createMutex serializes createFile in this process. Where locks are POSIX locks, closing
// any descriptor of a file drops those that SQLite holds.
var createMutex sync.Mutex

// createFile creates an empty file that only its owner can read, if there is none. SQLite
// gives the log files the same permissions.
func createFile(file string) error {
	createMutex.Lock()
	defer createMutex.Unlock()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// fileHeader is what each SQLite file begins with.
const fileHeader = "SQLite format 3\x00"

// checkFile fails if there is no file, or none of SQLite.
func checkFile(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("the file must exist: %w", err)
	}
	defer f.Close()
	begins := make([]byte, len(fileHeader))
	if n, err := io.ReadFull(f, begins); n < len(begins) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if string(begins) != fileHeader {
		return fmt.Errorf("%w: the file %s must have a database, and is empty or another program's", storage.ErrInvalid, file)
	}
	return nil
}

func fileURI(file string) string {
	path := filepath.ToSlash(file)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath()
}

// dataSource returns the URI of a file with the settings of every connection.
func dataSource(file string) string {
	return fileURI(file) +
		"?_journal_mode=WAL&_synchronous=FULL&_foreign_keys=on&_busy_timeout=2000&_txlock=immediate" +
		"&_dqs=0&_defensive=1&_pragma=temp_store(MEMORY)&_pragma=wal_autocheckpoint(0)"
}

// connect opens a connection. It retries while another process holds the file
// exclusively, which it does when it opens or closes it.
func connect(ctx context.Context, db *sql.DB, r connRole) (*conn, error) {
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

// pause waits a little, for a busy file or to leave the processor to others.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(5 * time.Millisecond):
		return nil
	}
}

func connectOnce(ctx context.Context, db *sql.DB, r connRole) (*conn, error) {
	raw, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := newConn()
	c.sql = raw
	if err := c.script(roleSettings[r]); err != nil {
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
			_ = old.Close() // repeats the error of its last run
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

// execRows runs a statement and returns the number of changed rows.
func (c *conn) execRows(query string, args []any) (rows int64, err error) {
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

// queryRow scans the only row of a query and reports whether there was one.
func (c *conn) queryRow(query string, args []any, dests ...any) (bool, error) {
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

// script runs statements without preparing them.
func (c *conn) script(text string) error {
	_, err := c.sql.ExecContext(context.Background(), text)
	return err
}

// rollback ends the transaction, if there is one. After an error the state of the
// connection is unknown.
func (c *conn) rollback() error {
	_, err := c.exec("ROLLBACK")
	if e, ok := errors.AsType[*sqlite.Error](err); ok &&
		e.Code() == code.SQLITE_ERROR && strings.Contains(e.Error(), "no transaction is active") {
		return nil // SQLite has rolled back by itself
	}
	return err
}

func (c *conn) close() error {
	for _, s := range c.statements {
		_ = s.Close() // repeats the error of its last run
	}
	c.statements = nil
	return c.sql.Close()
}

func isBusy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == code.SQLITE_BUSY
}

// isUnique reports a taken unique key. SQLite undoes only the statement.
func isUnique(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code() == code.SQLITE_CONSTRAINT_UNIQUE || e.Code() == code.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// readers are the connections of Views. The last used is taken first, because its cache
// is warm.
type readers struct {
	db    *sql.DB
	slots chan struct{} // holds one token for each running View

	mu   sync.Mutex
	idle []*conn
}

// acquire waits for a connection and begins a transaction on it.
func (r *readers) acquire(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c, err := r.begin(ctx)
	if err != nil {
		<-r.slots
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
		if c, err = connect(ctx, r.db, readerRole); err != nil {
			return nil, err
		}
	}
	if _, err := c.exec("BEGIN"); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// release ends the transaction of a connection and keeps it for reuse, unless it failed.
func (r *readers) release(c *conn, failed error) {
	if err := c.rollback(); err != nil || failed != nil {
		_ = c.close() // the error that failed it was reported
	} else {
		r.mu.Lock()
		r.idle = append(r.idle, c)
		r.mu.Unlock()
	}
	<-r.slots
}
