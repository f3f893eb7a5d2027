// Package sqlstore is the part of a [storage.Store] that all SQL databases share:
// the write buffer, the cache, the ledger, lists and claims, and the writer that
// commits the updates of many callers together.
//
// A database comes in through a [Driver], which owns what is truly its own:
// connections, transactions, the statements that write, and the shape of tables.
// storage/sqlite and storage/postgres are the drivers.
package sqlstore

import (
	"context"
	"errors"

	"github.com/seed-7082ffec/payments/storage"
)

// Driver is a database.
type Driver interface {
	// Snapshot begins a transaction that reads one unchanging state. ctx bounds the
	// wait for a connection.
	Snapshot(ctx context.Context) (Session, error)

	// Lock begins a transaction that no other writer runs beside. It waits for
	// others as long as ctx allows, and returns what they have committed since the
	// given commit.
	Lock(ctx context.Context, since Commit) (Session, Log, error)

	// CommitOnto writes and commits in a transaction of its own, without waiting
	// for other writers, if the newest commit is base; else it fails with [ErrStale] or
	// an error whose Fault is [Transient].
	CommitOnto(base, next Commit, w *Writes) error

	// Newest returns the newest commit.
	Newest() (Commit, error)

	// Fault classifies an error of a Session or of this Driver. table names where a
	// unique key was taken, if the Fault is [Taken] and the database says so.
	Fault(err error) (fault Fault, table string)

	// Known returns [storage.ErrNewer] if the database has what this program does
	// not know: a later migration, or more than it has declared of a kind.
	Known(ctx context.Context, s Session, kinds []*storage.Kind) error

	// Prepare writes the driver's own statements of a table into its Own field.
	Prepare(t *Table)

	// Define brings the tables of the kinds up to date, in a session that holds the
	// lock, and reports whether it changed any.
	Define(ctx context.Context, s Session, kinds []*storage.Kind) (changed bool, err error)
}

// ErrEnough is what a scan returns that wants no more rows.
var ErrEnough = errors.New("sqlstore: enough rows")

// Session is one transaction on one connection. It is for one goroutine at a time.
type Session interface {
	// Query runs a statement and calls scan for each row. It reads no further, and
	// succeeds, when scan returns [ErrEnough].
	Query(ctx context.Context, scan func(Row) error, text string, args ...any) error
	// Write sends buffered writes, in an order in which what frees a unique key
	// comes before what may take it.
	Write(ctx context.Context, w *Writes) error
	// Savepoint marks the place to which Undo goes back. There is one at most.
	Savepoint() error
	// Release keeps what was written since Savepoint.
	Release() error
	// Undo takes back what was written since Savepoint. failed says that a
	// statement has failed since.
	Undo(failed bool) error
	// Commit writes and commits. The session is over, whatever it returns.
	Commit(next Commit, w *Writes) error
	// Close rolls back, if the session is not over, and releases the connection.
	Close()
}

// HostSession is a Session inside a transaction that belongs to the host.
type HostSession interface {
	Session
	// Begin marks a savepoint, and takes the lock where that is not the first
	// write's. It returns the newest commit and the number of the schema.
	Begin(ctx context.Context) (Log, error)
	// Finish writes, and releases the savepoint of Begin. wrote says that the
	// session has written before.
	Finish(ctx context.Context, next Commit, w *Writes, wrote bool) error
	// Abandon goes back to the savepoint of Begin.
	Abandon()
}

// Row is a row of an answer.
type Row interface {
	// Scan copies the columns into the places that dests point to.
	Scan(dests ...any) error
	// Values returns all columns. The slice and what it holds are the caller's.
	Values() ([]any, error)
}

// Commit names a commit. The zero value names none.
type Commit struct{ Number, Token int64 }

// Log is what was committed since a commit.
type Log struct {
	Newest Commit
	// Known says that the commit asked about is part of the history.
	Known bool
	// Changed are the hashes of what each later commit changed, see [Writes]; nil
	// stands for everything.
	Changed [][]byte
	// Schema is another number after each change of tables.
	Schema int64
}

// Fault is a class of errors.
type Fault int

const (
	// Refused: the database refused a statement because of what it says, such as a
	// constraint that it breaks. The same statement is refused again.
	Refused Fault = iota
	// Taken: a unique key is taken.
	Taken
	// Transient: others came in between; another run may be spared it.
	Transient
	// Lost: the connection or the server has failed. Whatever the transaction wrote is
	// gone, and the session is of no use.
	Lost
)

// Dropped marks the outcome of a transaction of which nothing was kept, through no
// fault of the functions that ran in it: they may run again.
type Dropped struct{ Cause error }

// Error implements error.
func (e Dropped) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e Dropped) Unwrap() error { return e.Cause }

// Final marks an outcome that must be passed on as it is: nothing else may be tried.
type Final struct{ Cause error }

// Error implements error.
func (e Final) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e Final) Unwrap() error { return e.Cause }

// Dialect is how a database writes SQL.
type Dialect struct {
	// Name stands before errors: "sqlite".
	Name string
	// Schema stands before the names of tables, with its dot; "" for none.
	Schema string
	// Parameter returns the n-th parameter of a statement, counted from 1.
	Parameter func(n int) string
	// Limit returns the text of a limit with its parameter.
	Limit func(parameter string) string
	// Index returns what follows the name of a table that is read by an index; nil
	// for nothing.
	Index func(name string) string
	// Straight is the word that makes the database read tables in the order in
	// which a join names them: "CROSS JOIN", or "JOIN" where it does so anyway.
	Straight string
	// Storable reports whether a text can be stored; nil for any text. A text that
	// cannot be stored matches nothing.
	Storable func(string) bool
	// Cursor returns a text that stands where s does among those that can be
	// stored; nil for s itself.
	Cursor func(s string) string
	// Local says that a commit is the work of this process. The next batch then runs
	// when it is done, and is larger; else it runs while the commit is waited for.
	Local bool
	// Logs says that the driver keeps the hashes of what each commit changes.
	Logs bool
}

func (d *Dialect) storable(values ...any) bool {
	if d.Storable == nil {
		return true
	}
	for _, v := range values {
		if s, ok := v.(string); ok && !d.Storable(s) {
			return false
		}
	}
	return true
}

func (d *Dialect) cursor(s string) string {
	if d.Cursor == nil {
		return s
	}
	return d.Cursor(s)
}

// index returns what follows the name of a table that is read by an index.
func (d *Dialect) index(name string) string {
	if d.Index == nil {
		return ""
	}
	return d.Index(name)
}

// table returns the name of a table with its schema.
func (d *Dialect) table(name string) string { return d.Schema + Quote(name) }
