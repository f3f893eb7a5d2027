// Package sqlite keeps a [storage.Store] in one SQLite file.
//
// It owns the file: its tables, its connections, its transactions and its write-ahead log. It knows
// no business rules. Package storage defines the rules of records and postings; constraints of the
// database check them once more. SQLite itself is modernc.org/sqlite, which needs no C compiler.
//
// One connection writes. Waiting updates share a commit, its sync to disk and its statements. Readers have connections of their own and never wait for a writer.
// Several processes may use one file on a local disk; SQLite then takes their batches in turn. Do
// not put the file on a network file system.
//
// A write transaction of the host on the same file (see [Store.In]) has no time limit.
// Updates wait until it ends or their contexts do, also in other processes.
//
// On Linux the host may open and read the files of an open database, because their locks are
// open-file-description locks. This package sets that for all databases of the process when it is
// imported, unless MODERNC_SQLITE_OFD_LOCK=0 is in the environment; OFDLockingEnabled of
// modernc.org/sqlite reports it. On other Unix systems, on Linux before 3.15, and with that variable,
// the locks are POSIX locks. There the host must not open the database file or its -wal and -shm files
// while the store is open: closing the descriptor drops SQLite's locks. Another program that opens the
// database may then destroy commits that Update has acknowledged.
//
// To restore a backup, close every store on the file first. Then put the backup in its place, and
// remove the old -wal and -shm files. The store notices a file that is moved into the place of an
// open one ([ErrReplaced]). It does not notice a file that is copied over the open one; that
// damages the database. To the store, a restore by SQLite itself, such as .restore of its shell, is
// another process's commit: the store then reads everything anew.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"

	"modernc.org/sqlite"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// Config adjusts a store. Its zero value is a good choice.
type Config struct {
	// Logger receives errors that no call returns: failed checkpoints. Nil means slog.Default().
	Logger *slog.Logger
	// Readers bounds how many Views run at once; others wait. Default: the number of
	// processors, at least 4.
	Readers int
	// MaxBatchSize bounds how many updates share a commit. Default: 128; more gains
	// nothing.
	MaxBatchSize int
	// MigrationProgress, if not nil, is called with the progress of creating or changing
	// a table, in the goroutine of Define. A table of millions of rows takes minutes. If
	// Define fails, it undoes all of it.
	MigrationProgress func(storage.Progress)
	// MustExist says that the file already holds a database of this package. Open then fails, and changes
	// nothing, if the file is missing or empty, or holds none. Without it Open makes a new database, also
	// where a disk was not mounted or a copy went wrong. A host sets it after its first start.
	MustExist bool
}

// Store is a database in one file. It implements [storage.Store].
//
// An error of Update means that nothing was written, with one exception that no program
// can see. If the disk fails to sync a commit, Update returns the error. If the machine
// then loses power before the next commit, the database may come back with that commit.
type Store struct {
	store             *sqlstore.Store
	migrationProgress func(storage.Progress) // may be nil
	mustExist         bool
	db                *sql.DB
	path              string
	file              os.FileInfo // of the file that was opened
	writer            writer
	readers           readers
	checkpointer      checkpointer

	done       chan struct{} // closed when Close has ended
	closeError error         // the result of Close
}

// Stats counts what a store has done since it was opened.
type Stats struct {
	// Commits counts the transactions that wrote something, Updates the calls in them.
	// Updates/Commits is the mean size of a batch.
	Updates, Commits int64
	// Reruns counts updates that ran again after another update of their batch, or
	// another process, interfered.
	Reruns int64
	// Checkpoints counts the copies of the write-ahead log into the database.
	Checkpoints int64
}

// Open opens the database in the file path. It creates a missing file, which only its owner can
// read and write, unless Config.MustExist is set. It fails with [storage.ErrNewer] if a newer version of
// this package wrote the file, and with [storage.ErrInvalid] if the file holds another program's tables.
// Call [Store.Define] with the kinds afterwards.
//
// Open starts no goroutine beside the one that database/sql keeps for every handle. ctx
// bounds the opening alone.
func Open(ctx context.Context, path string, config Config) (*Store, error) {
	file, err := resolvePath(path)
	if err != nil {
		return nil, err
	}
	prepare := createFile
	if config.MustExist {
		prepare = checkFile
	}
	if err := prepare(file); err != nil {
		return nil, fmt.Errorf("sqlite: open: %w", err)
	}
	connector, err := sqlite.NewConnector(dataSource(file))
	if err != nil {
		return nil, fmt.Errorf("sqlite: open: %w", err)
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if config.Readers < 1 {
		config.Readers = max(4, runtime.GOMAXPROCS(0))
	}
	if config.MaxBatchSize < 1 {
		config.MaxBatchSize = 128
	}
	s := &Store{migrationProgress: config.MigrationProgress, mustExist: config.MustExist, db: sql.OpenDB(connector), path: file, done: make(chan struct{})}
	s.store = sqlstore.New(driver{s}, &dialect, config.MaxBatchSize)
	// database/sql closes returned connections: this package keeps its own.
	s.db.SetMaxIdleConns(-1)
	s.readers = readers{db: s.db, slots: make(chan struct{}, config.Readers)}
	s.checkpointer = checkpointer{logger: config.Logger, interval: checkpointPages, maxLogPages: maxLogPages}
	if err := s.open(ctx); err != nil {
		s.closeConnections()
		return nil, fmt.Errorf("sqlite: open: %w", err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	var err error
	if err = s.ensureConn(ctx); err != nil {
		return err
	}
	if s.file, err = os.Stat(s.path); err != nil {
		return err
	}
	if s.checkpointer.conn, err = connect(ctx, s.db, writerRole); err != nil {
		return err
	}
	return migrate(ctx, s.writer.conn, s.mustExist)
}

// View implements [storage.Store]. The first read of fn takes the snapshot. A long View
// keeps SQLite from restarting the write-ahead log, which then grows.
func (s *Store) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	return s.store.View(ctx, fn)
}

// Update implements [storage.Store]. fn runs in the caller's goroutine. The caller waits
// for other callers' functions before and after it, for one sync to disk, and, until ctx
// ends, for other processes that write the file.
func (s *Store) Update(ctx context.Context, fn func(storage.Tx) error) error {
	return s.store.Update(ctx, fn)
}

// Define implements [storage.Store]. It prepares all kinds in one transaction, beside
// which no other update runs.
//
// A later release may add a column at the end, a key, a due column, or values at the end of OneOf.
// An older program then gets [storage.ErrNewer]. A later release may also add an index; older
// programs still work. Any other change of a declaration is [storage.ErrInvalid]. A new value of
// OneOf makes SQLite check each row. A new column makes it rewrite the table in the transaction.
//
// If an older program has the file open, its updates wait for the change and then fail
// with [storage.ErrNewer]. It goes on reading.
func (s *Store) Define(ctx context.Context, kinds ...*storage.Kind) error {
	return s.store.Define(ctx, kinds...)
}

// Stats returns the counters.
func (s *Store) Stats() Stats {
	n := s.store.Stats()
	return Stats{Updates: n.Updates, Commits: n.Commits, Reruns: n.Reruns, Checkpoints: s.checkpointer.checkpoints.Load()}
}

// Close implements [storage.Store]. It copies the write-ahead log into the database, so
// that the file alone can be moved, unless another process has it open.
func (s *Store) Close() error {
	if !s.store.StopAccepting() {
		<-s.done
		return s.closeError
	}
	s.store.Wait()
	s.checkpointer.running.Wait()
	s.checkpointer.truncate()
	if err := s.closeConnections(); err != nil {
		s.closeError = fmt.Errorf("sqlite: close: %w", err)
	}
	close(s.done)
	return s.closeError
}

func (s *Store) closeConnections() error {
	var errs []error
	for _, c := range append(s.readers.idle, s.writer.conn, s.checkpointer.conn) {
		if c != nil {
			errs = append(errs, c.close())
		}
	}
	return errors.Join(append(errs, s.db.Close())...)
}
