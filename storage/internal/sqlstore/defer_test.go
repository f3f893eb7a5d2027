package sqlstore

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

// Calls that wait for each other read nothing one by one: the next lock fetches the values of all.
func TestColdReadsShareTheRoundTripOfTheLock(t *testing.T) {
	const callers = 8
	var ids []string
	for i := range callers {
		ids = append(ids, fmt.Sprint("n", i))
	}
	s, driver := newFakeStore(ids...)
	started, queued := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		must.Do(t, s.Update(t.Context(), func(storage.Tx) error {
			close(started)
			<-queued
			return nil
		}))
	})
	<-started
	var runs atomic.Int64
	for _, id := range ids {
		all.Go(func() {
			err := s.Update(t.Context(), func(tx storage.Tx) error {
				runs.Add(1)
				return setTally(tx, id, 1)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for s.QueueLength() < callers {
		runtime.Gosched()
	}
	close(queued)
	all.Wait()
	s.Wait()
	if n := driver.queries.Load(); n > 0 {
		t.Errorf("%d reads of their own", n)
	}
	if n := driver.locks.Load(); n > 3 {
		t.Errorf("the lock was taken %d times", n)
	}
	for _, id := range ids {
		if size := driver.rows[id].Columns[0]; size != any(int64(1)) {
			t.Errorf("%s is %v", id, size)
		}
	}
}

// A function that swallows the error of a deferred read commits nothing, and runs again with the
// value.
func TestSwallowedDeferralRunsAgain(t *testing.T) {
	s, driver := newFakeStore("flag", "other")
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error { _, err := tallySize(tx, "other"); return err }))
	started, queued := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
			close(started)
			<-queued
			return setTally(tx, "other", 1)
		}))
	})
	<-started
	runs, deferred := 0, 0
	all.Go(func() {
		must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
			runs++
			size, err := tallySize(tx, "flag")
			if errors.Is(err, errDeferred) {
				deferred++
				size = 100
			}
			_ = setTally(tx, "other", size+5) // fails after the deferral
			return nil
		}))
	})
	for s.QueueLength() < 1 {
		runtime.Gosched()
	}
	close(queued)
	all.Wait()
	s.Wait()
	if runs != 2 || deferred != 1 {
		t.Errorf("%d runs, %d of them deferred", runs, deferred)
	}
	if size := driver.rows["other"].Columns[0]; size != any(int64(5)) {
		t.Errorf("wrote %v", size)
	}
}

// A value that another process changes again and again is fetched with the lock.
func TestContendedValueIsFetchedWithTheLock(t *testing.T) {
	s, driver := newFakeStore("n")
	other := New(driver, s.Dialect, 10)
	other.Register([]*storage.Kind{tallies})
	count := func(s *Store) {
		must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
			size, err := tallySize(tx, "n")
			if err != nil {
				return err
			}
			return setTally(tx, "n", size+1)
		}))
		s.Wait()
	}
	const rounds = 10
	for n := range rounds {
		if n == 3 {
			driver.queries.Store(0)
		}
		count(s)
		count(other)
	}
	if n := driver.queries.Load(); n > 0 {
		t.Errorf("%d reads besides those of the lock", n)
	}
	if size := driver.rows["n"].Columns[0]; size != any(int64(2*rounds)) {
		t.Errorf("counted to %v, want %d", size, 2*rounds)
	}
	if n := len(s.writer.cache.contention.contended); n != 1 {
		t.Errorf("%d values are fetched with every lock, want 1", n)
	}
	// Once no function reads the value, the store stops to fetch it.
	for range contendedRounds + 2 {
		s.writer.newFetch()
	}
	if n := len(s.writer.cache.contention.contended); n > 0 {
		t.Errorf("%d values are still fetched", n)
	}
}

// The kind may be defined anew while a value is wanted. Its table then has other columns.
func TestFetchLeavesOutReplacedTables(t *testing.T) {
	s, _ := newFakeStore()
	table := must.Get(s.Table(tallies))(t)
	key := recordRef(RecordKey{tallies.Name, tallyScope, "n"})
	s.writer.want(key, table)
	if f := s.writer.newFetch(); len(f.Records[table]) != 1 {
		t.Errorf("fetches %v", f.Records)
	}
	s.Register([]*storage.Kind{{Name: tallies.Name, Columns: append(tallies.Columns, storage.Column{Name: "more", Type: storage.Int})}})
	if f := s.writer.newFetch(); len(f.Records) != 0 {
		t.Errorf("fetches %v", f.Records)
	}
}
