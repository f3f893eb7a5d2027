package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// savedState is an earlier state of a schema. For live processes, restoring it looks like a
// recovery, or like a failover to a lagging replica.
type savedState struct {
	pool          *pgxpool.Pool
	schema, saved string
	tables        []string
}

// saveState saves the present state of the schema.
func saveState(t *testing.T, pool *pgxpool.Pool, schema string) *savedState {
	t.Helper()
	p := &savedState{pool: pool, schema: schema, saved: pgtest.Schema(t)}
	rows, err := pool.Query(t.Context(), "SELECT tablename FROM pg_tables WHERE schemaname = $1", schema)
	if err == nil {
		p.tables, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	must.Do(t, err)
	text := "CREATE SCHEMA " + p.saved
	for _, table := range p.tables {
		text += fmt.Sprintf("; CREATE TABLE %s.%s AS TABLE %s.%[2]s", p.saved, table, schema)
	}
	p.exec(t, text)
	return p
}

// restore writes the saved state back, under the writers' lock.
func (p *savedState) restore(t *testing.T) {
	t.Helper()
	text := "LOCK TABLE " + p.schema + ".storage_writer IN EXCLUSIVE MODE"
	for _, table := range p.tables {
		text += fmt.Sprintf(`; ALTER TABLE %[1]s.%[2]s DISABLE TRIGGER USER; DELETE FROM %[1]s.%[2]s;
			INSERT INTO %[1]s.%[2]s OVERRIDING SYSTEM VALUE TABLE %[3]s.%[2]s; ALTER TABLE %[1]s.%[2]s ENABLE TRIGGER USER`,
			p.schema, table, p.saved)
	}
	p.exec(t, text)
}

// exec runs statements in one transaction.
func (p *savedState) exec(t *testing.T, text string) {
	t.Helper()
	must.Get(p.pool.Exec(t.Context(), text, pgx.QueryExecModeSimpleProtocol))(t)
}

// countUp takes the next number of a sequence, raises a note by one, and books one pesewa.
// It returns the values that it has read.
func countUp(ctx context.Context, s storage.Store, posting string) (number, size, balance int64, err error) {
	err = s.Update(ctx, func(tx storage.Tx) error {
		if number, err = tx.Next("numbers"); err != nil {
			return err
		}
		if err = tx.Post(transfer(fmt.Sprint(posting, "/", number))); err != nil {
			return err
		}
		b, err := tx.Balance("guarded/to")
		if err != nil {
			return err
		}
		r, err := tx.Get(notes, scope, "n")
		if errors.Is(err, storage.ErrNotFound) {
			size, balance = 1, b.Amount
			return tx.Insert(notes, note("n"))
		}
		if err != nil {
			return err
		}
		size, balance = r.Columns[0].(int64)+1, b.Amount
		r.Columns[0] = size
		return tx.Replace(notes, r)
	})
	return number, size, balance, err
}

// checkCount calls countUp and expects the values after the given number of earlier calls.
func checkCount(t *testing.T, who string, s storage.Store, before int64) {
	t.Helper()
	number, size, balance, err := countUp(t.Context(), s, who)
	if err != nil {
		t.Fatalf("%s: %v", who, err)
	}
	if number != before+1 || size != before+1 || balance != before+1 {
		t.Fatalf("%s: number %d, note %d, balance %d after %d calls", who, number, size, balance, before)
	}
}

// quiet is the configuration of a store that logs nothing.
func quiet(schema string) postgres.Config {
	return postgres.Config{Schema: schema, Logger: slog.New(slog.DiscardHandler)}
}

// takeNext takes the next number of a sequence.
func takeNext(t *testing.T, s storage.Store) (n int64) {
	t.Helper()
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) (err error) {
		n, err = tx.Next("a")
		return err
	}))
	return n
}

// A process that knows lost commits clears its cache. Its next commits are visible to a
// process that still knows the newest commit.
func TestLostHistoryClearsCache(t *testing.T) {
	pool, schema := pgtest.Pool(t, 8), pgtest.Schema(t)
	var log bytes.Buffer
	ahead := openNotes(t, pool, postgres.Config{Schema: schema, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	idle := openNotes(t, pool, postgres.Config{Schema: schema})
	want := func(s storage.Store, n int64) {
		t.Helper()
		if got := takeNext(t, s); got != n {
			t.Errorf("got number %d, want %d", got, n)
		}
	}
	want(ahead, 1)
	want(idle, 2)
	want(ahead, 3)
	want(idle, 4)
	// The log of commits is pruned.
	number, _ := idle.Newest(t)
	must.Get(pool.Exec(t.Context(), "DELETE FROM "+schema+".storage_commits WHERE number < $1", number))(t)
	replica := saveState(t, pool, schema)
	for n := range int64(6) {
		want(ahead, 5+n)
	}
	replica.restore(t)
	for n := int64(5); n < 40; n += 2 {
		want(ahead, n)
		want(idle, n+1)
	}
	if got := ahead.Stats().LostHistory; got != 1 {
		t.Errorf("the process that knew more was fenced %d times", got)
	}
	if got := idle.Stats().LostHistory; got != 0 {
		t.Errorf("the process that knew no more was fenced %d times", got)
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), fmt.Sprint("newest=", number)) {
		t.Errorf("it said:\n%s", log.String())
	}
}

// The server fails over in the middle of a commit, to a replica that lacks earlier commits, too. The
// store gives the number of the lost commit away, and says that the database has lost others.
func TestHistoryLostBesideCommit(t *testing.T) {
	pool, schema := pgtest.Pool(t, 4), pgtest.Schema(t)
	address := newTCPProxy(t, serverAddress(t))
	var failover atomic.Pointer[savedState]
	address.lose = func(sent []byte) loss {
		if replica := failover.Load(); replica != nil && bytes.Contains(sent, []byte("COMMIT")) && failover.CompareAndSwap(replica, nil) {
			replica.restore(t)
			return message
		}
		return nothing
	}
	s := openNotes(t, address.pool(t, 4), quiet(schema))
	idle := openNotes(t, pool, quiet(schema))
	checkCount(t, "first", s, 0)
	replica := saveState(t, pool, schema)
	checkCount(t, "second", s, 1)
	checkCount(t, "idle", idle, 2)
	failover.Store(replica)
	checkCount(t, "beside the failover", s, 1)
	if got := s.Stats(); got.LostHistory != 1 || got.Resolved != 1 {
		t.Errorf("of the process whose commit was lost: %+v", got)
	}
	checkCount(t, "idle", idle, 2)
	if got := idle.Stats().LostHistory; got != 1 {
		t.Errorf("the other process was fenced %d times", got)
	}
}

// A process decides by a record that it has in memory, and writes another one. The number of its
// commit is free although the record has changed: either another process has committed, and the
// log was pruned; or the database has lost commits. So the commit must also compare the newest
// commit with the one that the process knows.
func TestCommitIsBasedOnNewestCommit(t *testing.T) {
	setLimit := func(t *testing.T, s storage.Store, limit int64) {
		t.Helper()
		must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
			r, err := tx.Get(notes, scope, "limit")
			if err != nil {
				return err
			}
			r.Columns[0] = limit
			return tx.Replace(notes, r)
		}))
	}
	for name, change := range map[string]func(t *testing.T, pool *pgxpool.Pool, schema string, s storage.Store){
		"pruned": func(t *testing.T, pool *pgxpool.Pool, schema string, _ storage.Store) {
			other := openNotes(t, pool, postgres.Config{Schema: schema})
			setLimit(t, other, 7)
			setLimit(t, other, 2)
			number, _ := other.Newest(t)
			must.Get(pool.Exec(t.Context(), "DELETE FROM "+schema+".storage_commits WHERE number < $1", number))(t)
		},
		"lost": func(t *testing.T, pool *pgxpool.Pool, schema string, s storage.Store) {
			setLimit(t, s, 2)
			replica := saveState(t, pool, schema)
			setLimit(t, s, 7)
			replica.restore(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			pool, schema := pgtest.Pool(t, 4), pgtest.Schema(t)
			s := openNotes(t, pool, quiet(schema))
			must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(notes, note("limit")) }))
			setLimit(t, s, 1)
			change(t, pool, schema, s)
			var limits []int64 // of each run
			must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
				r, err := tx.Get(notes, scope, "limit")
				if err != nil {
					return err
				}
				limits = append(limits, r.Columns[0].(int64))
				return tx.Insert(notes, note("within"))
			}))
			if limits[0] == 2 || limits[len(limits)-1] != 2 {
				t.Errorf("the update read the limits %v; want an old one from memory, and then 2", limits)
			}
			if lost := s.Stats().LostHistory; (lost == 1) != (name == "lost") {
				t.Errorf("it was fenced %d times", lost)
			}
		})
	}
}

// Several processes write in turn while the database goes back again and again, to states
// with much and with little of the commit log. Each process reads the current state.
func TestLostHistoryOfSeveralProcesses(t *testing.T) {
	pool, schema := pgtest.Pool(t, 8), pgtest.Schema(t)
	var stores []storage.Store
	for range 3 {
		stores = append(stores, openNotes(t, pool, quiet(schema)))
	}
	type state struct {
		*savedState
		count int64
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var states []state
	count, fenced := int64(0), int64(0)
	for step := range 300 {
		switch random.IntN(12) {
		case 0:
			if len(states) < 5 {
				states = append(states, state{saveState(t, pool, schema), count})
			}
		case 1:
			if len(states) > 0 {
				to := states[random.IntN(len(states))]
				to.restore(t)
				count = to.count
			}
		case 2:
			text := "DELETE FROM " + schema + ".storage_commits WHERE number < (SELECT max(number) FROM " + schema + ".storage_commits)"
			must.Get(pool.Exec(t.Context(), text))(t)
		default:
			checkCount(t, fmt.Sprint(step), stores[random.IntN(len(stores))], count)
			count++
		}
	}
	for _, s := range stores {
		fenced += s.(*postgres.Store).Stats().LostHistory
	}
	if fenced == 0 {
		t.Error("no process was fenced")
	}
}

// The database goes back beside processes that write. Running updates run again, and the
// data afterwards is consistent.
func TestLostHistoryBesideWriters(t *testing.T) {
	pool, schema := pgtest.Pool(t, 12), pgtest.Schema(t)
	stores := []storage.Store{openNotes(t, pool, quiet(schema)), openNotes(t, pool, quiet(schema))}
	checkCount(t, "first", stores[0], 0)
	replica := saveState(t, pool, schema)
	done := make(chan struct{})
	var all sync.WaitGroup
	calls := make(chan struct{}, 1000)
	for w := range 8 {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				if _, _, _, err := countUp(t.Context(), stores[w%2], fmt.Sprint("w", w, "/", n)); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				select {
				case calls <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 8 {
		for range 20 {
			<-calls
		}
		replica.restore(t)
	}
	close(done)
	all.Wait()
	must.Do(t, stores[0].View(t.Context(), func(tx storage.ReadTx) error {
		r, err := tx.Get(notes, scope, "n")
		if err != nil {
			return err
		}
		b, err := tx.Balance("guarded/to")
		if err != nil {
			return err
		}
		all, err := tx.Sequences("", 10)
		if err != nil {
			return err
		}
		if size := r.Columns[0].(int64); len(all) != 1 || all[0].Value != size || b.Amount != size || b.Entries != size {
			t.Errorf("sequences %v, note %d, balance %+v", all, size, b)
		}
		return nil
	}))
}

// After a change of a sequence in the database, Next gives the number after it: the store
// compares the value that it replaces.
func TestNextReadsSequenceChangedInDatabase(t *testing.T) {
	pool, schema := pgtest.Pool(t, 4), pgtest.Schema(t)
	s := openNotes(t, pool, postgres.Config{Schema: schema})
	takeNext(t, s)
	takeNext(t, s)
	for _, text := range []string{
		"UPDATE " + schema + ".storage_sequences SET value = 10",
		"DELETE FROM " + schema + ".storage_sequences",
	} {
		must.Get(pool.Exec(t.Context(), text))(t)
		want := int64(1)
		if strings.HasPrefix(text, "UPDATE") {
			want = 11
		}
		if got := takeNext(t, s); got != want {
			t.Errorf("after %s: %d, want %d", text, got, want)
		}
	}
}

// The answer of a commit tells of so many commits at most. A store that is further behind has in memory what the
// others have changed.
func TestCommitFarBehindForgetsWhatOthersChanged(t *testing.T) {
	schema := pgtest.Schema(t)
	s, other := openNotes(t, pgtest.Pool(t, 4), postgres.Config{Schema: schema}), openNotes(t, pgtest.Pool(t, 4), postgres.Config{Schema: schema})
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(notes, note("read")) }))
	expect.Equal(t, sizeOf(t, s, "read"), any(int64(1)), "size at first")
	for n := range postgres.MaxLog + 1 {
		must.Do(t, other.Update(t.Context(), func(tx storage.Tx) error {
			r, err := tx.Get(notes, scope, "read")
			if err != nil || n > 0 {
				return errors.Join(err, tx.Insert(notes, note(fmt.Sprint("other", n))))
			}
			r.Columns[0] = int64(7)
			return tx.Replace(notes, r)
		}))
	}
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(notes, note("beside")) }))
	expect.Equal(t, sizeOf(t, s, "read"), any(int64(7)), "size that the other has written")
}
