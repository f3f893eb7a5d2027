package sqlstore

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

func tallySize(tx storage.Tx, id string) (int64, error) {
	r, err := tx.Get(tallies, tallyScope, id)
	if err != nil {
		return 0, err
	}
	return r.Columns[0].(int64), nil
}

func setTally(tx storage.Tx, id string, size int64) error {
	r, err := tx.Get(tallies, tallyScope, id)
	if err != nil {
		return err
	}
	r.Columns[0] = size
	return tx.Replace(tallies, r)
}

// A batch runs on top of one whose commit is running. When that commit fails, its batch runs
// again, and commits other values. A call that comes then must not join the batch on top: it would
// read one tally as the failed commit had it, and the other as it is.
func TestNoCallJoinsBatchOnFailedCommit(t *testing.T) {
	s, driver := newFakeStore("left", "right")
	both := func(tx storage.Tx) (left, right int64, err error) {
		if left, err = tallySize(tx, "left"); err == nil {
			right, err = tallySize(tx, "right")
		}
		return left, right, err
	}
	look := func(tx storage.Tx) error {
		left, right, err := both(tx)
		if left != right {
			t.Errorf("a function reads %d and %d, which were never there together", left, right)
		}
		return err
	}
	must.Do(t, s.Update(t.Context(), look)) // from now on, both are in the cache

	committing, fail := make(chan struct{}), make(chan struct{})
	driver.beforeCommit = func(n int) error {
		if n > 1 {
			return nil
		}
		close(committing)
		<-fail
		return errInterfered
	}
	var all sync.WaitGroup
	update := func(fn func(storage.Tx) error) {
		all.Go(func() {
			if err := s.Update(t.Context(), fn); err != nil {
				t.Error(err)
			}
		})
	}
	runs := int64(0)
	update(func(tx storage.Tx) error {
		runs++
		if runs == 2 {
			update(look)
			for s.QueueLength() == 0 {
				runtime.Gosched()
			}
		}
		if err := setTally(tx, "left", runs); err != nil {
			return err
		}
		return setTally(tx, "right", runs)
	})
	<-committing
	ran := make(chan struct{})
	once := sync.OnceFunc(func() { close(ran) })
	update(func(tx storage.Tx) error {
		defer once()
		left, _, err := both(tx)
		if err != nil {
			return err
		}
		return setTally(tx, "left", left)
	})
	<-ran
	close(fail)
	all.Wait()
	s.Wait()
	if runs != 2 {
		t.Errorf("the first update ran %d times, want 2", runs)
	}
	must.Do(t, s.Update(t.Context(), look))
}

// A batch that wrote nothing is no commit. The next batch is based on the commit before it, and
// need not run again.
func TestBatchWithoutWritesIsNoCommit(t *testing.T) {
	s, driver := newFakeStore("n")
	const rounds = 3
	for n := range int64(rounds) {
		for range 2 { // the second time from the cache
			must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
				if size, err := tallySize(tx, "n"); err != nil || size != n {
					t.Errorf("read %d, %v; want %d", size, err, n)
				}
				return nil
			}))
		}
		must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error { return setTally(tx, "n", n+1) }))
	}
	s.Wait()
	if got := s.Stats(); got.Reruns != 0 || got.Commits != rounds || driver.newest.Number != 1+rounds {
		t.Errorf("%d reruns, %d commits, newest commit %d; want 0, %d and %d", got.Reruns, got.Commits, driver.newest.Number, rounds, 1+rounds)
	}
}

// A hook of the host may panic while a batch takes the lock. The update fails, and the next one
// must not wait for ever.
func TestPanicBesideTheLockKeepsTheTurn(t *testing.T) {
	s, driver := newFakeStore("n")
	panics := 1
	driver.beforeLock = func() {
		if panics--; panics >= 0 {
			panic("in a hook")
		}
	}
	outcome := make(chan error, 2)
	update := func() {
		defer func() {
			if p := recover(); p != nil {
				outcome <- errors.New("panic")
			}
		}()
		outcome <- s.Update(t.Context(), func(tx storage.Tx) error { return setTally(tx, "n", 1) })
	}
	go update()
	if err := <-outcome; err == nil || !strings.Contains(err.Error(), "in a hook") {
		t.Errorf("got %v", err)
	}
	go update()
	select {
	case err := <-outcome:
		must.Do(t, err)
	case <-time.After(5 * time.Second):
		t.Fatal("the next update waits for ever")
	}
	s.Wait()
}
