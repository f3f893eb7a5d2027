package work_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// backlog adds n tasks of a merchant that are due before all tasks added later.
func (w *works) backlog(t *testing.T, scope storage.Scope, n int, at time.Time) {
	t.Helper()
	must.Do(t, w.store.Update(t.Context(), func(tx storage.Tx) error {
		for i := range n {
			if _, err := tasks.Insert(tx, scope, fmt.Sprintf("%s %t %04d", scope.Merchant, scope.Live, i), task{Due: at.Add(time.Duration(i) * time.Millisecond)}); err != nil {
				return err
			}
		}
		return nil
	}))
}

// place returns the number of runs before a merchant's first.
func (w *works) place(merchant string) int {
	return slices.IndexFunc(w.ran, func(id string) bool { return strings.HasPrefix(id, merchant+" ") })
}

// A live batch runs before the older batches of a test key.
func TestLiveModeDoesNotWaitForTestMode(t *testing.T) {
	w := newWorks(t)
	w.Serial = true
	w.backlog(t, storage.Scope{Merchant: "mer_1"}, 500, time.Now().Add(-time.Hour))
	w.backlog(t, storage.Scope{Merchant: "mer_2", Live: true}, 1, time.Now().Add(-time.Minute))
	w.drain(t)
	before := w.place("mer_2")
	expect.True(t, before >= 0 && before <= 3, "%d of test mode went before", before)
	expect.Equal(t, len(w.ran), 501, "%d ran", len(w.ran))
}

// Hanging work of test mode takes no slot of live mode.
func TestTestModeTakesNoSlotOfLiveMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		hang := make(chan struct{})
		w.do = func(_ context.Context, o *storage.Object[task]) error {
			if !o.Scope.Live {
				<-hang
			}
			return nil
		}
		for i := range 20 {
			w.backlog(t, storage.Scope{Merchant: fmt.Sprintf("mer_%02d", i)}, 5, time.Now().Add(-time.Hour))
		}
		w.Start(t.Context())
		synctest.Wait()
		live := storage.Scope{Merchant: "mer_00", Live: true}
		w.backlog(t, live, 10, time.Now().Add(-time.Second))
		w.Wake(tasks.Kind(), live, time.Time{})
		synctest.Wait()
		expect.Equal(t, len(w.ran)-6, 10, "of live mode ran")
		close(hang)
		expect.NoError(t, w.Stop(t.Context()), "Stop")
	})
}

// A merchant with one task waits for a batch of the merchant with a backlog and for one turn of
// each other merchant. It does not wait for the backlog.
func TestMerchantsTakeTurns(t *testing.T) {
	w := newWorks(t)
	w.Serial = true
	w.backlog(t, storage.Scope{Merchant: "mer_5"}, 600, time.Now().Add(-time.Hour))
	for _, m := range []string{"", "mer_1", "mer_8", "mer_9"} {
		w.backlog(t, storage.Scope{Merchant: m}, 1, time.Now().Add(-time.Minute))
	}
	w.drain(t)
	for _, m := range []string{"", "mer_1", "mer_8", "mer_9"} {
		before := w.place(m)
		expect.True(t, before >= 0 && before <= 2*3+5, "%d went before that of %q", before, m)
	}
	expect.Equal(t, len(w.ran), 604, "%d ran", len(w.ran))
}

// Two merchants with backlogs get half of the turns each.
func TestTurnsHaveEqualShares(t *testing.T) {
	w := newWorks(t)
	w.Serial = true
	for i, m := range []string{"mer_1", "mer_2", "mer_3"} {
		w.backlog(t, storage.Scope{Merchant: m}, 100, time.Now().Add(time.Duration(i-10)*time.Hour))
	}
	w.drain(t)
	had := map[string]int{}
	for i, id := range w.ran {
		m, _, _ := strings.Cut(id, " ")
		had[m]++
		if had["mer_1"] == 100 {
			break
		}
		ahead := had[m] - min(had["mer_1"], had["mer_2"], had["mer_3"])
		must.True(t, ahead <= 4, "after %d, %s is %d ahead: %v", i+1, m, ahead, had)
	}
	expect.Equal(t, len(w.ran), 300, "%d ran", len(w.ran))
}

// A scan reads some hundreds of merchants. It reaches the merchants behind them after a few
// scans.
func TestScanReachesEveryMerchant(t *testing.T) {
	w := newWorks(t)
	w.Serial = true
	w.backlog(t, storage.Scope{Merchant: "mer_0000"}, 300, time.Now().Add(-time.Hour))
	for i := range 700 {
		w.add(t, storage.Scope{Merchant: fmt.Sprintf("mer_%04d", i+1)}, "later", time.Now().Add(time.Hour))
	}
	w.backlog(t, storage.Scope{Merchant: "mer_9999"}, 1, time.Now().Add(-time.Minute))
	w.drain(t)
	before := w.place("mer_9999")
	expect.True(t, before >= 0 && before <= 5*3, "%d went before", before)
	expect.Equal(t, len(w.ran), 301, "%d ran", len(w.ran))
}

// Merchants with hanging work leave slots to others.
func TestHungMerchantLeavesSlotsToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		hang := make(chan struct{})
		w.do = func(_ context.Context, o *storage.Object[task]) error {
			if o.Scope.Merchant != "quick" {
				<-hang
			}
			return nil
		}
		w.Start(t.Context())
		for _, m := range []string{"slow_1", "slow_2"} {
			w.backlog(t, storage.Scope{Merchant: m}, 50, time.Now().Add(-time.Hour))
			w.Wake(tasks.Kind(), storage.Scope{Merchant: m}, time.Time{})
			synctest.Wait()
		}
		n := len(w.ran)
		expect.True(t, n >= 4 && n <= 5, "%d hang", n)
		hanging := len(w.ran)
		quick := storage.Scope{Merchant: "quick"}
		w.backlog(t, quick, 10, time.Now().Add(-time.Second))
		w.Wake(tasks.Kind(), quick, time.Time{})
		synctest.Wait()
		expect.Equal(t, len(w.ran)-hanging, 10, "ran beside what hangs")
		close(hang)
		synctest.Wait()
		expect.Equal(t, len(w.ran), 110, "ran in the end")
		expect.NoError(t, w.Stop(t.Context()), "Stop")
	})
}

// Merchants with test clocks that run ahead take turns, too.
func TestMerchantsWithTestClocksTakeTurns(t *testing.T) {
	w := newWorks(t)
	w.Serial = true
	now := time.Now()
	tomorrow := now.Add(24 * time.Hour)
	var clocks []storage.Clock
	for _, m := range []string{"mer_1", "mer_2", "mer_3"} {
		scope := storage.Scope{Merchant: m}
		clocks = append(clocks, storage.Clock{Scope: scope, Now: tomorrow.Add(time.Hour)})
		w.backlog(t, scope, 50, tomorrow)
	}
	w.Clocks = func(context.Context) ([]storage.Clock, error) { return clocks, nil }
	w.drain(t)
	for _, m := range []string{"mer_1", "mer_2", "mer_3"} {
		before := w.place(m)
		expect.True(t, before >= 0 && before <= 2*3, "%d went before %s", before, m)
	}
	expect.Equal(t, len(w.ran), 150, "%d ran", len(w.ran))
}

// counting counts the transactions of a store.
type counting struct {
	storage.Store
	views, updates atomic.Int64
}

func (c *counting) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	c.views.Add(1)
	return c.Store.View(ctx, fn)
}

func (c *counting) Update(ctx context.Context, fn func(storage.Tx) error) error {
	c.updates.Add(1)
	return c.Store.Update(ctx, fn)
}

// If only one merchant has work, the worker claims nothing twice, fills each batch, and scans for
// others once in a batch.
func TestSingleMerchantIsNotScanned(t *testing.T) {
	w := newWorks(t)
	store := &counting{Store: w.store}
	w.Runner.Store, w.Serial = store, true
	const n, batch = 300, 3
	w.backlog(t, storage.Scope{Merchant: "mer_1"}, n, time.Now().Add(-time.Hour))
	w.drain(t)
	must.True(t, len(w.ran) == n, "%d ran", len(w.ran))
	// Each round has one claim of live mode and one of test mode. The last round finds nothing.
	expect.Equal(t, store.updates.Load(), 2*(n/batch+1), "claims")
	got := store.views.Load()
	expect.True(t, got <= n/batch, "%d looks", got)
}

// A job that works in the claiming transaction takes turns as well.
func TestWorkInTxTakesTurns(t *testing.T) {
	w := newWorks(t)
	r := &work.Runner{Store: w.store, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Poll: time.Second}
	r.Add(work.Job{
		Kind: tasks.Kind(), Timeout: time.Minute, Batch: 10,
		BeginInTx: func(ctx context.Context, c storage.Claim) (work.Claimed, error) {
			c.Limit = min(c.Limit, 4) // a job may take less
			var done []storage.Record
			err := w.store.Update(ctx, func(tx storage.Tx) error {
				var err error
				if done, err = tx.Claim(tasks.Kind(), c); err != nil {
					return err
				}
				for _, record := range done {
					if err := tx.Delete(tasks.Kind(), record.Scope, record.ID, record.Version); err != nil {
						return err
					}
				}
				return nil
			})
			for _, record := range done {
				w.ran = append(w.ran, record.ID)
			}
			return work.Claimed{Done: done, More: len(done) == c.Limit}, err
		},
		RunOne: func(context.Context, storage.Record) error { return nil },
	})
	w.backlog(t, storage.Scope{Merchant: "mer_5"}, 300, time.Now().Add(-time.Hour))
	for _, m := range []string{"mer_1", "mer_8", "mer_9"} {
		w.backlog(t, storage.Scope{Merchant: m}, 1, time.Now().Add(-time.Minute))
	}
	must.Do(t, r.Drain(t.Context()))
	for _, m := range []string{"mer_1", "mer_8", "mer_9"} {
		before := w.place(m)
		expect.True(t, before >= 0 && before <= 24, "%d went before that of %s", before, m)
	}
	expect.Equal(t, len(w.ran), 303, "%d ran", len(w.ran))
}
