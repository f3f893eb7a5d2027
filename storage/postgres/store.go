// Package postgres keeps a [storage.Store] in a schema of a PostgreSQL database,
// which many processes may use at once.
//
// It owns the schema: its tables, its transactions and the lock under which they
// write. It knows no merchant's rules; what a record or a posting must satisfy is
// said in package storage, and checked here once more by constraints of the
// database. The connections are those of the host's pool.
//
// Updates run one after another, over all processes, and share commits (see
// storage/internal/sqlstore); where several processes write at the same time,
// functions run again more often. Reads of single records share round trips (see
// reads.go). Views read a snapshot and wait for no writer. The pool must allow two
// connections at least, one to write and one to read.
//
// A pool made by [Connect], or from [PoolConfig], finds a server that is dead, frozen or
// read-only, and the one that takes its place, within seconds; one of pgxpool.New may
// wait two minutes for a frozen server. Where there are several servers, the URL names
// all of them:
//
//	postgres://app@db1,db2,db3/payments?target_session_attrs=read-write
//
// A connection is thrown away when it fails, when its server turns out to take no
// writes, and when new connections lead to another server. What cannot be done
// meanwhile fails with [storage.ErrUnavailable]. The store gives up a round trip after
// 10 seconds and a commit without an answer after 15 more ([ErrUnknown]).
//
// PostgreSQL 13 and later will do. A proxy that pools by transaction will, too, with
// a pool whose DefaultQueryExecMode is CacheDescribe, by the URL's parameter
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
	// ReadOnlySchema says that this program may not change tables: Open and
	// Define then only check that [Migrate] was run, and fail if not.
	ReadOnlySchema bool
	// MaxGroup is how many updates share a commit at most. Default: 128.
	MaxGroup int
	// Logger is told when the database has gone back (see [Stats]). Default:
	// slog.Default().
	Logger *slog.Logger
	// Migrating, unless it is nil, is told how far the change of a table has come, in
	// the goroutine of Define, when a kind is new or was declared otherwise: a table
	// of millions of rows takes its time.
	Migrating func(storage.Progress)
}

// ErrUnknown says that a commit's answer was lost, and that the database could
// not be asked within 15 seconds whether it happened. It is the one error of
// Update after which something may have been written; a caller who has an
// idempotency key learns by repeating the call. It is a [storage.ErrUnavailable].
var ErrUnknown = fmt.Errorf("postgres: it is not known whether the commit happened: %w", storage.ErrUnavailable)

// Store is a database in a schema of PostgreSQL. It implements [storage.Store].
//
// An error of Update means that nothing was written, but for [ErrUnknown]: when
// the answer of a commit is lost, the store asks the database, as soon as it can
// be reached again, whether the commit happened.
type Store struct {
	store    *sqlstore.Store
	pool     *pgxpool.Pool
	config   Config
	sql      statements
	reads    reads
	watch    *watch
	encoded  atomic.Pointer[encoder] // nil while a write has it
	resolved atomic.Int64
	fenced   atomic.Int64
}

// Stats counts what a store has done since it was opened.
type Stats struct {
	// Commits counts the transactions that wrote something, Updates the callers
	// that were in them. Updates/Commits is the mean size of a group.
	Updates, Commits int64
	// Reruns counts functions that ran again because of what others did.
	Reruns int64
	// Resolved counts the commits whose answer was lost and found out.
	Resolved int64
	// Fenced counts how often the database had gone back: a commit that this process
	// knew of was not in its history any more, because of a failover to a replica that
	// lagged, or of a recovery. The store then forgets all that it has remembered, runs
	// again what is under way, and logs an error. It cannot bring back what was lost.
	Fenced int64
}

// Open opens the database that a pool leads to, and brings its schema up to date
// (see [Migrate]), unless the Config says not to. The kinds are made known with
// [Store.Define] afterwards. The pool stays the host's, who closes it after the
// store. ctx bounds the opening alone.
func Open(ctx context.Context, pool *pgxpool.Pool, config Config) (*Store, error) {
	if config.Schema == "" {
		config.Schema = "payments"
	}
	if config.MaxGroup < 1 {
		config.MaxGroup = 128
	}
	switch mode := pool.Config().ConnConfig.DefaultQueryExecMode; mode {
	case pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol:
		return nil, fmt.Errorf("%w: postgres: the pool's DefaultQueryExecMode is %s; with a proxy use CacheDescribe", storage.ErrInvalid, mode)
	}
	if pool.Config().MaxConns < 2 {
		return nil, fmt.Errorf("%w: postgres: the pool's MaxConns is %d; it must be 2 at least", storage.ErrInvalid, pool.Config().MaxConns)
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
	if err != nil {
		return nil, err
	}
	s := &Store{pool: pool, config: config, sql: newStatements(config.Schema)}
	s.store = sqlstore.New(s.driver(), dialect(config.Schema), config.MaxGroup)
	s.reads.store = s
	s.watch = newWatch(s)
	return s, nil
}

// Define implements [storage.Store]. Tables that hold rows are changed while other
// programs use them, as by [Migrate]; what was finished stays if Define fails.
//
// What a later release may add to a kind, and what is then [storage.ErrNewer] to
// the program before it, is as in storage/sqlite: a column at the end, a key, a
// due column, values at the end of OneOf, an index. An older program that runs
// meanwhile writes until its tables have changed, and fails with
// [storage.ErrNewer] from then on. It goes on reading.
func (s *Store) Define(ctx context.Context, kinds ...*storage.Kind) error {
	if !s.config.ReadOnlySchema {
		if err := sqlstore.CheckKinds(kinds); err != nil {
			return err
		}
		if err := s.store.Enter(); err != nil {
			return err
		}
		defer s.store.Leave()
		o := &online{pool: s.pool, schema: s.config.Schema, progress: s.config.Migrating}
		return o.run(ctx, kinds, func() error { return s.store.Define(ctx, kinds...) })
	}
	if err := s.store.Enter(); err != nil {
		return err
	}
	defer s.store.Leave()
	if err := Validate(ctx, s.pool, s.config.Schema, kinds...); err != nil {
		return err
	}
	s.store.Learn(kinds)
	return nil
}

// View implements [storage.Store]. The snapshot is taken by the first read of
// fn. A View that lasts keeps PostgreSQL from clearing away what was replaced
// since it began.
func (s *Store) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	return s.store.View(ctx, fn)
}

// Update implements [storage.Store]. fn runs in the goroutine of the caller, who
// waits for others' functions before and after it, and for one commit. It may run
// several times. Other processes are waited for as long as ctx allows, and a few minutes
// at most; lock_timeout and statement_timeout of the host lead to some further attempts.
// Then the error is [storage.ErrUnavailable].
func (s *Store) Update(ctx context.Context, fn func(storage.Tx) error) error {
	return s.store.Update(ctx, fn)
}

// Stats returns the counters.
func (s *Store) Stats() Stats {
	n := s.store.Stats()
	return Stats{Updates: n.Updates, Commits: n.Commits, Reruns: n.Reruns, Resolved: s.resolved.Load(), Fenced: s.fenced.Load()}
}

// Close implements [storage.Store]. The pool stays open.
func (s *Store) Close() error {
	s.store.Shut()
	s.watch.close()
	s.store.Wait()
	return nil
}
