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
	// Lease is how long a claimed batch may take. After it, another worker may
	// claim the records.
	Lease time.Duration
	// Batch is the largest number of records claimed at once, and for Do the
	// largest number that this process works on at a time.
	Batch int
	// Run acts on a batch, all of which has ended before the next is claimed. Its
	// context ends with the lease. An error is logged; what was not written comes
	// back after the lease.
	Run func(ctx context.Context, records []storage.Record) error
	// Do, set instead of Run, acts on one record. Records are worked on beside each
	// other, and a slow one holds up no other.
	Do func(ctx context.Context, record storage.Record) error
}

// Ahead is a scope whose clock runs ahead of the real time.
type Ahead struct {
	Scope storage.Scope
	Now   time.Time
}

// Runner runs jobs. All methods are safe for concurrent use.
type Runner struct {
	Store storage.Store
	Clock func() time.Time
	Log   *slog.Logger
	// Poll is how long a worker rests when nothing was due and nobody woke it.
	Poll time.Duration
	// Ahead lists the scopes with clocks of their own; nil for none.
	Ahead func(context.Context) ([]Ahead, error)
	// Serial has the records of a batch worked on one after another, in the order of
	// their claim: for tests that must play the same game again.
	Serial bool

	jobs []*worker

	mu      sync.Mutex
	stop    context.CancelFunc
	stopped chan struct{}
}

type worker struct {
	Job
	wake  chan struct{}
	slots chan struct{} // one in it for each record that Do works on

	mu      sync.Mutex
	running int
	idle    chan struct{} // closed when running falls to 0
}

// Add registers jobs. It is called before Start.
func (r *Runner) Add(jobs ...Job) {
	for _, j := range jobs {
		r.jobs = append(r.jobs, &worker{Job: j, wake: make(chan struct{}, 1), slots: make(chan struct{}, j.Batch)})
	}
}

// Wake tells the worker of a kind that something may be due.
func (r *Runner) Wake(k *storage.Kind) {
	for _, w := range r.jobs {
		if w.Kind == k {
			select {
			case w.wake <- struct{}{}:
			default: // it is already told
			}
		}
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
	r.stop, r.stopped = stop, stopped
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
	for {
		found := 0
		for _, w := range r.jobs {
			n, err := r.round(ctx, w)
			if err != nil {
				return err
			}
			waited, err := w.wait(ctx)
			if err != nil {
				return err
			}
			if n += waited; n > 0 {
				found += n
			}
		}
		if found == 0 {
			return nil
		}
	}
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

// round claims and runs one batch by the real clock and one for each clock that
// runs ahead, and returns how many records there were.
func (r *Runner) round(ctx context.Context, w *worker) (int, error) {
	n, err := r.batch(ctx, w, nil, r.Clock())
	if err != nil || r.Ahead == nil {
		return n, err
	}
	ahead, err := r.Ahead(ctx)
	if err != nil {
		return n, err
	}
	for _, a := range ahead {
		m, err := r.batch(ctx, w, &a.Scope, a.Now)
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

func (r *Runner) batch(ctx context.Context, w *worker, scope *storage.Scope, due time.Time) (int, error) {
	// The batch counts as running before it is claimed, so that whoever drains
	// cannot look between the claim and the run.
	w.begin()
	defer w.end()
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
		records, err = tx.Claim(w.Kind, storage.Claim{
			Scope: scope, Due: due, Now: r.Clock(), Lease: w.Lease, Limit: limit,
		})
		return err
	})
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
				r.one(ctx, w, record)
			}
			if r.Serial {
				do()
			} else {
				go do()
			}
		}
		return len(records), nil
	}
	// Work that has begun is finished though the runner stops: half of it may
	// already be visible outside. The lease bounds it.
	run, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Lease)
	defer cancel()
	if err := protect(run, w.Run, records); err != nil {
		r.Log.ErrorContext(ctx, "due work failed and will be tried again", "kind", w.Kind.Name, "records", len(records), "error", err)
	}
	return len(records), nil
}

// one works on one record, as batch does on many.
func (r *Runner) one(ctx context.Context, w *worker, record storage.Record) {
	run, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Lease)
	defer cancel()
	do := func(ctx context.Context, records []storage.Record) error { return w.Do(ctx, records[0]) }
	if err := protect(run, do, []storage.Record{record}); err != nil {
		r.Log.ErrorContext(ctx, "due work failed and will be tried again", "kind", w.Kind.Name, "error", err)
	}
}

// reserve takes the slots that are free, and waits for one if there is none.
func (w *worker) reserve(ctx context.Context) (int, error) {
	select {
	case w.slots <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	for n := 1; ; n++ {
		select {
		case w.slots <- struct{}{}:
		default:
			return n, nil
		}
	}
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
