// Package work runs due work: records that a job must act on at their due time. It claims them
// from the store with a lease, renews the lease while the job works on them, and polls again.
//
// It owns the workers, their timing and the order of merchants. Live and test mode have separate
// workers. Merchants with more work than the slots allow take turns. The job decides what it does
// with a record and when the record is due next. If the job writes nothing, it gets the record
// again after the lease.
package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// Job describes the work on the due records of one kind.
type Job struct {
	Kind *storage.Kind
	// Timeout bounds the work on claimed records.
	Timeout time.Duration
	// Batch is the largest number of records claimed at once.
	Batch int
	// MaxPerMerchant bounds the records of one merchant on which this process runs RunOne at once, in
	// each mode; zero means Batch. All merchants together have at most twice as many.
	MaxPerMerchant int
	// RunBatch acts on a batch. The whole batch ends before the next claim. Its context ends with
	// the timeout, and belongs to [SetReport]. An error is logged. Records that RunBatch did not
	// write come back after the lease.
	RunBatch func(ctx context.Context, records []storage.Record) error
	// RunOne, set instead of RunBatch, acts on one record. The runner works on several records at
	// once, so a slow one blocks no other.
	RunOne func(ctx context.Context, record storage.Record) error
	// BeginInTx, set together with RunOne, claims due records in one transaction, in which it does or begins the
	// work on them. The claim takes no leases: the job leases the records that it only begins. When it fails,
	// the runner claims the records with a lease and gives them to RunOne. So a failing record blocks no others.
	BeginInTx func(ctx context.Context, c storage.Claim) (Claimed, error)
}

// Claimed is what BeginInTx of a [Job] has claimed.
type Claimed struct {
	// Done are the records on which all work is done. The runner reports it as one piece of work.
	Done []storage.Record
	// Begun are the records on which work is left.
	Begun []Begun
	// More says that more records are due.
	More bool
}

// Begun is a record on which the work has begun.
type Begun struct {
	Record storage.Record
	// Run does the rest of the work. The transaction that began it keeps the lease.
	Run func(context.Context) error
}

// Runner runs jobs. All methods are safe for concurrent use.
type Runner struct {
	Store storage.Store
	Clock func() time.Time
	Log   *slog.Logger
	// Poll is the interval between polls of a worker, unless a Wake comes first.
	Poll time.Duration
	// Observer sees every piece of work; may be nil.
	Observer Observer
	// Clocks lists the test clocks by which something may be due before the real time; nil for
	// none.
	Clocks func(context.Context) ([]storage.Clock, error)
	// Serial makes the worker run the records of a batch one after another, in the order of their
	// claim. It is for tests that must repeat exactly.
	Serial bool

	queues []*queue

	ended atomic.Int64 // counts the pieces of work that have ended

	looking sync.Mutex // held by the worker that looks for due work, so that one connection is enough

	mu         sync.Mutex
	stop       context.CancelFunc
	stopped    chan struct{}
	background context.Context // ends with Stop
	// draining counts the running calls of Drain.
	draining int
}

// queue holds the due work of one kind in one mode, and has its own worker.
type queue struct {
	Job
	live bool
	due  int // the column of the due time
	wake chan struct{}

	alarms    alarms
	slots     slots
	scheduler fairScheduler

	mu      sync.Mutex
	running int
	idle    chan struct{} // closed when running falls to 0
}

// Add registers jobs. It is called before Start.
func (r *Runner) Add(jobs ...Job) {
	for _, j := range jobs {
		for _, live := range []bool{true, false} {
			q := &queue{Job: j, live: live, due: j.Kind.Column(j.Kind.Due), wake: make(chan struct{}, 1)}
			q.scheduler.fifoOnly = j.Kind.OneQueue
			q.slots.free = 2 * max(j.MaxPerMerchant, j.Batch)
			r.queues = append(r.queues, q)
		}
	}
}

// Kinds are the kinds whose records are worked on.
func (r *Runner) Kinds() []*storage.Kind {
	var kinds []*storage.Kind
	for _, q := range r.queues {
		if !q.live {
			kinds = append(kinds, q.Kind)
		}
	}
	return kinds
}

// Running reports whether the background work runs: Start was called, and neither Stop
// nor the end of its context followed.
func (r *Runner) Running() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runningLocked()
}

// Wake tells the worker of a kind that something in a scope may be due, now or at a future time.
// If it comes too late, for example after a move of the clock, the next poll finds the work.
func (r *Runner) Wake(k *storage.Kind, scope storage.Scope, at time.Time) {
	q := r.queue(k, scope.Live)
	if q == nil {
		return
	}
	if away := at.Sub(r.Clock()); away > 0 {
		q.alarms.set(time.Now().Add(away), func() {
			q.scheduler.requestScan()
			q.wakeUp()
		})
		return
	}
	free, belowFairShare := q.slots.noteDue(scope.Merchant)
	if belowFairShare {
		q.scheduler.requestScan()
	}
	if free { // else freeSlot wakes the worker
		q.wakeUp()
	}
}

// wakeUp wakes the worker.
func (q *queue) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default: // a wake-up is pending
	}
}

// Start begins to run the jobs in the background, until Stop or until ctx ends. It may be called
// twice, and again after either end.
func (r *Runner) Start(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runningLocked() {
		return
	}
	if r.stop != nil { // its context has ended, and its work may still run
		r.stop()
	}
	ctx, stop := context.WithCancel(ctx)
	stopped := make(chan struct{})
	r.stop, r.stopped, r.background = stop, stopped, ctx
	var workers sync.WaitGroup
	for _, q := range r.queues {
		workers.Go(func() { r.loop(ctx, q) })
	}
	go func() {
		workers.Wait()
		for _, q := range r.queues { // includes the work that a Slot has begun
			_ = q.wait(context.Background())
		}
		close(stopped)
	}()
}

// Stop ends the background work and waits for running batches, at most until ctx ends. It may be
// called twice, or without Start. Start may follow.
func (r *Runner) Stop(ctx context.Context) error {
	r.mu.Lock()
	stop, stopped := r.stop, r.stopped
	r.stop = nil
	r.mu.Unlock()
	if stop != nil {
		stop()
	}
	if stopped == nil {
		return nil
	}
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("work: stop: %w", ctx.Err())
	}
}

// Drain does all work that is due now, and waits for batches that the background work has begun.
// It returns once no work has ended during a round.
func (r *Runner) Drain(ctx context.Context) error {
	r.mu.Lock()
	r.draining++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.draining--
		r.mu.Unlock()
	}()
	for {
		// Work that ends may make other work due, so another round follows. Claims alone do not count:
		// a claim that another call runs at the same time may find nothing.
		before := r.ended.Load()
		for _, q := range r.queues {
			q.scheduler.requestScan()
			_, err := r.claimOnce(ctx, q, false)
			if err := errors.Join(err, r.wait(ctx)); err != nil {
				return err
			}
		}
		if r.ended.Load() == before {
			return nil
		}
	}
}

// wait waits for all running batches.
func (r *Runner) wait(ctx context.Context) error {
	for _, q := range r.queues {
		if err := q.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) loop(ctx context.Context, q *queue) {
	timer := time.NewTimer(r.Poll)
	defer timer.Stop()
	polls := false
	for {
		n, err := r.claimOnce(ctx, q, polls)
		polls = false
		if ctx.Err() != nil || errors.Is(err, storage.ErrClosed) {
			return
		}
		if err != nil {
			r.Log.ErrorContext(ctx, "due work could not be claimed", "kind", q.Kind.Name, "error", err)
		}
		if n > 0 && err == nil {
			continue
		}
		timer.Reset(r.Poll)
		select {
		case <-ctx.Done():
			return
		case <-q.wake:
		case <-timer.C:
			q.scheduler.requestScan()
			polls = true
		}
	}
}

// RunNow does the work on a record in the caller's goroutine, for a call that is answered with the outcome.
// do is the rest of what the caller's transaction has begun; nil stands for RunOne of the kind's job. RunNow
// returns the error of the work, and goes on if ctx ends. Without a job of the kind it does nothing.
func (r *Runner) RunNow(ctx context.Context, k *storage.Kind, scope storage.Scope, id string, do func(context.Context) error) (err error) {
	q := r.queue(k, scope.Live)
	if q == nil {
		return nil
	}
	q.begin()
	defer q.end()
	r.runTask(ctx, q, []storage.Record{{Scope: scope, ID: id}}, func(ctx context.Context, records []storage.Record) error {
		if do == nil {
			err = q.RunOne(ctx, records[0])
		} else {
			err = do(ctx)
		}
		return err
	})
	return err
}

// Slot runs the work on one record, without a claim. The caller holds a lease from which the
// work is done again if this process dies: of the record itself, or of another that it is
// made from. The caller calls Run or Free, once.
type Slot struct {
	runner *Runner
	queue  *queue
	scope  storage.Scope
}

// AcquireSlot takes a slot for a record of a kind. It returns nil when the merchant has no free
// slot, and when the runner accepts no work.
func (r *Runner) AcquireSlot(k *storage.Kind, scope storage.Scope) *Slot {
	q := r.queue(k, scope.Live)
	if q == nil || !r.accepting() || !q.slots.acquireFor(scope.Merchant) {
		return nil
	}
	q.begin()
	return &Slot{r, q, scope}
}

// Run runs do in the background as the work on the record with that id. With a serial runner, do
// has ended when Run returns.
func (s *Slot) Run(id string, do func(context.Context) error) {
	work := func() {
		defer s.Free()
		run := func(ctx context.Context, _ []storage.Record) error { return do(ctx) }
		s.runner.runTask(context.Background(), s.queue, []storage.Record{{Scope: s.scope, ID: id}}, run)
	}
	if s.runner.Serial {
		work()
		return
	}
	go work()
}

// Free gives the slot back.
func (s *Slot) Free() {
	s.queue.freeSlot(s.scope.Merchant)
	s.queue.end()
}

func (r *Runner) queue(k *storage.Kind, live bool) *queue {
	for _, q := range r.queues {
		if q.Kind == k && q.live == live {
			return q
		}
	}
	return nil
}

// runningLocked is Running; the caller holds mu.
func (r *Runner) runningLocked() bool { return r.background != nil && r.background.Err() == nil }

// accepting reports whether the runner runs due work now: in the background or in Drain.
func (r *Runner) accepting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.draining > 0 || r.runningLocked()
}

func protect(ctx context.Context, run func(context.Context, []storage.Record) error, records []storage.Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("work: panic: %s\n%s", PanicText(p), debug.Stack())
		}
	}()
	return run(ctx, records)
}

func (q *queue) begin() {
	q.mu.Lock()
	if q.running == 0 {
		q.idle = make(chan struct{})
	}
	q.running++
	q.mu.Unlock()
}

func (q *queue) end() {
	q.mu.Lock()
	if q.running--; q.running == 0 {
		close(q.idle)
	}
	q.mu.Unlock()
}

// wait waits until no batch is running.
func (q *queue) wait(ctx context.Context) error {
	q.mu.Lock()
	running, idle := q.running, q.idle
	q.mu.Unlock()
	if running == 0 {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
