//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// answerWithin is the longest time from a server's first write to the store's first answer.
const answerWithin = 5 * time.Second

// requestLimit is the time that httpapi gives a request. No call may last longer.
const requestLimit = 30 * time.Second

// load is a set of callers that write and read all the time, and record the answers.
type load struct {
	t     *testing.T
	store *postgres.Store
	stop  context.CancelFunc
	all   sync.WaitGroup

	mu          sync.Mutex
	written     []string
	maybe       map[string]bool // ErrUnknown
	unavailable int
	longest     time.Duration
	// wrote and read are the start times of the latest successful calls.
	wrote, read time.Time

	number atomic.Int64
}

// newLoad opens a store on a URL and begins to use it.
func newLoad(t *testing.T, url string) *load {
	t.Helper()
	config := must.Get(postgres.PoolConfig(url))(t)
	config.MaxConns = 4
	pool := must.Get(pgxpool.NewWithConfig(t.Context(), config))(t)
	t.Cleanup(pool.Close)
	store := must.Get(postgres.Open(t.Context(), pool, postgres.Config{MaxBatchSize: 4}))(t)
	must.Do(t, store.Define(t.Context(), notes))
	ctx, stop := context.WithCancel(context.Background())
	l := &load{t: t, store: store, stop: stop, maybe: map[string]bool{}}
	for range 6 {
		l.all.Go(func() { l.write(ctx) })
	}
	for range 2 {
		l.all.Go(func() { l.look(ctx) })
	}
	t.Cleanup(func() {
		l.end()
		expect.NoError(t, store.Close(), "Close")
	})
	l.answered(time.Now())
	time.Sleep(300 * time.Millisecond) // so that all connections are in use
	return l
}

func (l *load) end() {
	l.stop()
	l.all.Wait()
}

// call runs do within the time of a request, and records the result.
func (l *load) call(ctx context.Context, good *time.Time, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	began := time.Now()
	err := do(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.longest = max(l.longest, time.Since(began))
	switch {
	case err == nil:
		if began.After(*good) {
			*good = began
		}
	case errors.Is(err, storage.ErrUnavailable):
		l.unavailable++
	case !errors.Is(err, context.Canceled):
		l.t.Errorf("neither done nor unavailable: %v", err)
	}
	return err
}

func (l *load) write(ctx context.Context) {
	for ctx.Err() == nil {
		id := fmt.Sprintf("n_%d", l.number.Add(1))
		err := l.call(ctx, &l.wrote, func(ctx context.Context) error {
			return l.store.Update(ctx, func(tx storage.Tx) error {
				if err := tx.Insert(notes, note(id)); err != nil {
					return err
				}
				return tx.Post(transfer(id))
			})
		})
		l.mu.Lock()
		switch {
		case err == nil:
			l.written = append(l.written, id)
		case errors.Is(err, postgres.ErrUnknown):
			l.maybe[id] = true
		}
		l.mu.Unlock()
		time.Sleep(10 * time.Millisecond) // leaves the processors to the servers of the tests beside it
	}
}

func (l *load) look(ctx context.Context) {
	for ctx.Err() == nil {
		_ = l.call(ctx, &l.read, func(ctx context.Context) error { // it notes the error
			_, err := l.store.GetOne(ctx, notes, scope, "absent")
			if !errors.Is(err, storage.ErrNotFound) {
				return err
			}
			return l.store.View(ctx, func(tx storage.ReadTx) error {
				_, err := tx.List(notes, storage.Query{Scope: scope, Limit: 3})
				return err
			})
		})
		time.Sleep(10 * time.Millisecond)
	}
}

// answered waits for a write and a read that began after a time and succeeded. It fails the test
// when that takes too long.
func (l *load) answered(since time.Time) {
	l.t.Helper()
	for deadline := since.Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		done := l.wrote.After(since) && l.read.After(since)
		l.mu.Unlock()
		if done {
			if took := time.Since(since); took > answerWithin {
				l.t.Errorf("the first answers came after %s", took)
			} else {
				l.t.Logf("the first answers came after %s", took.Round(time.Millisecond))
			}
			return
		}
	}
	l.t.Fatal("no answer for a minute")
}

// check ends the load and compares the answers with the contents of a database.
func (l *load) check(url string) {
	l.t.Helper()
	l.end()
	l.t.Logf("%d written, %d unavailable, %d unknown, the longest call took %s",
		len(l.written), l.unavailable, len(l.maybe), l.longest.Round(time.Millisecond))
	expect.True(l.t, l.longest <= requestLimit, "a call took %s", l.longest)
	conn := must.Get(pgx.Connect(context.Background(), url))(l.t)
	defer conn.Close(context.Background())
	rows := must.Get(conn.Query(context.Background(), "SELECT id FROM payments.test_notes"))(l.t)
	there := must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(l.t)
	var moved int
	must.Do(l.t, conn.QueryRow(context.Background(), "SELECT balance FROM payments.ledger_accounts WHERE name = 'guarded/to'").Scan(&moved))
	expect.Equal(l.t, moved, len(there), "%d records and %d transfers", len(there), moved)
	found := map[string]bool{}
	for _, id := range there {
		found[id] = true
	}
	for _, id := range l.written {
		expect.True(l.t, found[id], "%s was acknowledged and is lost", id)
		delete(found, id)
	}
	for id := range found {
		// The end of the load cancels calls before their functions return, so those write
		// nothing.
		expect.True(l.t, l.maybe[id], "%s was refused and is there", id)
	}
}

// hosts returns a URL of several servers, one of which takes writes.
func hosts(servers ...*pgtest.Server) string {
	var addresses []string
	for _, s := range servers {
		addresses = append(addresses, s.Addr())
	}
	return "postgres://postgres@" + strings.Join(addresses, ",") + "/postgres?sslmode=disable&target_session_attrs=read-write"
}

// The callers continue for a while during an outage.
func outage() { time.Sleep(1500 * time.Millisecond) }

func TestPrimaryKilledAndStandbyPromoted(t *testing.T) {
	t.Parallel() // it mostly waits
	primary := pgtest.NewServer(t)
	standby := primary.Standby(t)
	l := newLoad(t, hosts(primary, standby))
	primary.Kill(t)
	outage()
	standby.Promote(t)
	l.answered(time.Now())
	l.check(standby.URL())
}

func TestPrimaryFrozenAndStandbyPromoted(t *testing.T) {
	t.Parallel() // it mostly waits
	primary := pgtest.NewServer(t)
	standby := primary.Standby(t)
	l := newLoad(t, hosts(primary, standby))
	primary.Freeze(t)
	outage()
	standby.Promote(t)
	l.answered(time.Now())
	primary.Kill(t)
	l.check(standby.URL())
}

// The address leads to another server while the connections to the frozen one stay open.
func TestAddressMovesFromFrozenServer(t *testing.T) {
	t.Parallel() // it mostly waits
	primary := pgtest.NewServer(t)
	standby := primary.Standby(t)
	address := newTCPProxy(t, primary.Addr())
	l := newLoad(t, address.url())
	primary.Freeze(t)
	outage()
	standby.Promote(t)
	address.lead(standby.Addr())
	l.answered(time.Now())
	primary.Kill(t)
	l.check(standby.URL())
}

// The address leads to a standby for a while. Connections made then keep working afterwards.
func TestAddressComesBackFromReadOnlyServer(t *testing.T) {
	t.Parallel() // it mostly waits
	primary := pgtest.NewServer(t)
	standby := primary.Standby(t)
	address := newTCPProxy(t, primary.Addr())
	l := newLoad(t, address.url())
	address.lead(standby.Addr())
	address.cut()
	outage()
	address.lead(primary.Addr())
	l.answered(time.Now())
	l.check(primary.URL())
}

func TestServerTroubleIsUnavailableAndPasses(t *testing.T) {
	t.Parallel() // it mostly waits
	server := pgtest.NewServer(t, "max_connections=12", "superuser_reserved_connections=1")
	l := newLoad(t, server.URL())
	t.Run("sessions ended", func(t *testing.T) {
		before := l.unavailable
		for range 5 {
			server.Exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
			l.answered(time.Now())
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if n := l.unavailable - before; n > 5 {
			t.Errorf("%d calls were refused for 5 times of ended sessions", n)
		}
	})
	t.Run("no connections left", func(t *testing.T) {
		server.Exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
		var taken []*pgx.Conn
		for {
			conn, err := pgx.Connect(t.Context(), server.URL())
			if err != nil {
				break
			}
			taken = append(taken, conn)
		}
		outage()
		for _, conn := range taken {
			_ = conn.Close(t.Context())
		}
		l.answered(time.Now())
	})
	t.Run("restart", func(t *testing.T) {
		server.Kill(t)
		outage()
		server.Start(t, "max_connections=12", "superuser_reserved_connections=1")
		l.answered(time.Now())
	})
	l.check(server.URL())
}
