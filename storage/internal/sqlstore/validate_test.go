package sqlstore

import (
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

// copyTally writes the size of one tally to another.
func copyTally(tx storage.Tx, from, to string) error {
	size, err := tallySize(tx, from)
	if err != nil {
		return err
	}
	return setTally(tx, to, size)
}

// setIn writes the size of a tally in an Update of its own.
func setIn(t *testing.T, s *Store, id string, size int64) {
	t.Helper()
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error { return setTally(tx, id, size) }))
	s.Wait()
}

// twoFakeStores returns two stores over a database of tallies. The first has all of them in its cache.
func twoFakeStores(t *testing.T, ids ...string) (s, other *Store, driver *fakeDriver) {
	t.Helper()
	s, driver = newFakeStore(ids...)
	for _, id := range ids {
		setIn(t, s, id, 1)
	}
	other = New(driver, s.Dialect, 10)
	other.Register([]*storage.Kind{tallies})
	return s, other, driver
}

// A commit that has read nothing of what another store has committed needs no second run.
func TestCommitBesideAnother(t *testing.T) {
	s, other, driver := twoFakeStores(t, "a", "b")
	setIn(t, other, "b", 2)
	locks := driver.locks.Load()
	setIn(t, s, "a", 3)
	expect.Equal(t, driver.locks.Load(), locks, "locks taken before a function")
	expect.Equal(t, s.Stats().Reruns, 0, "reruns")
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error { return copyTally(tx, "b", "a") }))
	expect.Equal(t, driver.rows["a"].Columns[0], any(int64(2)), "a copy of what the other has written")
}

// A batch runs while the one before it commits. It runs again if another store has changed what it read, before
// that commit.
func TestBatchBesideCommitSeesChangesBeforeIt(t *testing.T) {
	s, other, driver := twoFakeStores(t, "first", "read", "copy")
	commits := driver.attempts
	committing, proceed, ran := make(chan struct{}), make(chan struct{}), make(chan struct{})
	driver.beforeCommit = func(n int) error {
		if n == commits+1 {
			close(committing)
			<-proceed
		}
		return nil
	}
	var all sync.WaitGroup
	all.Go(func() { setIn(t, s, "first", 2) })
	<-committing
	runs := 0
	once := sync.OnceFunc(func() { close(ran) })
	all.Go(func() {
		must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
			defer once()
			runs++
			return copyTally(tx, "read", "copy")
		}))
	})
	<-ran
	setIn(t, other, "read", 7)
	close(proceed)
	all.Wait()
	s.Wait()
	expect.Equal(t, driver.rows["copy"].Columns[0], any(int64(7)), "the copy")
	expect.Equal(t, runs, 2, "runs")
}

// A function that must query the database takes the lock. It runs again if another store has changed what it read
// before.
func TestLockAfterReadsSeesChanges(t *testing.T) {
	s, other, driver := twoFakeStores(t, "read", "copy")
	driver.rows["cold"] = driver.rows["read"]
	cold := driver.rows["cold"]
	cold.ID = "cold"
	driver.rows["cold"] = cold
	runs := 0
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
		runs++
		size, err := tallySize(tx, "read")
		if err != nil {
			return err
		}
		if runs == 1 {
			setIn(t, other, "read", 7)
		}
		if _, err := tallySize(tx, "cold"); err != nil {
			return err
		}
		return setTally(tx, "copy", size)
	}))
	expect.Equal(t, driver.rows["copy"].Columns[0], any(int64(7)), "the copy")
	expect.Equal(t, runs, 2, "runs")
}

// A function that must query the database waits for the commit before its batch. If what it has read turns out to be
// stale, it fails at once, and does not take the lock for a run that is in vain.
func TestStaleBatchTakesNoLock(t *testing.T) {
	s, other, driver := twoFakeStores(t, "first", "read", "copy")
	cold := driver.rows["read"]
	cold.ID = "cold"
	driver.rows["cold"] = cold
	commits := driver.attempts
	committing, proceed, ran, changed := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	driver.beforeCommit = func(n int) error {
		if n == commits+1 {
			close(committing)
			<-proceed
		}
		return nil
	}
	var all sync.WaitGroup
	all.Go(func() { setIn(t, s, "first", 2) })
	<-committing
	runs := 0
	all.Go(func() {
		must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
			runs++
			if err := copyTally(tx, "read", "copy"); err != nil {
				return err
			}
			if runs == 1 {
				close(ran)
				<-changed
			}
			_, err := tallySize(tx, "cold")
			return err
		}))
	})
	<-ran
	setIn(t, other, "read", 7)
	locks := driver.locks.Load()
	close(changed)
	close(proceed)
	all.Wait()
	s.Wait()
	expect.Equal(t, driver.rows["copy"].Columns[0], any(int64(7)), "the copy")
	expect.Equal(t, runs, 2, "runs")
	expect.Equal(t, driver.locks.Load()-locks, 1, "locks taken")
}
