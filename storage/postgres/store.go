// Package postgres keeps a [storage.Store] in a schema of a PostgreSQL database, which
// many processes may use at once.
//
// It owns the schema: its tables, its transactions and the lock of its writers. It knows no
// business rules. Package storage defines the rules of records and postings; constraints of the
// database check them once more. The connections are those of the host's pool.
//
// Updates have one order, over all processes, and share commits. Functions run again if another process has
// changed meanwhile what they read. Reads of single records share round trips. Views read
// a snapshot and wait for no writer. The pool must allow at least two connections, one to write and one
// to read.
//
// A pool made by [Connect], or from [PoolConfig], detects a server that is dead, frozen or read-only,
// and finds its successor, within seconds. A pool of pgxpool.New may wait two minutes for a frozen
// server. Where there are several servers, the URL names all of them:
//
//	postgres://app@db1,db2,db3/payments?target_session_attrs=read-write
//
// The store closes a connection when it fails, when its server takes no writes, and when
// new connections lead to another server. Calls that cannot be served meanwhile fail with
// [storage.ErrUnavailable]. The store gives up a round trip of an Update after 10
// seconds, one of a View after 20, and a commit without an answer after 15 more ([ErrUnknown]).
//
// The package needs PostgreSQL 13 or later, self-hosted or managed. Behind a proxy that pools by
// transaction, the pool's DefaultQueryExecMode must be CacheDescribe: set the URL's parameter
// default_query_exec_mode=cache_describe. Open refuses every other mode behind a proxy.
package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// Config adjusts a store. Its zero value is a good choice.
type Config struct {
	// Schema is the schema that holds the tables. Default: "payments".
	Schema string
	// ReadOnlySchema says that this program may not change tables. Open and Define then
	// only check that [Migrate] was run, and fail if not.
	ReadOnlySchema bool
	// MaxBatchSize bounds how many updates share a commit. Default: 128.
	MaxBatchSize int
	// Logger gets an error when the database has lost commits (see [Stats]). Default:
	// slog.Default().
	Logger *slog.Logger
	// MigrationProgress, if not nil, is called with the progress of creating or changing
	// a table, in the goroutine of Define. A table of millions of rows takes minutes.
	MigrationProgress func(storage.Progress)
}

// ErrUnknown says that a commit's answer was lost, and that the store could not ask the database
// within 15 seconds whether the commit happened. After this error alone, an Update may have
// written. A caller with an idempotency key repeats the call to find out. errors.Is(err,
// storage.ErrUnavailable) is true for it too.
var ErrUnknown = fmt.Errorf("postgres: it is not known whether the commit happened: %w", storage.ErrUnavailable)

// Store is a database in a schema of PostgreSQL. It implements [storage.Store].
//
// An error of Update means that nothing was written, except [ErrUnknown]. When the answer
// of a commit is lost, the store reconnects and asks the database whether the commit
// happened.
type Store struct {
	store        *sqlstore.Store
	pool         *pgxpool.Pool
	config       Config
	sql          statements
	pointReads   readBatcher
	monitor      *connMonitor
	spareEncoder atomic.Pointer[encoder] // for reuse; nil while in use
	resolved     atomic.Int64
	lostHistory  atomic.Int64
}

// Stats counts what a store has done since it was opened.
type Stats struct {
	// Commits counts the transactions that wrote something, Updates the calls in them.
	// Updates/Commits is the mean size of a batch.
	Updates, Commits int64
	// Reruns counts reruns of functions after another transaction interfered.
	Reruns int64
	// Resolved counts the commits whose answer was lost and whose outcome the store found
	// out.
	Resolved int64
	// LostHistory counts how often the database had lost a commit that this process knew of,
	// through a failover to a replica that lagged or through a recovery. The store then clears its
	// cache, reruns the running updates, and logs an error. It cannot restore the lost commits.
	LostHistory int64
}

// Open opens the database of a pool, and brings its schema up to date (see [Migrate]),
// unless the Config says not to. Call [Store.Define] with the kinds afterwards. The host
// closes the pool after the store. ctx bounds the opening alone. Open refuses an engine that
// speaks PostgreSQL's protocol and does not lock tables as PostgreSQL does, such as CockroachDB
// and YugabyteDB; see docs/guide/engines.md.
func Open(ctx context.Context, pool *pgxpool.Pool, config Config) (*Store, error) {
	if config.Schema == "" {
		config.Schema = "payments"
	}
	if config.MaxBatchSize < 1 {
		config.MaxBatchSize = 128
	}
	switch mode := pool.Config().ConnConfig.DefaultQueryExecMode; mode {
	case pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol:
		return nil, fmt.Errorf("%w: postgres: the pool's DefaultQueryExecMode is %s; with a proxy use CacheDescribe", storage.ErrInvalid, mode)
	}
	if pool.Config().MaxConns < 2 {
		return nil, fmt.Errorf("%w: postgres: the pool's MaxConns is %d; it must be 2 at least", storage.ErrInvalid, pool.Config().MaxConns)
	}
	if err := checkEngine(ctx, pool); err != nil {
		return nil, err
	}
	if err := checkProxy(ctx, pool); err != nil {
		return nil, err
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	var err error
	if config.ReadOnlySchema {
		err = Validate(ctx, pool, config.Schema)
	} else {
		err = Migrate(ctx, pool, config.Schema)
	}
	if err == nil {
		err = checkLock(ctx, pool, config.Schema)
	}
	if err != nil {
		return nil, err
	}
	s := &Store{pool: pool, config: config, sql: newStatements(config.Schema)}
	s.store = sqlstore.New(s.driver(), dialect(config.Schema), config.MaxBatchSize)
	s.pointReads.store = s
	s.monitor = newConnMonitor(s)
	return s, nil
}

// Define implements [storage.Store]. It changes tables that hold rows beside other
// programs that use them, as [Migrate] does. If Define fails, finished steps stay.
//
// A later release may add a column at the end, a key, a due column, values at the end of
// OneOf, or an index, as in storage/sqlite. An older program that runs meanwhile writes
// until its tables have changed. From then on its updates fail with [storage.ErrNewer].
// It goes on reading.
func (s *Store) Define(ctx context.Context, kinds ...*storage.Kind) error {
	if !s.config.ReadOnlySchema {
		if err := sqlstore.CheckKinds(kinds); err != nil {
			return err
		}
		if err := s.store.Enter(); err != nil {
			return err
		}
		defer s.store.Leave()
		o := &onlineMigration{pool: s.pool, schema: s.config.Schema, progress: s.config.MigrationProgress}
		return o.run(ctx, kinds, func() error { return s.store.Define(ctx, kinds...) })
	}
	if err := s.store.Enter(); err != nil {
		return err
	}
	defer s.store.Leave()
	if err := Validate(ctx, s.pool, s.config.Schema, kinds...); err != nil {
		return err
	}
	s.store.Register(kinds)
	return nil
}

// View implements [storage.Store]. The first read of fn takes the snapshot. A long View
// keeps PostgreSQL from vacuuming the rows that were replaced since it began.
func (s *Store) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	return s.store.View(ctx, fn)
}

// Update implements [storage.Store]. fn runs in the caller's goroutine, perhaps several times. The
// caller waits for other callers' functions before and after it, and for one commit. It waits for
// other processes until ctx ends, but never longer than one minute in one try. After a timeout,
// also by the host's lock_timeout or statement_timeout, the store makes at most five more tries,
// and then fails with [storage.ErrUnavailable].
func (s *Store) Update(ctx context.Context, fn func(storage.Tx) error) error {
	return s.store.Update(ctx, fn)
}

// Stats returns the counters.
func (s *Store) Stats() Stats {
	n := s.store.Stats()
	return Stats{Updates: n.Updates, Commits: n.Commits, Reruns: n.Reruns, Resolved: s.resolved.Load(), LostHistory: s.lostHistory.Load()}
}

// Close implements [storage.Store]. The pool stays open.
func (s *Store) Close() error {
	s.store.StopAccepting()
	s.monitor.close()
	s.store.Wait()
	return nil
}
