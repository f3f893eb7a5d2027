package work_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// counted is a store that counts leases and can be cut off.
type counted struct {
	storage.Store
	renewals atomic.Int64
	down     atomic.Bool
}

type countedTx struct {
	storage.Tx
	by *counted
}

func (c *counted) Update(ctx context.Context, fn func(storage.Tx) error) error {
	if c.down.Load() {
		return storage.ErrUnavailable
	}
	return c.Store.Update(ctx, func(tx storage.Tx) error { return fn(&countedTx{tx, c}) })
}

func (tx *countedTx) Lease(k *storage.Kind, s storage.Scope, id string, version int64, until time.Time) error {
	tx.by.renewals.Add(1)
	return tx.Tx.Lease(k, s, id, version, until)
}

// A process keeps long work as long as it lives. When it dies, another takes over within the
// lease. Others cannot distinguish a dead process from one without its store.
func TestWorkOfDeadProcessIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		mine := &counted{Store: w.store}
		w.Runner.Store = mine
		hang := make(chan struct{})
		first := true
		w.do = func(context.Context, *storage.Object[task]) error {
			if first {
				first = false
				<-hang
				return errors.New("dead")
			}
			return nil
		}
		w.add(t, storage.Scope{}, "a", time.Now())
		w.Start(t.Context())
		synctest.Wait()
		other := w.runner()
		other.Start(t.Context())
		time.Sleep(50 * time.Second)
		synctest.Wait()
		expect.Equal(t, w.count(), 1, "begun while the first lived")
		if n := mine.renewals.Load(); n != 9 && n != 10 {
			t.Errorf("renewed %d times in 50 seconds", n)
		}
		mine.down.Store(true)
		time.Sleep(work.LeaseDuration + 2*time.Second) // and a poll
		synctest.Wait()
		expect.Equal(t, w.count(), 2, "begun %s after a death", work.LeaseDuration)
		close(hang)
		for _, r := range []*work.Runner{w.Runner, other} {
			expect.NoError(t, r.Stop(t.Context()), "Stop")
		}
	})
}

// Short work renews no lease.
func TestShortWorkRenewsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		mine := &counted{Store: w.store}
		w.Runner.Store = mine
		w.do = func(context.Context, *storage.Object[task]) error {
			time.Sleep(4 * time.Second)
			return nil
		}
		w.add(t, storage.Scope{}, "a", time.Now())
		w.drain(t)
		time.Sleep(time.Minute)
		n := mine.renewals.Load()
		expect.Equal(t, n, 0, "renewed")
		expect.Equal(t, w.count(), 1, "count")
	})
}

// A renewer continues while the database is unavailable, and ends when the record was written.
func TestLeaseRenewerSurvivesDatabaseOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		mine := &counted{Store: w.store}
		w.add(t, storage.Scope{}, "a", time.Now())
		record := storage.Record{ID: "a", Version: 1}
		ended := work.NewLeaseRenewer(mine, time.Now, tasks.Kind(), record)
		ended.Stop()
		ended.Start()
		renewer := work.NewLeaseRenewer(mine, time.Now, tasks.Kind(), record)
		renewer.Start()
		mine.down.Store(true)
		time.Sleep(6 * time.Second)
		mine.down.Store(false)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		expect.Equal(t, mine.renewals.Load(), 1, "renewals, of which one while it could")
		// Another writer, such as a callback, changes the record. Then the renewer has nothing
		// left.
		must.Do(t, w.store.Update(t.Context(), func(tx storage.Tx) error {
			o, err := tasks.Get(tx, storage.Scope{}, "a")
			if err != nil {
				return err
			}
			return tasks.Replace(tx, o)
		}))
		time.Sleep(time.Minute)
		synctest.Wait()
		expect.Equal(t, mine.renewals.Load(), 2, "renewals, of which one after the record was written")
		renewer.Stop()
		w.drain(t)
		expect.Equal(t, w.count(), 1, "it is held")
	})
}
