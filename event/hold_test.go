package event_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/due"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// An event that is held is fanned out again unless it is closed in time, and by
// nobody who was too late for that. Subscribers are told of it once.
func TestHolding(t *testing.T) {
	d := newDiary(t)
	caller := api.Caller{Merchant: "mer_1"}
	d.waiting = 1
	heard := 0
	d.Subscribe("ledger", func(context.Context, api.Caller, event.Event) error { heard++; return nil })
	var counted []bool
	d.Pending = func(_ storage.ReadTx, _ storage.Scope, _ *event.Event, held bool) (int, error) {
		counted = append(counted, held)
		return 1, nil
	}
	var opened []*event.Open
	var again []bool
	tell := func(_ *engine.Tx, o *event.Open) (int, error) {
		opened, again = append(opened, o), append(again, o.Again())
		o.Hold()
		return 1, nil
	}
	d.runner = &due.Runner{Store: d.store, Clock: d.engine.Clock, Log: d.engine.Log, Poll: time.Second}
	d.runner.Add(d.FanOut(event.Telling{
		Teller: func() event.Teller { return tell },
		Room:   func(bool) int { return 10 },
	}))
	d.runner.Add(d.TellSubscribers())
	e := d.record(t, caller, struct{}{})
	if _, err := d.Get(t.Context(), caller, e.ID); err != nil || len(counted) != 0 {
		t.Errorf("counted %v before the fan-out, %v", counted, err)
	}
	d.pass(t, 0)
	d.pass(t, due.Lease-time.Millisecond)
	if _, err := d.Get(t.Context(), caller, e.ID); err != nil || len(again) != 1 {
		t.Errorf("fanned out %d times while it was held, %v", len(again), err)
	}
	d.pass(t, time.Millisecond)
	closed := func(o *event.Open) error {
		return d.engine.Update(t.Context(), caller, func(tx *engine.Tx) error { return o.Close(tx) })
	}
	if diff := cmp.Diff([]bool{false, true}, again); diff != "" {
		t.Fatalf("fanned out again (-want +got)\n%s", diff)
	}
	if err := closed(opened[0]); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("who came too late closed it: %v", err)
	}
	if err := closed(opened[1]); err != nil {
		t.Error(err)
	}
	d.pass(t, time.Hour)
	if _, err := d.Get(t.Context(), caller, e.ID); err != nil || len(again) != 2 || heard != 1 {
		t.Errorf("fanned out %d times, and told %d times, %v", len(again), heard, err)
	}
	// Once for the subscriber, and twice here.
	if diff := cmp.Diff([]bool{true, true, false}, counted); diff != "" {
		t.Errorf("counted as held (-want +got)\n%s", diff)
	}
}
