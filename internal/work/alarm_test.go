package work

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

// Every time that was set rings, even if nearer ones were set later.
func TestEveryAlarmRings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a alarms
		start := time.Now()
		rang := make(chan time.Duration, 2*maxAlarms)
		ring := func() { rang <- time.Since(start) }
		for _, ms := range []int{500, 100, 300, 299, 97, 100} {
			a.set(start.Add(time.Duration(ms)*time.Millisecond), ring)
		}
		// 299 is near enough to 300 to ring with it.
		for _, want := range []time.Duration{97, 100, 300, 500} {
			expect.Equal(t, <-rang, want*time.Millisecond, "rang after")
		}
		synctest.Wait()
		expect.Equal(t, len(rang), 0, "number")
		expect.Equal(t, len(a.times), 0, "number of times")
	})
}

// A worker keeps the nearest times, up to the limit.
func TestOnlyTheNearestAlarmsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a alarms
		start := time.Now()
		var n atomic.Int64
		for i := range 3 * maxAlarms {
			a.set(start.Add(time.Duration(3*maxAlarms-i)*10*time.Millisecond), func() { n.Add(1) })
		}
		expect.Equal(t, len(a.times), maxAlarms, "%d are kept", len(a.times))
		time.Sleep(maxAlarms * 10 * time.Millisecond)
		synctest.Wait()
		expect.True(t, n.Load() == maxAlarms, "%d rang, %d are left", n.Load(), len(a.times))
		expect.Equal(t, len(a.times), 0, "number of times")
	})
}

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

// A Wake while a claim has the last slots wakes the worker once the claim gives them back.
func TestWakeDuringClaimIsNotLost(t *testing.T) {
	kind := &storage.Kind{Name: "jobs", Columns: []storage.Column{{Name: "due", Type: storage.Time}}, Due: "due"}
	r := &Runner{Clock: time.Now}
	r.Add(Job{Kind: kind, Batch: 1, Timeout: time.Minute})
	q := r.queue(kind, false)
	scope := storage.Scope{Merchant: "mer_1"}
	for q.slots.acquireAny(1) == 1 { // claims take all slots
	}
	all := 2 - q.slots.free
	r.Wake(kind, scope, time.Time{})
	expect.Equal(t, len(q.wake), 0, "woken without a free slot")
	q.assign(all, nil, false) // and find no records
	must.True(t, len(q.wake) == 1, "not woken")
	<-q.wake
	for range 3 {
		q.assign(q.slots.acquireAny(1), nil, false)
	}
	expect.Equal(t, len(q.wake), 0, "woken again for nothing")
}

// New records run without a claim only as long as no older ones wait for slots.
func TestNewRecordsWaitBehindBacklog(t *testing.T) {
	kind := &storage.Kind{Name: "jobs", Columns: []storage.Column{{Name: "due", Type: storage.Time}}, Due: "due"}
	r := &Runner{Clock: time.Now, draining: 1}
	r.Add(Job{Kind: kind, Batch: 1, Timeout: time.Minute, RunOne: func(context.Context, storage.Record) error { return nil }})
	q := r.queue(kind, false)
	scope := storage.Scope{Merchant: "mer_1"}
	running := r.AcquireSlot(kind, scope)
	must.True(t, running != nil && r.AcquireSlot(kind, scope) == nil, "a merchant that is alone has one of two slots")
	r.Wake(kind, scope, time.Time{}) // the second record is due, and finds no slot
	running.Free()
	expect.True(t, r.AcquireSlot(kind, scope) == nil, "a third record has passed the second")
	q.assign(q.slots.acquireAny(1), []storage.Record{{Scope: scope}}, true) // a claim that found as much as it asked for
	q.freeSlot(scope.Merchant)
	expect.True(t, r.AcquireSlot(kind, scope) == nil, "a record has passed what the claim may have left")
	q.assign(q.slots.acquireAny(1), nil, false)
	q.slots.noBacklog()
	running = r.AcquireSlot(kind, scope)
	must.True(t, running != nil, "no record runs, and none waits")
	running.Free()
}
