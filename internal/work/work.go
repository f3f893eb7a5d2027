package work

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// Work describes a piece of due work for an observer: one record, or a batch of them.
type Work struct {
	// Queue is the name of the kind.
	Queue string
	// ID and Scope are those of the record. ID is empty for a batch, whose ids clients may have
	// chosen.
	ID    string
	Scope storage.Scope
	// Records is the number of records.
	Records int
	// Wait is the time between the due time of the record, or of the batch's first, and its
	// claim, by the real clock.
	Wait time.Duration
	// Duration is the time that the work took; 0 before its end. The observer hears of work in
	// the claiming transaction once it has ended.
	Duration time.Duration
	Report
}

// Report is what a job says of its work, and what the work failed with.
type Report struct {
	// Name is the result in one word, such as "delivered"; "done" if the job reported none.
	Name string
	// Attempt counts the attempts so far; 0 if the job does not count them.
	Attempt int
	// RequestID belongs to the call that caused the work; may be empty.
	RequestID string
	// Provider names the provider that the work has called, and ErrorClass is the class of its error. Both
	// are empty for other work.
	Provider, ErrorClass string
	// Level is the level of the log line.
	Level slog.Level
	// Err is the error of the work. It may quote data that a host's code got, so it is logged
	// only if the job returned it.
	Err error
}

// Observer sees work as it begins and ends. Many goroutines call its methods at once.
type Observer interface {
	// BeginWork is called before the work, which gets the returned context.
	BeginWork(ctx context.Context, w Work) context.Context
	// EndWork is called with that context when the work has ended.
	EndWork(ctx context.Context, w Work)
}

// SetReport sets the report of the work of ctx. The last report counts. It returns false, and
// does nothing, if ctx belongs to no work.
func SetReport(ctx context.Context, report Report) bool {
	w, ok := ctx.Value(workKey{}).(*Work)
	if ok {
		w.Report = report
	}
	return ok
}

// CollectReport returns a context by which [SetReport] sets the report, for work that begins
// before the runner has its own context for it.
func CollectReport(ctx context.Context) (context.Context, *Report) {
	collected := &workContext{Context: ctx}
	return collected, &collected.work.Report
}

// HalfOver reports whether half of a job's time limit has passed. It is for work in steps that stores its
// place between runs: it stops then, and the other half is left for the running step and the write. HalfOver
// reads the deadline of ctx, and returns false if there is none.
func HalfOver(ctx context.Context, limit time.Duration) bool {
	end, ok := ctx.Deadline()
	return ok && time.Until(end) < limit/2
}

type workKey struct{}

// workContext is the context of a piece of work.
type workContext struct {
	context.Context
	work Work
}

func (w *workContext) Value(key any) any {
	if key == (workKey{}) {
		return &w.work
	}
	return w.Context.Value(key)
}

func (r *Runner) describe(q *queue, records []storage.Record) Work {
	work := Work{Queue: q.Kind.Name, Scope: records[0].Scope, Records: len(records)}
	if q.RunOne != nil && len(records) == 1 {
		work.ID = records[0].ID
	}
	if columns := records[0].Columns; columns != nil { // claimed; that of a Slot has not waited
		if at, ok := columns[q.due].(time.Time); ok {
			work.Wait = max(0, r.Clock().Sub(at))
		}
	}
	return work
}

// beginInTx runs the job's BeginInTx. It reports the work that is done afterwards, because the records are not
// known before.
func (r *Runner) beginInTx(ctx context.Context, q *queue, c storage.Claim) (claimed Claimed, err error) {
	now := &workContext{Context: context.WithoutCancel(ctx)}
	c.InTx = true
	start := time.Now()
	err = protect(now, func(ctx context.Context, _ []storage.Record) (err error) {
		claimed, err = q.BeginInTx(ctx, c)
		return err
	}, nil)
	if err != nil {
		return Claimed{}, err
	}
	if len(claimed.Done) > 0 {
		defer r.ended.Add(1)
		report := now.work.Report
		now.work = r.describe(q, claimed.Done)
		now.work.Report, now.work.Duration = report, time.Since(start)
		r.report(r.observeBegin(now), &now.work, nil)
	}
	return claimed, nil
}

// runTask runs a piece of work, and reports it. Running work continues when the runner stops,
// because others may have seen half of it. The timeout bounds it.
func (r *Runner) runTask(ctx context.Context, q *queue, records []storage.Record, run func(context.Context, []storage.Record) error) {
	defer r.ended.Add(1)
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.Timeout)
	defer cancel()
	if records[0].Version > 0 { // claimed; else the writer of the record has leased it, and renews the lease
		renewer := NewLeaseRenewer(r.Store, r.Clock, q.Kind, records...)
		renewer.Start()
		defer renewer.Stop()
		defer context.AfterFunc(bounded, renewer.Stop)() // the job may ignore its context
	}
	now := &workContext{Context: bounded, work: r.describe(q, records)}
	ctx = r.observeBegin(now)
	start := time.Now()
	err := protect(ctx, run, records)
	now.work.Duration = time.Since(start)
	r.report(ctx, &now.work, err)
}

// observeBegin tells the observer that work begins, and returns its context.
func (r *Runner) observeBegin(now *workContext) (ctx context.Context) {
	ctx = now
	if r.Observer != nil {
		r.guard(ctx, func() { ctx = r.Observer.BeginWork(now, now.work) })
	}
	return ctx
}

// Observe tells the observer of ended work that no worker did, such as applying a
// provider's callback.
func (r *Runner) Observe(ctx context.Context, w Work) {
	ctx = r.observeBegin(&workContext{Context: ctx, work: w})
	r.observeEnd(ctx, &w)
}

// observeEnd tells the observer that work has ended.
func (r *Runner) observeEnd(ctx context.Context, w *Work) {
	if r.Observer != nil {
		r.guard(ctx, func() { r.Observer.EndWork(ctx, *w) })
	}
}

// report reports the outcome of a piece of work to the log and the observer.
func (r *Runner) report(ctx context.Context, w *Work, failed error) {
	if failed != nil {
		w.Report = Report{Name: "error", Level: slog.LevelError, Err: failed, Attempt: w.Attempt, RequestID: w.RequestID}
	} else if w.Name == "" {
		w.Name = "done"
	}
	if r.Log.Enabled(ctx, w.Level) {
		r.log(ctx, w, failed)
	}
	r.observeEnd(ctx, w)
}

// log writes the line of a piece of work.
func (r *Runner) log(ctx context.Context, w *Work, failed error) {
	attrs := make([]slog.Attr, 0, 12)
	attrs = append(attrs, slog.String("queue", w.Queue))
	if w.ID != "" {
		attrs = append(attrs, slog.String("id", w.ID), slog.String("merchant", w.Scope.Merchant), slog.Bool("live", w.Scope.Live))
	} else {
		attrs = append(attrs, slog.Int("records", w.Records))
	}
	attrs = append(attrs, slog.String("outcome", w.Name))
	if w.Attempt > 0 {
		attrs = append(attrs, slog.Int("attempt", w.Attempt))
	}
	attrs = append(attrs, slog.Duration("wait", w.Wait), slog.Duration("duration", w.Duration))
	if w.RequestID != "" {
		attrs = append(attrs, slog.String("request_id", w.RequestID))
	}
	if w.ErrorClass != "" && failed == nil {
		attrs = append(attrs, slog.String("provider", w.Provider), slog.String("error", w.ErrorClass))
	}
	message := "work"
	if failed != nil {
		message = "work failed and will be tried again"
		attrs = append(attrs, slog.Any("error", failed))
	}
	r.Log.LogAttrs(ctx, w.Level, message, attrs...)
}

// guard calls the observer and recovers from its panic.
func (r *Runner) guard(ctx context.Context, fn func()) {
	defer func() {
		if recover() != nil {
			r.Log.ErrorContext(ctx, "the observer panicked", "stack", string(debug.Stack()))
		}
	}()
	fn()
}
