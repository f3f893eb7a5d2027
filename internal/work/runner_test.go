package work_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type task struct {
	Due time.Time `json:"due"`
}

var tasks = storage.NewCollection("tasks", []storage.Field[task]{{
	Column: storage.Column{Name: "due", Type: storage.Time, Null: true},
	Value: func(t *task) any {
		if t.Due.IsZero() {
			return nil
		}
		return t.Due
	},
}}, storage.DueBy("due"))

// works is a runner over a store, with a job that records its runs and behaves as the test tells
// it.
type works struct {
	*work.Runner
	store *memory.Store
	mu    sync.Mutex
	ran   []string
	do    func(ctx context.Context, o *storage.Object[task]) error
}

func newWorks(t *testing.T) *works {
	t.Helper()
	w := &works{store: memory.New()}
	must.Do(t, w.store.Define(t.Context(), tasks.Kind()))
	w.Runner = w.runner()
	return w
}

// startBusyWorks returns started works whose job has begun its only run. The run ends when the
// test closes proceed.
func startBusyWorks(t *testing.T) (w *works, proceed chan struct{}) {
	t.Helper()
	w = newWorks(t)
	began, proceed := make(chan struct{}), make(chan struct{})
	w.do = func(context.Context, *storage.Object[task]) error {
		close(began)
		<-proceed
		return nil
	}
	w.add(t, storage.Scope{}, "a", time.Now())
	w.Start(t.Context())
	<-began
	return w, proceed
}

func (w *works) runner() *work.Runner {
	r := &work.Runner{Store: w.store, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Poll: time.Second}
	r.Add(work.Job{Kind: tasks.Kind(), Timeout: time.Minute, Batch: 3, RunOne: func(ctx context.Context, record storage.Record) error {
		o, err := tasks.Decode(record)
		if err != nil {
			return err
		}
		w.mu.Lock()
		w.ran = append(w.ran, o.ID)
		w.mu.Unlock()
		if w.do != nil {
			if err := w.do(ctx, o); err != nil {
				return err
			}
		}
		o.Value.Due = time.Time{}
		return w.store.Update(ctx, func(tx storage.Tx) error { return tasks.Replace(tx, o) })
	}})
	return r
}

func (w *works) add(t *testing.T, scope storage.Scope, id string, at time.Time) {
	t.Helper()
	must.Do(t, w.store.Update(t.Context(), func(tx storage.Tx) error {
		_, err := tasks.Insert(tx, scope, id, task{Due: at})
		return err
	}))
}

func (w *works) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ran)
}

// wantRan compares how many records have run, once no goroutine has anything left to do.
func (w *works) wantRan(t *testing.T, want int, when string) {
	t.Helper()
	synctest.Wait()
	expect.Equal(t, w.count(), want, "%s", when)
}

func (w *works) drain(t *testing.T) {
	t.Helper()
	must.Do(t, w.Drain(t.Context()))
}

func TestDrainDoesAllThatIsDue(t *testing.T) {
	w := newWorks(t)
	now := time.Now()
	for i := range 10 {
		w.add(t, storage.Scope{}, fmt.Sprint("t", i), now.Add(-time.Duration(i)*time.Second))
	}
	w.add(t, storage.Scope{}, "later", now.Add(time.Hour))
	w.drain(t)
	expect.Equal(t, w.count(), 10, "ran: %v", w.ran)
	w.drain(t)
	expect.Equal(t, w.count(), 10, "ran after another drain")
}

// A record whose work fails or panics comes back when its lease has ended, not before.
func TestFailedWorkComesBackAfterItsLease(t *testing.T) {
	for name, fail := range map[string]func() error{
		"an error": func() error { return errors.New("planned") },
		"a panic":  func() error { panic("planned") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorks(t)
				var failing atomic.Bool
				failing.Store(true)
				w.do = func(context.Context, *storage.Object[task]) error {
					if failing.Load() {
						return fail()
					}
					return nil
				}
				w.add(t, storage.Scope{}, "a", time.Now())
				w.drain(t)
				w.drain(t)
				expect.Equal(t, w.count(), 1, "runs within the lease")
				failing.Store(false)
				time.Sleep(time.Minute) // of the bubble's clock
				w.drain(t)
				w.drain(t)
				expect.Equal(t, w.count(), 2, "runs after the lease")
			})
		})
	}
}

func TestStartRunsWhatIsDueAndWhatBecomesDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		w.add(t, storage.Scope{}, "now", time.Now())
		w.add(t, storage.Scope{}, "soon", time.Now().Add(90*time.Second))
		w.Start(t.Context())
		w.Start(t.Context())
		w.wantRan(t, 1, "ran at once")
		time.Sleep(89 * time.Second)
		w.wantRan(t, 1, "ran too early")
		time.Sleep(2 * time.Second)
		w.wantRan(t, 2, "ran when due")
		// A wake-up does not wait for the poll.
		w.add(t, storage.Scope{}, "woken", time.Now())
		w.Wake(tasks.Kind(), storage.Scope{}, time.Time{})
		w.wantRan(t, 3, "ran after the wake-up")
		for range 2 {
			expect.NoError(t, w.Stop(t.Context()), "Stop")
		}
		w.add(t, storage.Scope{}, "after", time.Now())
		w.Wake(tasks.Kind(), storage.Scope{}, time.Time{})
		time.Sleep(time.Minute)
		expect.Equal(t, w.count(), 3, "ran after Stop")
	})
}

// Stop waits for the running batch, and Drain for one that the background has claimed.
func TestStopAndDrainWaitForRunningWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, proceed := startBusyWorks(t)
		drained, stopped := make(chan error, 1), make(chan error, 1)
		go func() { drained <- w.Drain(t.Context()) }()
		go func() { stopped <- w.Stop(t.Context()) }()
		synctest.Wait()
		select {
		case <-drained:
			t.Error("Drain came back before the batch had ended")
		case <-stopped:
			t.Error("Stop came back before the batch had ended")
		default:
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		expect.ErrorIs(t, w.Stop(ended), context.Canceled, "Stop with a context that has ended")
		close(proceed)
		expect.NoError(t, <-drained, "Drain")
		expect.NoError(t, <-stopped, "Stop")
	})
}

// The worker does a scope's work by its test clock, if that runs ahead. The work of other scopes
// waits.
func TestTestClockMakesWorkDue(t *testing.T) {
	w := newWorks(t)
	ahead := storage.Scope{Merchant: "mer_1"}
	tomorrow := time.Now().Add(24 * time.Hour)
	w.add(t, ahead, "ahead", tomorrow)
	w.add(t, storage.Scope{Merchant: "mer_2"}, "not", tomorrow)
	w.Clocks = func(context.Context) ([]storage.Clock, error) {
		return []storage.Clock{{Scope: ahead, Now: tomorrow.Add(time.Second)}}, nil
	}
	w.drain(t)
	expect.Same(t, w.ran, []string{"ahead"}, "ran")
}

// Two processes over one store never run a record twice.
func TestTwoRunnersShareTheWork(t *testing.T) {
	w := newWorks(t)
	const n = 60
	for i := range n {
		w.add(t, storage.Scope{}, fmt.Sprint("t", i), time.Now())
	}
	var both sync.WaitGroup
	for _, r := range []*work.Runner{w.Runner, w.runner()} {
		both.Go(func() { expect.NoError(t, r.Drain(t.Context()), "Drain") })
	}
	both.Wait()
	seen := map[string]bool{}
	for _, id := range w.ran {
		expect.True(t, !seen[id], "%s ran twice", id)
		seen[id] = true
	}
	expect.True(t, len(seen) == n, "%d ran, want %d", len(seen), n)
}

// A runner can start again after its context has ended.
func TestStartAfterTheContextHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		first, end := context.WithCancel(t.Context())
		w.Start(first)
		synctest.Wait()
		end()
		synctest.Wait()
		w.add(t, storage.Scope{}, "a", time.Now())
		w.Start(t.Context())
		w.wantRan(t, 1, "ran after the second Start")
		expect.NoError(t, w.Stop(t.Context()), "Stop")
	})
}

// A runner starts again though the work of its ended context still runs, and Stop waits for that too.
func TestStartWhileEarlierWorkEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		proceed := make(chan struct{})
		w.do = func(_ context.Context, o *storage.Object[task]) error {
			if o.ID == "slow" {
				<-proceed
			}
			return nil
		}
		w.add(t, storage.Scope{}, "slow", time.Now())
		first, end := context.WithCancel(t.Context())
		w.Start(first)
		synctest.Wait()
		end()
		synctest.Wait()
		w.Start(t.Context())
		expect.True(t, w.Running(), "the second Start has not begun the work")
		w.add(t, storage.Scope{}, "b", time.Now())
		w.Wake(tasks.Kind(), storage.Scope{}, time.Time{})
		w.wantRan(t, 2, "ran after the second Start")
		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		expect.ErrorIs(t, w.Stop(gone), context.DeadlineExceeded, "Stop did not wait for the earlier work")
		close(proceed)
		expect.NoError(t, w.Stop(t.Context()), "Stop")
	})
}

// Concurrent calls of Drain all end.
func TestConcurrentDrainsEnd(t *testing.T) {
	w := newWorks(t)
	const n = 20
	for i := range n {
		w.add(t, storage.Scope{}, fmt.Sprint("t", i), time.Now())
	}
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			expect.NoError(t, w.Drain(t.Context()), "Drain")
			expect.Equal(t, w.count(), n, "runs when the drain ended")
		})
	}
	all.Wait()
}

// Calls of Drain that find nothing end, even if each waits for claims of the others.
func TestDrainsThatFindNothingEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var claims atomic.Int64
		r := &work.Runner{Store: memory.New(), Clock: time.Now, Log: slog.New(slog.DiscardHandler), Poll: time.Second}
		r.Add(work.Job{
			Kind: tasks.Kind(), Timeout: time.Minute, Batch: 3,
			RunOne: func(context.Context, storage.Record) error { return nil },
			BeginInTx: func(context.Context, storage.Claim) (work.Claimed, error) {
				time.Sleep(time.Duration(claims.Add(1)%3+1) * time.Second)
				return work.Claimed{}, nil
			},
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { expect.NoError(t, r.Drain(ctx), "Drain") })
		}
		all.Wait()
		expect.Equal(t, claims.Load(), 6, "claims, of each call in either mode")
	})
}

// After a failed claim, the worker claims again later. A closed store ends the workers.
func TestStoreFailureDelaysWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		w.add(t, storage.Scope{}, "a", time.Now())
		broken := &failing{Store: w.store}
		broken.fail.Store(true)
		w.Store = broken
		expect.ErrorIs(t, w.Drain(t.Context()), errPlanned, "Drain")
		w.Start(t.Context())
		w.wantRan(t, 0, "ran without a claim")
		broken.fail.Store(false)
		time.Sleep(2 * time.Second)
		w.wantRan(t, 1, "ran when the store was well again")
		must.Do(t, w.store.Close())
		time.Sleep(2 * time.Second)
		expect.NoError(t, w.Stop(t.Context()), "Stop")
		expect.ErrorIs(t, w.Drain(t.Context()), storage.ErrClosed, "Drain of a closed store")
	})
}

// An idle worker does not write: over PostgreSQL each Update excludes those of all processes.
func TestIdleWorkerOnlyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		counted := &counting{Store: w.store}
		w.Store = counted
		w.Start(t.Context())
		synctest.Wait()
		begun := counted.updates.Load() // the first claims of both modes
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		expect.Equal(t, counted.updates.Load()-begun, 0, "updates while nothing was due")
		w.add(t, storage.Scope{}, "a", time.Now().Add(5*time.Second)) // another process adds it
		time.Sleep(4 * time.Second)
		w.wantRan(t, 0, "ran before the time")
		time.Sleep(2 * time.Second)
		w.wantRan(t, 1, "ran")
		must.Do(t, w.Stop(t.Context()))
	})
}

var errPlanned = errors.New("planned")

// failing is a store whose updates fail on command.
type failing struct {
	storage.Store
	fail atomic.Bool
}

func (f *failing) Update(ctx context.Context, fn func(storage.Tx) error) error {
	if f.fail.Load() {
		return errPlanned
	}
	return f.Store.Update(ctx, fn)
}

// Drain returns the error of clocks that cannot be read, and ends with its context.
func TestDrainReturnsErrors(t *testing.T) {
	w := newWorks(t)
	w.Clocks = func(context.Context) ([]storage.Clock, error) { return nil, errPlanned }
	expect.ErrorIs(t, w.Drain(t.Context()), errPlanned, "Drain")
	synctest.Test(t, func(t *testing.T) {
		w, proceed := startBusyWorks(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		expect.ErrorIs(t, w.Drain(ctx), context.DeadlineExceeded, "Drain")
		close(proceed)
		expect.NoError(t, w.Stop(t.Context()), "Stop")
	})
}

// The context of a batch ends with its timeout, not with the runner's context.
func TestBatchOutlivesStoppedRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		began := make(chan struct{})
		var took time.Duration
		w.do = func(ctx context.Context, _ *storage.Object[task]) error {
			close(began)
			start := time.Now()
			<-ctx.Done()
			took = time.Since(start)
			return ctx.Err()
		}
		w.add(t, storage.Scope{}, "a", time.Now())
		ctx, end := context.WithCancel(t.Context())
		w.Start(ctx)
		<-began
		end()
		err := w.Stop(t.Context())
		must.Do(t, err)
		expect.Equal(t, took, time.Minute, "the batch had")
	})
}

// A hanging record occupies one slot, and the others run beside it. No more records run at once
// than there are slots.
func TestSlowRecordHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		hang := make(chan struct{})
		var working, most atomic.Int64
		w.do = func(_ context.Context, o *storage.Object[task]) error {
			if n := working.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer working.Add(-1)
			if o.ID == "slow" {
				<-hang
			}
			return nil
		}
		now := time.Now()
		w.add(t, storage.Scope{}, "slow", now.Add(-time.Hour)) // the first to be claimed
		for i := range 20 {
			w.add(t, storage.Scope{}, fmt.Sprint("t", i), now.Add(-time.Minute))
		}
		w.Start(t.Context())
		w.wantRan(t, 21, "were begun")
		expect.True(t, most.Load() <= 3, "%d were worked on at a time", most.Load())
		stopped := make(chan error, 1)
		go func() { stopped <- w.Stop(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-stopped:
			t.Errorf("Stop did not wait: %v", err)
		default:
		}
		close(hang)
		expect.NoError(t, <-stopped, "Stop")
	})
}

// undecided is a store whose first commits fail after the functions have run.
type undecided struct {
	storage.Store
	left int
}

var errCommit = errors.New("the commit has failed")

func (u *undecided) Update(ctx context.Context, fn func(storage.Tx) error) error {
	if u.left == 0 {
		return u.Store.Update(ctx, fn)
	}
	u.left--
	return u.Store.Update(ctx, func(tx storage.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return errCommit
	})
}

// The work continues after any number of failed claims: the slots of unclaimed records are free.
func TestFailedClaimFreesItsSlots(t *testing.T) {
	w := newWorks(t)
	w.Store = &undecided{w.store, 4}
	for i := range 3 {
		w.add(t, storage.Scope{}, fmt.Sprint("t", i), time.Now().Add(-time.Second))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 4 {
		err := w.Drain(ctx)
		must.True(t, errors.Is(err, errCommit), "a claim that is not committed: %v", err)
	}
	must.Do(t, w.Drain(ctx))
	expect.Equal(t, w.count(), 3, "records that were worked on")
}
