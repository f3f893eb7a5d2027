package event_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// A worker fans a partly stored event out again unless the rest is finished in time. A process
// that comes too late cannot finish it. Subscribers get it once.
func TestPartlyStoredEventIsFannedOutAgainUnlessFinished(t *testing.T) {
	d := newDiary(t)
	caller := api.Caller{Merchant: "mer_1"}
	d.subscribe(t, caller, "we_1", "we_2")
	heard := 0
	d.Subscribe("ledger", func(context.Context, api.Caller, event.Event) error { heard++; return nil })
	var fanouts []*event.Fanout
	var repeated []bool
	d.runner = &work.Runner{Store: d.store, Clock: d.engine.Clock, Log: d.engine.Log, Poll: time.Second}
	d.runner.Add(work.Job{Kind: d.internal.Kind(), Timeout: time.Minute, Batch: 1, RunOne: func(ctx context.Context, claimed storage.Record) error {
		return d.engine.Update(ctx, caller, func(tx *engine.Tx) error {
			f, err := d.internal.NewFanout(claimed)
			if err != nil {
				return err
			}
			fanouts, repeated = append(fanouts, f), append(repeated, f.WasPartlyStored())
			return d.internal.FinishPartly(tx, f, 2)
		})
	}})
	d.runner.Add(d.internal.CallSubscribers())
	e := d.record(t, caller, struct{}{})
	pending := func(when string, want int) {
		t.Helper()
		got, err := d.Get(t.Context(), caller, e.ID)
		expect.True(t, err == nil && got.PendingWebhooks == want, "%s: %+v, %v; want %d pending", when, got, err, want)
	}
	pending("before the fan-out", 2)
	d.pass(t, 0)
	must.Do(t, d.engine.Update(t.Context(), caller, func(tx *engine.Tx) error { return d.deliver(tx, e.ID, "we_1", event.DeliveryDelivered) }))
	pending("leased, with one delivery written", 1)
	d.pass(t, work.LeaseDuration-time.Millisecond)
	expect.True(t, len(repeated) == 1, "fanned out %d times while it was leased", len(repeated))
	d.pass(t, time.Millisecond)
	finished := func(f *event.Fanout) error {
		return d.engine.Update(t.Context(), caller, func(tx *engine.Tx) error { return d.internal.FinishRest(tx, f) })
	}
	if diff := cmp.Diff([]bool{false, true}, repeated); diff != "" {
		t.Fatalf("fanned out again (-want +got)\n%s", diff)
	}
	expect.ErrorIs(t, finished(fanouts[0]), storage.ErrConflict, "the lease was over, and it was finished")
	expect.NoError(t, finished(fanouts[1]), "finished")
	d.pass(t, time.Hour)
	expect.True(t, len(repeated) == 2 && heard == 1, "fanned out %d times, and told %d times", len(repeated), heard)
	pending("finished", 0)
}
