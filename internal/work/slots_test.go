package work

import (
	"context"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage"
)

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
	q.assign(all, nil) // and find no records
	must.True(t, len(q.wake) == 1, "not woken")
	<-q.wake
	for range 3 {
		q.assign(q.slots.acquireAny(1), nil)
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
	q.assign(q.slots.acquireAny(1), []storage.Record{{Scope: scope}}) // a claim that found as much as it asked for
	q.freeSlot(scope.Merchant)
	expect.True(t, r.AcquireSlot(kind, scope) == nil, "a record has passed what the claim may have left")
	q.assign(q.slots.acquireAny(1), nil)
	q.slots.noBacklog()
	running = r.AcquireSlot(kind, scope)
	must.True(t, running != nil, "no record runs, and none waits")
	running.Free()
}
