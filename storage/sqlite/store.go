// Package sqlite keeps a [storage.Store] in one SQLite file.
//
// It owns the file: its tables, its connections, its transactions and its
// write-ahead log. It knows no merchant's rules; what a record or a posting
// must satisfy is said in package storage, and checked here once more by
// constraints of the database. SQLite itself is modernc.org/sqlite, which needs
// no C compiler.
//
// One connection writes, and the updates that wait for it share a commit, its sync
// to disk and the statements before it (see storage/internal/sqlstore). Readers have
// connections of their own and never wait for a writer. Several processes may use
// one file on a local disk; SQLite then takes their groups in turn. A network file
// system is not a place for the file.
//
// A write transaction of the host on the same file (see [Store.In]) has no time
// limit. Updates wait until it ends or their contexts do, also in other processes.
//
// On Linux the host may open and read the files of an open database: their locks
// are open-file-description locks. This package sets that for all databases of the
// process when it is imported, unless MODERNC_SQLITE_OFD_LOCK=0 is in the
// environment; OFDLockingEnabled of modernc.org/sqlite tells. On other Unix systems,
// on Linux before 3.15, and with that variable, the locks are POSIX locks. The host
// must not open any of the three files there while the store is open: closing the
// descriptor drops SQLite's locks, and another program that opens the database may
// then destroy commits that Update has acknowledged.
//
// To restore a backup, close every store on the file first, and put the backup in its
// place without the old -wal and -shm beside it. A file that is moved into the place of
// an open one is noticed ([ErrReplaced]); one that is copied over it is not, and damages
// the database. What SQLite itself restores into the file, such as .restore of its shell,
// is another process's commit to the store, which then reads everything anew.
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
	// Logger hears of trouble that no caller sees, which is a checkpoint that
	// failed. Default: slog.Default().
	Logger *slog.Logger
	// Readers is how many Views run at once; others wait. Default: the number
	// of processors, at least 4.
	Readers int
	// MaxGroup is how many updates share a commit at most. Default: 128, beyond
	// which nothing is gained.
	MaxGroup int
	// Migrating, unless it is nil, is told how far the change of a table has come, in
	// the goroutine of Define, when a kind is new or was declared otherwise: a table
	// of millions of rows takes its time. What was told is undone
	// when Define fails.
	Migrating func(storage.Progress)
}

// Store is a database in one file. It implements [storage.Store].
//
// An error of Update means that nothing was written, with one exception that
// no program can see: where the disk failed to sync a commit, Update returns
// the error, and should the machine lose power before the next commit, the
// database may come back with what was refused.
type Store struct {
	store     *sqlstore.Store
	migrating func(storage.Progress) // nil for nobody
	db        *sql.DB
	path      string
	file      os.FileInfo // of the file that was opened
	writer    writer
	readers   readers
	log       checkpointer

	done    chan struct{} // closed when Close is through
	failure error         // what Close returns
}

// Stats counts what a store has done since it was opened.
type Stats struct {
	// Commits counts the transactions that wrote something, Updates the callers
	// whose changes were in them. Updates/Commits is the mean size of a group.
	Updates, Commits int64
	// Reruns counts updates that ran again because of trouble that another one
	// in their group had.
	Reruns int64
	// Checkpoints counts how often the write-ahead log was copied into the
	// database.
	Checkpoints int64
}

// Open opens the database in the file of that name, which it creates, for its
// owner's eyes only, if there is none. It fails with [storage.ErrNewer] when
// the file was written by a newer version of this package, and with
// [storage.ErrInvalid] when it holds another program's tables. The kinds are
// made known with [Store.Define] afterwards.
//
// Open starts no goroutine beside the one that database/sql keeps for every
// handle. ctx bounds the opening alone.
func Open(ctx context.Context, path string, config Config) (*Store, error) {
	file, err := locate(path)
	if err != nil {
		return nil, err
	}
	if err := create(file); err != nil {
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
	if config.MaxGroup < 1 {
		config.MaxGroup = 128
	}
	s := &Store{migrating: config.Migrating, db: sql.OpenDB(connector), path: file, done: make(chan struct{})}
	s.store = sqlstore.New(driver{s}, &dialect, config.MaxGroup)
	// A connection given back is a connection closed: this package keeps its own.
	s.db.SetMaxIdleConns(-1)
	s.readers = readers{db: s.db, places: make(chan struct{}, config.Readers)}
	s.log = checkpointer{logger: config.Logger, every: checkpointEvery, limit: logLimit}
	if err := s.open(ctx); err != nil {
		s.release()
		return nil, fmt.Errorf("sqlite: open: %w", err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	var err error
	if err = s.ready(ctx); err != nil {
		return err
	}
	if s.file, err = os.Stat(s.path); err != nil {
		return err
	}
	if s.log.conn, err = connect(ctx, s.db, forWriting); err != nil {
		return err
	}
	return migrate(ctx, s.writer.conn)
}

// View implements [storage.Store]. The snapshot is taken by the first read of
// fn. A View that lasts keeps the write-ahead log from being emptied, which
// then grows.
func (s *Store) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	return s.store.View(ctx, fn)
}

// Update implements [storage.Store]. fn runs in the goroutine of the caller,
// who waits for others' functions before and after it, and for one sync to
// disk. Other processes that write the same file are waited for as long as ctx
// allows.
func (s *Store) Update(ctx context.Context, fn func(storage.Tx) error) error {
	return s.store.Update(ctx, fn)
}

// Define implements [storage.Store]. All kinds are made ready in one
// transaction, beside which no other update runs.
//
// Beside a column at the end, a later release may add a key, a due column, and
// values at the end of OneOf, which are [storage.ErrNewer] to the program
// before it; and an index, which is not. Any other change of what was declared
// is [storage.ErrInvalid]. For values of OneOf each row is looked at; for a column
// the table is made anew within the transaction, as is one of the first releases
// for its first further value.
//
// Where an older program has the file open meanwhile, its updates wait for the
// change, and fail with [storage.ErrNewer] from then on. It goes on reading.
func (s *Store) Define(ctx context.Context, kinds ...*storage.Kind) error {
	return s.store.Define(ctx, kinds...)
}

// Stats returns the counters.
func (s *Store) Stats() Stats {
	n := s.store.Stats()
	return Stats{Updates: n.Updates, Commits: n.Commits, Reruns: n.Reruns, Checkpoints: s.log.checkpoints.Load()}
}

// Close implements [storage.Store]. It copies the write-ahead log into the
// database, so that the file alone can be moved, unless another process has it
// open.
func (s *Store) Close() error {
	if !s.store.Shut() {
		<-s.done
		return s.failure
	}
	s.store.Wait()
	s.log.running.Wait()
	s.log.finish()
	if err := s.release(); err != nil {
		s.failure = fmt.Errorf("sqlite: close: %w", err)
	}
	close(s.done)
	return s.failure
}

func (s *Store) release() error {
	var errs []error
	for _, c := range append(s.readers.idle, s.writer.conn, s.log.conn) {
		if c != nil {
			errs = append(errs, c.close())
		}
	}
	return errors.Join(append(errs, s.db.Close())...)
}
