// Package sqlstore is the part of a [storage.Store] that all SQL databases share: the
// write buffer, the cache, the ledger, lists, claims, and the writer, which commits the
// updates of many callers together.
//
// A [Driver] brings in the database. It owns connections, transactions, the statements
// that write, and the definition of tables. storage/sqlite and storage/postgres are the
// drivers.
package sqlstore

import (
	"context"
	"errors"

	"github.com/seed-7082ffec/payments/storage"
)

// Driver is a database.
type Driver interface {
	// BeginRead begins a transaction that reads one unchanging state. ctx bounds the
	// wait for a connection.
	BeginRead(ctx context.Context) (Session, error)

	// BeginWrite begins a transaction that excludes all other writers. It waits for them
	// until ctx ends. The CommitLog holds the commits after since. BeginWrite adds to fetch
	// the rows that it names; it names none if the driver keeps no commit log.
	BeginWrite(ctx context.Context, since Commit, fetch *Fetch) (Session, CommitLog, error)

	// CommitIfValid writes and commits in a transaction of its own, if no commit after base has changed what
	// reads names. Else it fails with [ErrStale] or an error of class [Transient]. It may fail for any later
	// commit, if the driver keeps no commit log. token names the commit. The log holds those between base and
	// the new one, which is its newest.
	CommitIfValid(base Commit, token int64, reads Hashes, w *Writes) (CommitLog, error)

	// Validate is CommitIfValid without a commit: all reads are of one state, which includes base.
	Validate(base Commit, reads Hashes) error

	// Classify returns the class of an error of a Session or of this Driver. For a
	// [UniqueViolation], table is the table of the key, if the database names it.
	Classify(err error) (class ErrorClass, table string)

	// Prepare sets the SQL of a statement that writes.
	Prepare(*Statement)

	// Define brings the tables of the kinds up to date and reports whether it changed
	// any. The session holds the lock.
	Define(ctx context.Context, s Session, kinds []*storage.Kind) (changed bool, err error)
}

// ErrStopScan ends a query early: a scan function returns it when it wants no more rows.
var ErrStopScan = errors.New("sqlstore: stop scan")

// Session is one transaction on one connection. It is for one goroutine at a time.
type Session interface {
	// Query runs a statement and calls scan for each row. When scan returns
	// [ErrStopScan], Query reads no further and succeeds.
	Query(ctx context.Context, scan func(Row) error, text string, args ...any) error
	// Write sends buffered writes.
	Write(ctx context.Context, w *Writes) error
	// CheckVersion returns [storage.ErrNewer] if a newer program has changed the
	// database: it has a migration, or a part of a kind's declaration, that this program
	// does not know.
	CheckVersion(ctx context.Context, kinds []*storage.Kind) error
	// Commit writes and commits. The caller calls Close afterwards, also when it fails.
	Commit(next Commit, w *Writes) error
	// Close releases the connection. It rolls back a session that has not ended.
	Close()
}

// HostSession is a Session inside a transaction that belongs to the host.
type HostSession interface {
	Session
	// Begin sets a savepoint, and takes the lock if the database does not take it with
	// the first write. It returns the newest commit and the schema version.
	Begin(ctx context.Context) (CommitLog, error)
	// Finish writes, and releases the savepoint of Begin. wrote says that the session has
	// written before.
	Finish(ctx context.Context, next Commit, w *Writes, wrote bool) error
	// Rollback returns to the savepoint of Begin.
	Rollback()
}

// Row is a row of an answer.
type Row interface {
	// Scan copies the columns into dests, which are pointers.
	Scan(dests ...any) error
	// Values returns all columns. The caller owns the slice and its values.
	Values() ([]any, error)
}

// Commit identifies a commit. The zero value identifies none.
type Commit struct{ Number, Token int64 }

// CommitLog is what was committed after a given commit.
type CommitLog struct {
	Newest Commit
	// Found says that the history contains the given commit.
	Found bool
	// Changed holds, for each later commit, the hashes of the records, accounts and
	// sequences that it changed; see [Writes]. A nil element stands for everything.
	Changed []Hashes
	// SchemaVersion changes with each change of tables.
	SchemaVersion int64
}

// Hashes name records, accounts and sequences: by a number each, which another may have by chance.
type Hashes []int64

// ErrorClass is a class of errors.
type ErrorClass int

const (
	// Rejected: the database rejected the statement itself, for example because it breaks
	// a constraint. The database would reject it again.
	Rejected ErrorClass = iota
	// UniqueViolation: a unique key is taken.
	UniqueViolation
	// Transient: another transaction interfered. A rerun may succeed.
	Transient
	// ConnectionLost: the connection or the server has failed. The transaction's writes
	// are gone, and the session is unusable.
	ConnectionLost
)

// Retryable is the error of a transaction that was dropped through no fault of the
// functions that ran in it. They may run again.
type Retryable struct{ Cause error }

// Error implements error.
func (e Retryable) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e Retryable) Unwrap() error { return e.Cause }

// Final is an error that callers get as it is. Nothing else may be tried.
type Final struct{ Cause error }

// Error implements error.
func (e Final) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e Final) Unwrap() error { return e.Cause }

// Dialect is how a database writes SQL.
type Dialect struct {
	// Name stands before errors: "sqlite".
	Name string
	// Schema is the prefix of table names, with its dot; "" for none.
	Schema string
	// Parameter returns the n-th parameter of a statement, counting from 1.
	Parameter func(n int) string
	// Limit returns the expression of a LIMIT with its parameter.
	Limit func(parameter string) string
	// IndexHint returns the hint, after a table's name, that makes the database read by
	// an index; nil for none.
	IndexHint func(name string) string
	// OrderedJoin is the join that keeps the order in which a statement names its tables:
	// "CROSS JOIN", or "JOIN" where the database keeps the order anyway.
	OrderedJoin string
	// Greatest is the function of the greatest of its arguments.
	Greatest string
	// Clock is the expression of the current time in microseconds since 1970.
	Clock string
	// ValidText reports whether the database can store a text; nil for any text. A text
	// that it cannot store matches nothing.
	ValidText func(string) bool
	// CursorText returns a valid text with the same position as s among valid texts; nil
	// for s itself.
	CursorText func(s string) string
	// Remote says that a server does the work of a commit, so that the next batch runs meanwhile, and
	// that several processes are its clients, so that the driver stores the hashes of what each commit
	// changes.
	Remote bool
}

func (d *Dialect) validText(values ...any) bool {
	if d.ValidText == nil {
		return true
	}
	for _, v := range values {
		if s, ok := v.(string); ok && !d.ValidText(s) {
			return false
		}
	}
	return true
}

func (d *Dialect) cursorText(s string) string {
	if d.CursorText == nil {
		return s
	}
	return d.CursorText(s)
}

func (d *Dialect) indexHint(name string) string {
	if d.IndexHint == nil {
		return ""
	}
	return d.IndexHint(name)
}

// tableName returns the quoted name of a table with its schema.
func (d *Dialect) tableName(name string) string { return d.Schema + Quote(name) }
