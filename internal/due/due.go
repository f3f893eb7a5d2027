// Package due runs due work: records that must be acted on when their time has
// come. It claims them from the store with a lease, hands them to the job of
// their kind, and comes back when more is due.
//
// It owns the workers and their timing. What is done with a record, and when it
// is due next, is the job's business: a job that writes nothing gets the record
// again when the lease has run out.
package due

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// Job is what is done with the due records of one kind.
type Job struct {
	Kind *storage.Kind
	// Lease is how long a claimed batch stays with this worker. After it, another
	// worker may claim the records.
	Lease time.Duration
	// Limit is how long the work may take, where that is longer than the lease, because
	// the job itself keeps others away from the records; zero for the lease.
	Limit time.Duration
	// Batch is the largest number of records claimed at once.
	Batch int
	// InHand is for Do the largest number that this process works on at a time; zero
	// for as many as a batch has.
	InHand int
	// Run acts on a batch, all of which has ended before the next is claimed. Its
	// context ends with the limit, and is what Report is given. An error is logged;
	// what was not written comes back after the lease.
	Run func(ctx context.Context, records []storage.Record) error
	// InTx, set beside Run or Do, does what is due in a transaction of its own, whose
	// claim leases nothing: it returns those records that it has worked on. When it
	// fails, they are claimed with a lease and given to Run or Do, so that what fails
	// holds up nothing else.
	InTx func(ctx context.Context, c storage.Claim) ([]storage.Record, error)
	// Do, set instead of Run, acts on one record. Records are worked on beside each
	// other, and a slow one holds up no other.
	Do func(ctx context.Context, record storage.Record) error
}

// Runner runs jobs. All methods are safe for concurrent use.
type Runner struct {
	Store storage.Store
	Clock func() time.Time
	Log   *slog.Logger
	// Poll is how long a worker rests when nothing was due and nobody woke it.
	Poll time.Duration
	// Observer is told of every piece of work; nil for nobody.
	Observer Observer
	// Clocks lists the clocks of test mode by which something may be due that is not
	// due by the real time; nil for none.
	Clocks func(context.Context) ([]storage.Clock, error)
	// Serial has the records of a batch worked on one after another, in the order of
	// their claim: for tests that must play the same game again.
	Serial bool

	jobs []*worker

	mu         sync.Mutex
	stop       context.CancelFunc
	stopped    chan struct{}
	background context.Context // it ends with Stop
	// draining counts the calls of Drain under way.
	draining int
}

type worker struct {
	Job
	due   int // the column of the due time
	wake  chan struct{}
	slots chan struct{} // one in it for each record that Do works on

	alarms alarms

	mu      sync.Mutex
	running int
	idle    chan struct{} // closed when running falls to 0
}

// Add registers jobs. It is called before Start.
func (r *Runner) Add(jobs ...Job) {
	for _, j := range jobs {
		r.jobs = append(r.jobs, &worker{Job: j, due: j.Kind.Column(j.Kind.Due), wake: make(chan struct{}, 1), slots: make(chan struct{}, max(j.InHand, j.Batch))})
	}
}

// Kinds are the kinds whose records are worked on.
func (r *Runner) Kinds() []*storage.Kind {
	kinds := make([]*storage.Kind, len(r.jobs))
	for i, w := range r.jobs {
		kinds[i] = w.Kind
	}
	return kinds
}

// Running reports whether the background work runs: it was started, and neither
// stopped nor ended with its context.
func (r *Runner) Running() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs()
}

// Wake tells the worker of a kind that something may be due, now or at a time to
// come. If it is late for that, which happens where the clock is moved, the worker
// finds it when it looks by itself.
func (r *Runner) Wake(k *storage.Kind, at time.Time) {
	if w := r.worker(k); w != nil {
		if away := at.Sub(r.Clock()); away > 0 {
			w.alarms.set(time.Now().Add(away), w.call)
		} else {
			w.call()
		}
	}
}

// call wakes the worker.
func (w *worker) call() {
	select {
	case w.wake <- struct{}{}:
	default: // it is already told
	}
}

// Start begins to run the jobs in the background, until Stop or until ctx ends.
// Starting twice is fine; so is starting anew after either end.
func (r *Runner) Start(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil {
		select {
		case <-r.stopped: // its context has ended
			r.stop()
		default:
			return
		}
	}
	ctx, stop := context.WithCancel(ctx)
	stopped := make(chan struct{})
	r.stop, r.stopped, r.background = stop, stopped, ctx
	var workers sync.WaitGroup
	for _, w := range r.jobs {
		workers.Go(func() { r.loop(ctx, w) })
	}
	go func() {
		workers.Wait()
		for _, w := range r.jobs { // what Do has begun is finished, too
			_, _ = w.wait(context.Background())
		}
		close(stopped)
	}()
}

// Stop ends the background work and waits for the batches under way, at most
// until ctx ends. Stopping twice, or without Start, is fine; Start may follow.
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
		return fmt.Errorf("due: stop: %w", ctx.Err())
	}
}

// Drain does all that is due now, and waits for batches that the background
// work had begun before. It returns when a round has found nothing more.
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
		found := 0
		for _, w := range r.jobs {
			n, err := r.round(ctx, w)
			waited, stopped := r.wait(ctx)
			if err := errors.Join(err, stopped); err != nil {
				return err
			}
			found += n + waited
		}
		if found == 0 {
			return nil
		}
	}
}

// wait waits for all that is under way, and returns for how many kinds there was.
func (r *Runner) wait(ctx context.Context) (found int, err error) {
	for _, w := range r.jobs {
		n, err := w.wait(ctx)
		if found += n; err != nil {
			return found, err
		}
	}
	return found, nil
}

func (r *Runner) loop(ctx context.Context, w *worker) {
	timer := time.NewTimer(r.Poll)
	defer timer.Stop()
	for {
		n, err := r.round(ctx, w)
		if ctx.Err() != nil || errors.Is(err, storage.ErrClosed) {
			return
		}
		if err != nil {
			r.Log.ErrorContext(ctx, "due work could not be claimed", "kind", w.Kind.Name, "error", err)
		}
		if n > 0 && err == nil {
			continue
		}
		timer.Reset(r.Poll)
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-timer.C:
		}
	}
}

// round claims and runs one batch by the real clock and one by the clocks of test
// mode, and returns how many records there were.
func (r *Runner) round(ctx context.Context, w *worker) (int, error) {
	n, err := r.batch(ctx, w, nil)
	if err != nil || r.Clocks == nil {
		return n, err
	}
	clocks, err := r.Clocks(ctx)
	if err != nil || len(clocks) == 0 {
		return n, err
	}
	m, err := r.batch(ctx, w, clocks)
	return n + m, err
}

// batch claims and runs one batch by the given clocks, or, where there are none, by the
// real one.
func (r *Runner) batch(ctx context.Context, w *worker, clocks []storage.Clock) (int, error) {
	// The batch counts as running before it is claimed, so that whoever drains
	// cannot look between the claim and the run.
	w.begin()
	defer w.end()
	claim := storage.Claim{Clocks: clocks, Now: r.Clock()}
	if len(clocks) == 0 {
		claim.Due = claim.Now
	}
	if w.InTx != nil {
		c := claim
		c.InTx, c.Limit = true, w.Batch
		n, err := r.inTx(ctx, w, c)
		if err == nil || errors.Is(err, storage.ErrClosed) {
			return n, err
		}
		r.Log.WarnContext(ctx, "due work is done one by one, because together it failed", "kind", w.Kind.Name, "error", err)
	}
	limit := w.Batch
	if w.Do != nil {
		var err error
		if limit, err = w.reserve(ctx); err != nil {
			return 0, err
		}
	}
	var records []storage.Record
	err := r.Store.Update(ctx, func(tx storage.Tx) error {
		var err error
		c := claim
		c.Now, c.Lease, c.Limit = r.Clock(), w.Lease, limit
		records, err = tx.Claim(w.Kind, c)
		return err
	})
	if err != nil {
		records = nil // those of a run that was undone are nobody's
	}
	if w.Do != nil {
		w.free(limit - len(records))
	}
	if err != nil {
		return 0, fmt.Errorf("due: claim %s: %w", w.Kind.Name, err)
	}
	if len(records) == 0 {
		return 0, nil
	}
	if w.Do != nil {
		for _, record := range records {
			w.begin()
			do := func() {
				defer w.end()
				defer w.free(1)
				run := func(ctx context.Context, records []storage.Record) error { return w.Do(ctx, records[0]) }
				r.act(ctx, w, []storage.Record{record}, run)
			}
			if r.Serial {
				do()
			} else {
				go do()
			}
		}
		return len(records), nil
	}
	r.act(ctx, w, records, w.Run)
	return len(records), nil
}

// Slot is a place to work on one record that needs no claim: it was written with a
// due time as far off as a lease, by who has all that is needed at hand. Either
// Begin or Release is called, once.
type Slot struct {
	runner *Runner
	worker *worker
}

// Reserve takes a slot of a kind. It returns nil when there is none free, and when
// no due work is done at this time.
func (r *Runner) Reserve(k *storage.Kind) *Slot {
	w := r.worker(k)
	if w == nil || !r.working() {
		return nil
	}
	select {
	case w.slots <- struct{}{}:
	default:
		return nil
	}
	w.begin()
	return &Slot{r, w}
}

// Begin has do done in the background, as if the record of that id had been claimed.
// Where work is serial it is done when Begin returns.
func (s *Slot) Begin(scope storage.Scope, id string, do func(context.Context) error) {
	work := func() {
		defer s.Release()
		run := func(ctx context.Context, _ []storage.Record) error { return do(ctx) }
		s.runner.act(context.Background(), s.worker, []storage.Record{{Scope: scope, ID: id}}, run)
	}
	if s.runner.Serial {
		work()
		return
	}
	go work()
}

// Release gives the slot back.
func (s *Slot) Release() {
	s.worker.free(1)
	s.worker.end()
}

func (r *Runner) worker(k *storage.Kind) *worker {
	for _, w := range r.jobs {
		if w.Kind == k {
			return w
		}
	}
	return nil
}

// runs is Running for who holds mu.
func (r *Runner) runs() bool { return r.background != nil && r.background.Err() == nil }

// working reports whether due work is done at this time.
func (r *Runner) working() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.draining > 0 || r.runs()
}

// reserve takes the slots that are free, as far as a batch goes, and waits for one if
// there is none.
func (w *worker) reserve(ctx context.Context) (int, error) {
	select {
	case w.slots <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	for n := 1; n < w.Batch; n++ {
		select {
		case w.slots <- struct{}{}:
		default:
			return n, nil
		}
	}
	return w.Batch, nil
}

func (w *worker) free(n int) {
	for range n {
		<-w.slots
	}
}

func protect(ctx context.Context, run func(context.Context, []storage.Record) error, records []storage.Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("due: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return run(ctx, records)
}

func (w *worker) begin() {
	w.mu.Lock()
	if w.running == 0 {
		w.idle = make(chan struct{})
	}
	w.running++
	w.mu.Unlock()
}

func (w *worker) end() {
	w.mu.Lock()
	if w.running--; w.running == 0 {
		close(w.idle)
	}
	w.mu.Unlock()
}

// wait waits until no batch is running, and returns 1 if there was one.
func (w *worker) wait(ctx context.Context) (int, error) {
	w.mu.Lock()
	running, idle := w.running, w.idle
	w.mu.Unlock()
	if running == 0 {
		return 0, nil
	}
	select {
	case <-idle:
		return 1, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
