// Package postgres keeps a [storage.Store] in a schema of a PostgreSQL database,
// which many processes may use at once.
//
// It owns the schema: its tables, its transactions and the lock under which they
// write. It knows no merchant's rules; what a record or a posting must satisfy is
// said in package storage, and checked here once more by constraints of the
// database. The connections are those of the host's pool.
//
// Updates run one after another, over all processes, and share commits (see
// writer.go); where several processes write at the same time, functions run again
// more often. Reads of single records share round trips (see reads.go). Views read a snapshot and wait for nobody. The pool must allow two
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
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
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
	// Migrating, unless it is nil, is told how far the change of a table has come, in
	// the goroutine of Define, when a kind is new or was declared otherwise: a table
	// of millions of rows that is made anew takes its time. What was told is undone
	// when Define fails.
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
	pool     *pgxpool.Pool
	config   Config
	writer   writer
	reads    reads
	watch    *watch
	tables   atomic.Pointer[map[*storage.Kind]*table]
	counters counters
	sql      ledgerSQL
	draft    atomic.Pointer[draft] // nil while somebody has it

	newestCommit, commitsSince, expectCommit, insertCommit, deleteCommits, findCommit, touchCommit string

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // Update, View and Define
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
}

type counters struct {
	updates, commits, reruns, resolved atomic.Int64
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
	var err error
	if config.ReadOnlySchema {
		err = Validate(ctx, pool, config.Schema)
	} else {
		err = Migrate(ctx, pool, config.Schema)
	}
	if err != nil {
		return nil, err
	}
	s := &Store{pool: pool, config: config, sql: newLedgerSQL(config.Schema)}
	s.tables.Store(&map[*storage.Kind]*table{})
	s.writer = writer{store: s, max: config.MaxGroup}
	s.writer.cache.forget()
	s.reads.store = s
	s.watch = newWatch(s)
	commits := sqltext.Quote(config.Schema) + ".storage_commits"
	s.newestCommit = "SELECT number, token, changed FROM " + commits + " ORDER BY number DESC LIMIT 1"
	s.commitsSince = "SELECT number, token, changed FROM " + commits + " WHERE number >= $1 ORDER BY number DESC LIMIT 200"
	s.expectCommit = "SELECT " + sqltext.Quote(config.Schema) + ".storage_expect((SELECT count(*) FROM (SELECT token FROM " + commits +
		" ORDER BY number DESC LIMIT 1) AS newest WHERE token = $1), 1)"
	s.insertCommit = "INSERT INTO " + commits + " (number, token, changed) VALUES ($1, $2, $3)"
	s.deleteCommits = "DELETE FROM " + commits + " WHERE number < $1::bigint - 1000 AND at < now() - interval '3 minutes'"
	s.touchCommit = "UPDATE " + commits + " SET token = token WHERE number = $1"
	s.findCommit = "SELECT token FROM " + commits + " WHERE number = $1"
	return s, nil
}

// View implements [storage.Store]. The snapshot is taken by the first read of
// fn. A View that lasts keeps PostgreSQL from clearing away what was replaced
// since it began.
func (s *Store) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.running.Done()
	return s.view(ctx, fn)
}

// view is View for a store that is known to be open.
func (s *Store) view(ctx context.Context, fn func(storage.ReadTx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	conn, err := s.watch.acquire(ctx)
	if err != nil {
		return fmt.Errorf("postgres: view: %w", err)
	}
	on := &session{db: conn.Conn(), limit: viewLimit, before: []string{
		"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", settings,
	}}
	on.renew = func() error {
		noteFailure(conn.Conn(), io.EOF)
		s.watch.giveBack(conn)
		conn = nil
		if conn, err = s.watch.acquire(ctx); err == nil {
			on.db = conn.Conn()
		}
		return err
	}
	t := &readTx{ctx: ctx, io: ctx, store: s, session: on}
	defer func() {
		t.ended = true
		if conn != nil {
			s.watch.giveBack(conn)
		}
	}()
	return fn(t)
}

// Update implements [storage.Store]. fn runs in the goroutine of the caller, who
// waits for others' functions before and after it, and for one commit. It may run
// several times. Other processes are waited for as long as ctx allows, and a few minutes
// at most; lock_timeout and statement_timeout of the host lead to some further attempts.
// Then the error is [storage.ErrUnavailable].
func (s *Store) Update(ctx context.Context, fn func(storage.Tx) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.running.Done()
	return s.writer.update(ctx, func(t *tx) error { return fn(t) }, false)
}

// Stats returns the counters.
func (s *Store) Stats() Stats {
	return Stats{
		Updates:  s.counters.updates.Load(),
		Commits:  s.counters.commits.Load(),
		Reruns:   s.counters.reruns.Load(),
		Resolved: s.counters.resolved.Load(),
	}
}

// Close implements [storage.Store]. The pool stays open.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.watch.close()
	s.running.Wait()
	return nil
}

// enter counts the caller as running, or returns ErrClosed.
func (s *Store) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed()
	}
	s.running.Add(1)
	return nil
}

const (
	// resolveWithin is how long a commit's answer is looked for. Together with the
	// round trip before, it is less than the 30 seconds that httpapi gives a request.
	resolveWithin = 15 * time.Second
	// viewLimit bounds a statement of a View: all of them are served by an index, and
	// read a page.
	viewLimit = 20 * time.Second
)

// resolve finds out whether a commit happened whose answer was lost: nil if it
// did, errLost if not, which is final.
func (s *Store) resolve(number, token int64, cause error) error {
	ctx, cancel := context.WithTimeout(context.Background(), resolveWithin)
	defer cancel()
	for n := 1; ; n++ {
		happened, err := s.happened(ctx, number, token)
		switch {
		case err == nil && happened:
			s.counters.resolved.Add(1)
			return nil
		case err == nil:
			s.counters.resolved.Add(1)
			return errLost{cause}
		}
		if pause(ctx, min(n, 50)) != nil {
			return fmt.Errorf("%w: %w", ErrUnknown, errors.Join(cause, err))
		}
	}
}

// happened looks for a commit, under the lock. One that is not there may still be on
// its way to a server that has not read it yet, so its number is given away: then it
// fails whenever it arrives. If the answer to that is lost, too, whoever asks again
// finds one or the other.
func (s *Store) happened(ctx context.Context, number, token int64) (bool, error) {
	conn, err := s.watch.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer s.watch.giveBack(conn)
	asking := session{db: conn.Conn(), limit: groupLimit, before: []string{beginWrite, writeSettings, lockWriter(s.config.Schema)}}
	var of int64
	found, err := asking.one(ctx, []any{&of}, s.findCommit, number)
	if err != nil || found && of != token {
		return false, err
	}
	if found {
		// A commit that was given up while it waited for a synchronous standby is
		// seen, and may not be there. A later one waits for all before it.
		return true, asking.send(ctx, func(b *pgx.Batch) {
			b.Queue(s.touchCommit, number)
			b.Queue("COMMIT")
		})
	}
	return false, asking.send(ctx, func(b *pgx.Batch) {
		b.Queue(s.insertCommit, number, token+1, []byte{})
		b.Queue("COMMIT")
	})
}

func hashOf(b []byte) uint64 { return binary.BigEndian.Uint64(b) }

// checkIsolation refuses a transaction that would not see what was committed
// while it waited for the lock.
func checkIsolation(ctx context.Context, db querier) error {
	var level string
	if err := db.QueryRow(ctx, "SELECT current_setting('transaction_isolation')").Scan(&level); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	if level != "read committed" {
		return fmt.Errorf("%w: postgres: the transaction is %s; begin it as READ COMMITTED", storage.ErrInvalid, level)
	}
	return nil
}
