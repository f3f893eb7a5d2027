package work

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/storage"
)

type silent struct{}

func (silent) BeginWork(ctx context.Context, _ Work) context.Context { return ctx }
func (silent) EndWork(context.Context, Work)                         {}

// Reporting work allocates nothing if there is no observer and the log is off, or if the observer
// keeps nothing.
func TestObservingAllocatesNothing(t *testing.T) {
	kind := &storage.Kind{Name: "tasks", Columns: []storage.Column{{Name: "due", Type: storage.Time, Null: true}}, Due: "due"}
	records := []storage.Record{{ID: "a", Columns: []any{time.Now()}}}
	fails := errors.New("planned")
	for _, observer := range []Observer{nil, silent{}} {
		r := &Runner{Clock: time.Now, Log: slog.New(slog.DiscardHandler), Observer: observer}
		work := Work{Queue: "tasks", ID: "a", Records: 1, Report: Report{Name: "sent"}}
		told := testing.AllocsPerRun(100, func() {
			r.report(t.Context(), &work, nil)
			r.report(t.Context(), &work, fails)
		})
		expect.Equal(t, told, 0, "with observer %v, telling takes %v allocations", observer, told)
	}

	// A piece of work, with its context, allocates the same with an observer.
	whole := func(observer Observer) float64 {
		r := &Runner{Clock: time.Now, Log: slog.New(slog.DiscardHandler), Observer: observer}
		r.Add(Job{Kind: kind, Timeout: time.Minute, Batch: 1, RunOne: func(context.Context, storage.Record) error { return nil }})
		w := r.queues[0]
		run := func(ctx context.Context, records []storage.Record) error {
			SetReport(ctx, Report{Name: "sent"})
			return w.RunOne(ctx, records[0])
		}
		return testing.AllocsPerRun(100, func() { r.runTask(context.Background(), w, records, run) })
	}
	if without, with := whole(nil), whole(silent{}); with > without {
		t.Errorf("a piece of work takes %v allocations, with an observer %v", without, with)
	}
}
