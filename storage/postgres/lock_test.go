package postgres_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// openNotes opens a store with the kind of the tests.
func openNotes(t *testing.T, pool *pgxpool.Pool, config postgres.Config) *postgres.Store {
	t.Helper()
	store := must.Get(postgres.Open(t.Context(), pool, config))(t)
	t.Cleanup(func() {
		expect.NoError(t, store.Close(), "Close")
	})
	must.Do(t, store.Define(t.Context(), notes))
	return store
}

func insertNote(t *testing.T, store *postgres.Store, id string) error {
	return store.Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(notes, note(id)) })
}

// A client sends half of a batch that takes the lock, and then nothing. Its connection stays
// open, so the server waits for the rest.
func TestHalfSentBatchDoesNotHoldTheLock(t *testing.T) {
	t.Parallel() // it mostly waits
	schema := pgtest.Schema(t)
	store := openNotes(t, pgtest.Pool(t, 4), postgres.Config{Schema: schema})
	silent := must.Get(pgconn.Connect(t.Context(), pgtest.URL(t)))(t)
	defer silent.Close(t.Context())
	f := silent.Frontend()
	for _, text := range []string{"BEGIN", "SET LOCAL idle_in_transaction_session_timeout = 1000", "LOCK TABLE " + schema + ".storage_writer IN EXCLUSIVE MODE"} {
		f.SendParse(&pgproto3.Parse{Query: text})
		f.SendBind(&pgproto3.Bind{})
		f.SendExecute(&pgproto3.Execute{})
	}
	f.Send(&pgproto3.Flush{}) // answers, but no Sync
	must.Do(t, f.Flush())
	for commands := 0; commands < 3; {
		message := must.Get(silent.ReceiveMessage(t.Context()))(t)
		if _, ok := message.(*pgproto3.CommandComplete); ok {
			commands++
		}
	}
	start := time.Now()
	must.Do(t, insertNote(t, store, "a"))
	took := time.Since(start)
	t.Logf("the lock was free after %s", took.Round(time.Millisecond))
	expect.True(t, took <= 15*time.Second, "the lock was held for %s", took)
	if _, err := silent.ReceiveMessage(t.Context()); err == nil {
		t.Error("the client that fell silent still has its session")
	}
}

// The lock only avoids failed attempts. Without it, the primary key of the commits and the
// comparing writes still prevent a lost, doubled or falsely acknowledged write.
func TestCommitsAreSafeWithoutTheLock(t *testing.T) {
	schema := pgtest.Schema(t)
	address := newTCPProxy(t, serverAddress(t))
	var ignored atomic.Bool
	var unlocked atomic.Int64
	lock := fmt.Appendf(nil, `LOCK TABLE "%s".storage_writer IN EXCLUSIVE MODE`, schema)
	instead := bytes.Repeat([]byte{' '}, len(lock))
	copy(instead, "SELECT 1 --")
	address.lose = func(sent []byte) loss {
		for i := bytes.Index(sent, lock); i >= 0 && ignored.Load(); i = bytes.Index(sent, lock) {
			copy(sent[i:], instead)
			unlocked.Add(1)
		}
		return nothing
	}
	var pools []*pgxpool.Pool
	var stores []*postgres.Store
	for range 2 {
		pool := address.pool(t, 4)
		pools, stores = append(pools, pool), append(stores, openNotes(t, pool, postgres.Config{Schema: schema}))
	}
	ignored.Store(true)
	if _, err := postgres.Open(t.Context(), pools[0], postgres.Config{Schema: schema}); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("Open: %v", err)
	}
	if err := insertNote(t, stores[0], "counter"); err != nil { // it counts from 1
		t.Fatal(err)
	}
	var done, refused atomic.Int64
	var all sync.WaitGroup
	for c := range 8 {
		all.Go(func() {
			for n := range 20 {
				err := stores[c%2].Update(t.Context(), func(tx storage.Tx) error {
					counter, err := tx.Get(notes, scope, "counter")
					if err != nil {
						return err
					}
					counter.Columns[0] = counter.Columns[0].(int64) + 1
					if err := tx.Replace(notes, counter); err != nil {
						return err
					}
					if _, err := tx.Next("numbers"); err != nil {
						return err
					}
					return tx.Post(transfer(fmt.Sprint("p_", c, "_", n)))
				})
				switch {
				case err == nil:
					done.Add(1)
				case errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, postgres.ErrUnknown):
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d updates done, %d refused, %d locks not taken", done.Load(), refused.Load(), unlocked.Load())
	expect.True(t, unlocked.Load() >= 10, "too little to show anything")
	expect.True(t, done.Load() >= 10, "too little to show anything")
	direct := openNotes(t, pgtest.Pool(t, 2), postgres.Config{Schema: schema})
	must.Do(t, direct.Update(t.Context(), func(tx storage.Tx) error {
		counter, err := tx.Get(notes, scope, "counter")
		if err != nil {
			return err
		}
		money, err := tx.Balance("guarded/to")
		if err != nil {
			return err
		}
		next, err := tx.Next("numbers")
		if err != nil {
			return err
		}
		if n := done.Load(); counter.Columns[0] != n+1 || counter.Version != n+1 || money.Amount != n || money.Entries != n || next != n+1 {
			t.Errorf("%d updates counted to %v in %d versions, moved %d in %d entries, and the next number is %d",
				n, counter.Columns[0], counter.Version, money.Amount, money.Entries, next)
		}
		return nil
	}))
}

// After the host's limits on waiting, the store waits again, and a host's transaction must begin
// again.
func TestTimeoutsWhileWaitingForTheLock(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, setting := range []string{"lock_timeout", "statement_timeout"} {
		t.Run(setting, func(t *testing.T) {
			schema := pgtest.Schema(t)
			config := must.Get(postgres.PoolConfig(pgtest.URL(t)))(t)
			config.MaxConns = 4
			pool := must.Get(pgxpool.NewWithConfig(t.Context(), config))(t)
			t.Cleanup(pool.Close)
			store := openNotes(t, pool, postgres.Config{Schema: schema})
			config.ConnConfig.RuntimeParams[setting] = "500"
			hasty := must.Get(pgxpool.NewWithConfig(t.Context(), config))(t)
			t.Cleanup(hasty.Close)
			impatient := openNotes(t, hasty, postgres.Config{Schema: schema})

			tx := must.Get(pool.Begin(t.Context()))(t)
			release := sync.OnceFunc(func() { _ = tx.Rollback(t.Context()) }) // it has written nothing
			defer release()
			must.Get(tx.Exec(t.Context(), "LOCK TABLE "+schema+".storage_writer IN EXCLUSIVE MODE"))(t)
			host := must.Get(hasty.Begin(t.Context()))(t)
			err := impatient.In(host).Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(notes, note("in")) })
			expect.True(t, errors.Is(err, storage.ErrRetry), "in the host's transaction: %v", err)
			expect.NoError(t, host.Rollback(t.Context()), "Rollback")
			free := time.AfterFunc(1200*time.Millisecond, release)
			defer free.Stop()
			expect.NoError(t, insertNote(t, impatient, "own"), "in a transaction of the store")
			expect.True(t, impatient.Stats().Reruns != 0, "nothing had to be tried again")
			expect.ErrorIs(t, insertNote(t, store, "own"), storage.ErrExists, "afterwards")
		})
	}
}
