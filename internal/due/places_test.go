package due

import (
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// Who comes while a claim under way has the last places wakes the worker once that gives
// them back.
func TestAWakeBesideAClaimIsNotLost(t *testing.T) {
	kind := &storage.Kind{Name: "jobs", Columns: []storage.Column{{Name: "due", Type: storage.Time}}, Due: "due"}
	r := &Runner{Clock: time.Now}
	r.Add(Job{Kind: kind, Batch: 1, Limit: time.Minute})
	q := r.queue(kind, false)
	scope := storage.Scope{Merchant: "mer_1"}
	for q.places.any(1) == 1 { // claims take all places
	}
	all := 2 - q.places.free
	r.Wake(kind, scope, time.Time{})
	if len(q.wake) != 0 {
		t.Error("woken without a place")
	}
	q.hold(all, nil) // and have found nothing
	if len(q.wake) != 1 {
		t.Fatal("not woken")
	}
	<-q.wake
	for range 3 {
		q.hold(q.places.any(1), nil)
	}
	if len(q.wake) != 0 {
		t.Error("woken again for nothing")
	}
}
