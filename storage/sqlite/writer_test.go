package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

// update is one update of a test, owned by the goroutine that runs it.
type update struct {
	ctx  context.Context
	fn   func(storage.Tx) error
	err  error
	gone any // its panic value
}

// runTogether runs updates so that they wait for each other: the first holds the
// write turn until all others have queued, in their order.
func runTogether(t *testing.T, s *Store, updates ...*update) {
	t.Helper()
	var wg sync.WaitGroup
	began, proceed := make(chan struct{}), make(chan struct{})
	start := func(m *update, fn func(storage.Tx) error) {
		ctx := m.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		wg.Go(func() {
			defer func() { m.gone = recover() }()
			m.err = errors.New("goroutine ended")
			m.err = s.Update(ctx, fn)
		})
	}
	var once sync.Once
	start(updates[0], func(tx storage.Tx) error {
		once.Do(func() { close(began); <-proceed })
		return updates[0].fn(tx)
	})
	<-began
	for i, m := range updates[1:] {
		start(m, m.fn)
		awaitQueue(s, i+1)
	}
	close(proceed)
	wg.Wait()
}

// awaitQueue returns once n callers wait for the write turn.
func awaitQueue(s *Store, n int) {
	for {
		if s.store.QueueLength() == n {
			return
		}
		runtime.Gosched()
	}
}

func inserts(ids ...string) *update {
	return &update{fn: func(tx storage.Tx) error {
		for _, id := range ids {
			if err := tx.Insert(notes, note(id)); err != nil {
				return err
			}
		}
		return nil
	}}
}

// statsSince returns the counters' growth since before.
func statsSince(s *Store, before Stats) Stats {
	now := s.Stats()
	return Stats{Commits: now.Commits - before.Commits, Updates: now.Updates - before.Updates, Reruns: now.Reruns - before.Reruns}
}

func TestWaitingUpdatesShareCommit(t *testing.T) {
	for _, test := range []struct{ max, commits int }{{0, 1}, {8, 3}, {1, 20}} {
		t.Run(fmt.Sprint("MaxGroup=", test.max), func(t *testing.T) {
			s := openNotes(t, Config{MaxBatchSize: test.max})
			var updates []*update
			for i := range 20 {
				updates = append(updates, inserts(fmt.Sprintf("n%02d", i)))
			}
			before := s.Stats()
			runTogether(t, s, updates...)
			for i, m := range updates {
				expect.True(t, m.err == nil, "update %d: %v", i, m.err)
			}
			want := Stats{Commits: int64(test.commits), Updates: 20}
			expect.Same(t, statsSince(s, before), want, "stats")
			expect.Equal(t, len(ids(t, s)), 20, "records, want 20")
		})
	}
}

func TestFailedCallKeepsRestOfBatch(t *testing.T) {
	refused := errors.New("refused")
	for name, bad := range map[string]func(context.CancelFunc) error{
		"error":  func(context.CancelFunc) error { return refused },
		"panic":  func(context.CancelFunc) error { panic(refused) },
		"Goexit": func(context.CancelFunc) error { runtime.Goexit(); return nil },
		"cancel": func(cancel context.CancelFunc) error { cancel(); return nil },
	} {
		for i := range 6 {
			position := i % 3 // 0 has no savepoint, 2 ends the group
			asks := i >= 3    // it queries its own writes, so they are flushed
			t.Run(fmt.Sprint(name, position, asks), func(t *testing.T) {
				s := openNotes(t, Config{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				updates := []*update{inserts("n0"), inserts("n1"), inserts("n2")}
				offender := &update{ctx: ctx, fn: func(tx storage.Tx) error {
					if err := inserts("bad1", "bad2").fn(tx); err != nil {
						return err
					}
					if asks {
						if _, err := tx.List(notes, storage.Query{Scope: scope, Limit: 9}); err != nil {
							return err
						}
						if err := inserts("bad3").fn(tx); err != nil {
							return err
						}
					}
					return bad(cancel)
				}}
				updates[position] = offender
				runTogether(t, s, updates...)

				switch name {
				case "error":
					expect.True(t, errors.Is(offender.err, refused), "got %v, want the function's error", offender.err)
				case "panic":
					expect.True(t, offender.gone == refused, "panicked with %v, want the function's value", offender.gone)
				case "cancel":
					expect.True(t, errors.Is(offender.err, context.Canceled), "got %v, want Canceled", offender.err)
				}
				var want []string
				for i, m := range updates {
					if m == offender {
						continue
					}
					want = append(want, fmt.Sprint("n", i))
					expect.True(t, m.err == nil, "update %d: %v", i, m.err)
				}
				expect.Equal(t, cmp.Diff(want, ids(t, s), cmpopts.SortSlices(func(a, b string) bool { return a < b })), "", "kept (-want +got)")
				insert(t, s, "later")
			})
		}
	}
}

// uncommittable makes the commit fail, by a deferred foreign key.
func uncommittable(s *Store, ids ...string) *update {
	return &update{fn: func(tx storage.Tx) error {
		if err := inserts(ids...).fn(tx); err != nil {
			return err
		}
		if _, err := tx.Balance("none"); err != nil { // which opens the transaction
			return err
		}
		return s.writer.conn.script(`PRAGMA defer_foreign_keys = ON;
			INSERT INTO ledger_entries VALUES (99, 1, 'pst_none', 1, 1)`)
	}}
}

// If a commit fails, the answers of its batch do not count. The second update found a key
// taken by a record that was never committed, and runs again.
func TestFailedCommitRerunsBatch(t *testing.T) {
	s := openNotes(t, Config{})
	var found []error
	offender := uncommittable(s, "n1")
	second := &update{fn: func(tx storage.Tx) error {
		err := tx.Insert(notes, note("n1"))
		found = append(found, err)
		return err
	}}
	third, reader := inserts("n3"), &update{}
	reader.fn = func(tx storage.Tx) error {
		_, err := tx.Get(notes, scope, "n1")
		return err
	}
	before := s.Stats()
	runTogether(t, s, offender, reader, second, third)
	expect.True(t, offender.err != nil, "the offender succeeded")
	if last := len(found) - 1; second.err != nil || last < 1 || !errors.Is(found[0], storage.ErrExists) || found[last] != nil {
		t.Errorf("second: %v, found %v; want success after ErrExists", second.err, found)
	}
	expect.True(t, third.err == nil, "third: %v", third.err)
	// The reader runs again at some point before or after the second.
	expect.True(t, reader.err == nil || errors.Is(reader.err, storage.ErrNotFound), "reader: %v", reader.err)
	if n := statsSince(s, before); n.Updates != 2 || n.Reruns == 0 {
		t.Errorf("%d updates after %d reruns, want 2 after some", n.Updates, n.Reruns)
	}
	expect.Same(t, ids(t, s), []string{"n3", "n1"}, "kept")
}

func TestFailedCommitOfSingleUpdate(t *testing.T) {
	s := openNotes(t, Config{})
	err := s.Update(t.Context(), uncommittable(s, "n1").fn)
	expect.True(t, err != nil, "the commit succeeded")
	if got := ids(t, s); len(got) != 0 || s.Stats().Reruns > 3 {
		t.Errorf("kept %v after %d reruns", got, s.Stats().Reruns)
	}
	insert(t, s, "n2")
}

// A record that passes all checks and cannot be written fails its own update alone, whether
// the batch's commit writes it or another update's flush.
func TestUnwritableRecordFailsOnlyItsUpdate(t *testing.T) {
	asks := func(tx storage.Tx) error {
		_, err := tx.List(notes, storage.Query{Scope: scope, Limit: 9})
		return err
	}
	for name, second := range map[string]func(storage.Tx) error{"the batch": inserts("n2").fn, "an update": asks} {
		t.Run(name, func(t *testing.T) {
			s := openNotes(t, Config{})
			must.Do(t, s.writer.conn.script(`CREATE TRIGGER broken BEFORE INSERT ON notes
				WHEN new.id = 'bad' BEGIN SELECT RAISE(ABORT, 'broken'); END`))
			updates := []*update{inserts("n1"), inserts("n0", "bad"), {fn: second}, inserts("n3")}
			runTogether(t, s, updates...)
			for i, m := range updates {
				if broken := m.err != nil && strings.Contains(m.err.Error(), "broken"); broken != (i == 1) || m.err != nil && i != 1 {
					t.Errorf("update %d: %v", i, m.err)
				}
			}
			want := []string{"n3", "n1"}
			if name == "the batch" {
				want = []string{"n3", "n2", "n1"}
			}
			expect.Same(t, ids(t, s), want, "kept")
		})
	}
}

// A large transaction writes to the database before it ends, and still commits or rolls back
// as a whole.
func TestLargeTransactionIsAtomic(t *testing.T) {
	for _, outcome := range []error{nil, errors.New("refused")} {
		s := openNotes(t, Config{})
		const n = 200 // of 64 KiB, three times what is kept in memory
		large := &update{fn: func(tx storage.Tx) error {
			for i := range n {
				r := note(fmt.Sprintf("n%05d", i))
				r.Data = make([]byte, 64<<10)
				if err := tx.Insert(notes, r); err != nil {
					return err
				}
			}
			var written int
			if _, err := s.writer.conn.queryRow("SELECT count(*) FROM notes", nil, &written); err != nil || written < n/2 {
				return fmt.Errorf("%d of %d records are written: %w", written, n, err)
			}
			return outcome
		}}
		first, last := inserts("first"), inserts("last")
		runTogether(t, s, first, large, last)
		must.Do(t, first.err)
		expect.True(t, errors.Is(large.err, outcome), "got %v, %v, %v", first.err, large.err, last.err)
		must.Do(t, last.err)
		want := 2
		if outcome == nil {
			want += n
		}
		expect.Equal(t, len(ids(t, s)), want, "records, want %d", want)
	}
}

// A full disk makes SQLite drop the whole transaction in the middle of a
// statement.
func TestFullDiskLosesNoOtherUpdate(t *testing.T) {
	for position := range 3 {
		t.Run(fmt.Sprint(position), func(t *testing.T) {
			s := openNotes(t, Config{})
			must.Do(t, s.writer.conn.script(`CREATE TABLE room AS SELECT zeroblob(100000) AS b; DROP TABLE room`))
			pages := must.Get(pragma(s.writer.conn, "page_count"))(t)
			must.Do(t, s.writer.conn.script(fmt.Sprint("PRAGMA max_page_count = ", pages)))
			large := note("large")
			large.Data = make([]byte, 1_000_000)
			offender := &update{fn: func(tx storage.Tx) error {
				if err := tx.Insert(notes, note("small")); err != nil {
					return err
				}
				return tx.Insert(notes, large)
			}}
			updates := []*update{inserts("n0"), inserts("n1"), inserts("n2")}
			updates[position] = offender
			runTogether(t, s, updates...)
			var want []string
			for i, m := range updates {
				if m == offender {
					expect.True(t, m.err != nil, "the offender succeeded")
					continue
				}
				want = append(want, fmt.Sprint("n", i))
				expect.True(t, m.err == nil, "update %d: %v", i, m.err)
			}
			expect.Equal(t, cmp.Diff(want, ids(t, s), cmpopts.SortSlices(func(a, b string) bool { return a < b })), "", "kept (-want +got)")
			expect.ErrorIs(t, s.Update(t.Context(), offender.fn), storage.ErrUnavailable, "Update says")
		})
	}
}

// The writer closes a failed connection and opens another one.
func TestLostConnectionIsReplaced(t *testing.T) {
	s := openNotes(t, Config{})
	first := inserts("n1")
	offender := &update{fn: func(x storage.Tx) error {
		if err := x.Insert(notes, note("bad")); err != nil {
			return err
		}
		if _, err := x.Balance("none"); err != nil { // which opens the transaction
			return err
		}
		if err := s.writer.conn.close(); err != nil {
			return err
		}
		_, err := x.List(notes, storage.Query{Scope: scope, Limit: 1})
		return err
	}}
	last := inserts("n2")
	runTogether(t, s, first, offender, last)
	if first.err != nil || last.err != nil || offender.err == nil {
		t.Errorf("got %v, %v, %v (%v); want only the second to fail", first.err, offender.err, last.err, offender.gone)
	}
	expect.Same(t, ids(t, s), []string{"n2", "n1"}, "kept")
}

// The write turn must not be lost when a waiting caller gives up at the moment in which it
// gets the turn.
func TestCancelWhileTurnIsPassed(t *testing.T) {
	s := openNotes(t, Config{MaxBatchSize: 3})
	var wg sync.WaitGroup
	kept := make([][]string, 8)
	for worker := range kept {
		wg.Go(func() {
			for i := range 60 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%2 == 0 {
					go cancel()
				}
				id := fmt.Sprintf("n%d.%02d", worker, i)
				switch err := s.Update(ctx, inserts(id).fn); {
				case err == nil:
					kept[worker] = append(kept[worker], id)
				case !errors.Is(err, context.Canceled):
					t.Error(err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	var want []string
	for _, ids := range kept {
		want = append(want, ids...)
	}
	expect.Equal(t, cmp.Diff(want, ids(t, s), cmpopts.SortSlices(func(a, b string) bool { return a < b })), "", "kept (-want +got)")
}

// Several processes may make the same file, and its tables, at once.
func TestStoresCreateOneFile(t *testing.T) {
	for range effort.Of(10, 50) {
		createOneFile(t)
	}
}

func createOneFile(t *testing.T) {
	const stores = 8
	path := filepath.Join(effort.TempDir(t), "test.db")
	var wg sync.WaitGroup
	for i := range stores {
		wg.Go(func() {
			s, err := Open(t.Context(), path, Config{})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			expect.NoError(t, s.Define(t.Context(), notes), "Define")
			expect.NoError(t, s.Update(t.Context(), inserts(fmt.Sprint("n", i)).fn), "Update")
		})
	}
	wg.Wait()
	s := openAt(t, path, Config{})
	must.Do(t, s.Define(t.Context(), notes))
	if got := ids(t, s); len(got) != stores {
		t.Errorf("there is %v", got)
	}
}

func TestPanicInViewReleasesConnection(t *testing.T) {
	s := openNotes(t, Config{Readers: 1})
	func() {
		defer func() {
			expect.True(t, recover() != nil, "the panic was swallowed")
		}()
		_ = s.View(t.Context(), func(storage.ReadTx) error { panic("in fn") })
	}()
	if got := ids(t, s); got != nil {
		t.Errorf("got %v", got)
	}
}
