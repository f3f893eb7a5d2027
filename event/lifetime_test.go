package event_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// diary is the service with workers, a store that can fail and a clock that the test
// moves.
type diary struct {
	*recording.Service
	engine *engine.Engine
	store  *faultstore.Store
	now    time.Time
	runner *work.Runner

	keep   time.Duration
	mu     sync.Mutex // for fanned, which the workers write
	fanned []string   // events that were fanned out, in order, with their callers
}

func newDiary(t *testing.T) *diary {
	t.Helper()
	d := &diary{store: faultstore.New(memory.New()), now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	kinds := slices.Concat(engine.Kinds(), recording.Kinds(), retention.Kinds())
	must.Do(t, d.store.Define(t.Context(), append(kinds, pii.Erasures.Kind())...))
	clock := func() time.Time { return d.now }
	d.engine = &engine.Engine{
		Store: d.store, Clock: clock, NewID: ids.New(clock, nil).Make,
		Log: slog.New(slog.DiscardHandler), Runner: new(work.Runner),
	}
	d.open()
	return d
}

// open makes the service and its workers, as a new process does.
func (d *diary) open() {
	d.Service = recording.New(d.engine)
	d.runner = &work.Runner{Store: d.store, Clock: d.engine.Clock, Log: d.engine.Log, Poll: time.Second}
	kept, err := retention.New(context.Background(), d.engine, d.Retention(d.keep))
	if err != nil {
		panic(err)
	}
	d.runner.Add(kept.Job())
	d.runner.Add(d.fanOut(), d.CallSubscribers())
}

// fanOut is the job that fans events out to all endpoints, whose deliveries stay pending.
func (d *diary) fanOut() work.Job {
	return work.Job{Kind: d.Kind(), Timeout: time.Minute, Batch: 100, RunOne: func(ctx context.Context, claimed storage.Record) error {
		return d.engine.Update(ctx, api.Caller{}, func(tx *engine.Tx) error {
			f, err := d.NewFanout(claimed)
			if err != nil {
				return err
			}
			if tx, err = tx.As(f.Caller()); err != nil {
				return err
			}
			list, err := d.Subscriptions(tx, engine.Scope(tx.Caller))
			if err != nil {
				return err
			}
			for _, sub := range list {
				if err := d.deliver(tx, f.Event().ID, sub.Endpoint, event.DeliveryPending); err != nil {
					return err
				}
			}
			tx.OnCommit(func() {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.fanned = append(d.fanned, f.Event().ID+" "+tx.Caller.Merchant+" "+tx.Caller.RequestID+" "+tx.Caller.IdempotencyKey)
			})
			return d.Finish(tx, f, len(list))
		})
	}}
}

// deliver writes the first delivery of an event to an endpoint, or a change of it.
func (d *diary) deliver(tx *engine.Tx, id, endpoint string, status event.DeliveryStatus) error {
	o, err := d.Deliveries().GetOrNew(tx, engine.Scope(tx.Caller), d.FirstDeliveryID(id, endpoint))
	if err != nil {
		return err
	}
	o.Value = event.Delivery{ID: o.ID, Event: id, Endpoint: endpoint, Status: status}
	if status == event.DeliveryPending {
		o.Value.NextAttemptAt = api.AtOrNil(tx.Now)
	}
	return d.Deliveries().Put(tx, o)
}

// subscribe has endpoints of a merchant get all events.
func (d *diary) subscribe(t *testing.T, caller api.Caller, endpoints ...string) {
	t.Helper()
	must.Do(t, d.engine.Update(t.Context(), caller, func(tx *engine.Tx) error {
		for _, id := range endpoints {
			if err := d.PutSubscription(tx, recording.Subscription{Endpoint: id, Events: []event.Type{event.AllTypes}}); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (d *diary) record(t *testing.T, caller api.Caller, object any) *event.Event {
	t.Helper()
	return must.Get(d.Record(t.Context(), caller, event.RecordParams{Type: "plan.created", Object: object}))(t)
}

func (d *diary) pass(t *testing.T, by time.Duration) {
	t.Helper()
	d.now = d.now.Add(by)
	must.Do(t, d.runner.Drain(t.Context()))
}

// A worker fans an event out once, as the call that caused it. The event stays for the host's
// retention from its creation on; then retention removes it within the hour.
func TestEventIsKeptForItsRetention(t *testing.T) {
	d := newDiary(t)
	d.keep = 24 * time.Hour
	d.open()
	caller := api.Caller{Merchant: "mer_1", RequestID: "req_1", IdempotencyKey: "k-1"}
	unwanted := d.record(t, api.Caller{Merchant: "mer_1"}, struct{}{})
	d.subscribe(t, caller, "we_1", "we_2")
	wanted := d.record(t, caller, struct{}{})
	expect.Equal(t, unwanted.PendingWebhooks, 0, "pending webhooks")
	expect.Equal(t, wanted.PendingWebhooks, 2, "pending webhooks")
	d.pass(t, 24*time.Hour-time.Millisecond)
	expect.Same(t, d.fanned, []string{wanted.ID + " mer_1 req_1 k-1"}, "fanned out")
	// From then on a read counts them.
	err := d.engine.Update(t.Context(), caller, func(tx *engine.Tx) error { return d.deliver(tx, wanted.ID, "we_1", event.DeliveryDelivered) })
	must.Do(t, err)
	got, err := d.Get(t.Context(), caller, wanted.ID)
	must.Do(t, err)
	expect.Equal(t, got.PendingWebhooks, 1, "pending webhooks")
	err = d.engine.View(t.Context(), caller, func(tx *engine.ReadTx) error {
		then, err := d.EventAsSent(tx, engine.Scope(caller), wanted.ID)
		must.Do(t, err)
		expect.Equal(t, then.PendingWebhooks, 2, "as it was fanned out: pending webhooks")
		_, err = d.EventAsSent(tx, engine.Scope(api.Caller{Merchant: "mer_2"}), wanted.ID)
		expect.True(t, api.CodeOf(err) == api.ResourceMissing, "a stranger's: %v", err)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	expect.Equal(t, len(must.Get(d.List(t.Context(), caller, event.ListParams{}))(t).Data), 2, "events just before their time")
	d.pass(t, time.Hour)
	list, err := d.List(t.Context(), caller, event.ListParams{})
	must.Do(t, err)
	expect.Equal(t, len(list.Data), 0, "kept: number")
}

// Erasure takes the person out of every snapshot, leaves all else, and returns which events
// it has changed. Events that are recorded later hold nothing of the person either.
func TestErasureRedactsSnapshots(t *testing.T) {
	d := newDiary(t)
	caller := api.Caller{Merchant: "mer_1"}
	d.subscribe(t, caller, "we_1")
	d.subscribe(t, api.Caller{Merchant: "mer_2"}, "we_2")
	type object map[string]any
	customer := object{"id": "cus_1", "object": "customer", "name": "Akua", "email": "akua@example.com", "created_at": "x"}
	bill := object{"id": "inv_1", "object": "invoice", "customer": "cus_1", "customer_name": "Akua", "total": 5}
	var about []string
	for range api.MaxLimit { // more than one page
		about = append(about, d.record(t, caller, customer).ID)
	}
	about = append(about, d.record(t, caller, bill).ID)
	other := d.record(t, caller, object{"id": "cus_2", "object": "customer", "name": "Esi"})
	elsewhere := d.record(t, api.Caller{Merchant: "mer_2"}, customer)

	erase := func(id string) (changed []string) {
		t.Helper()
		for more := true; more; {
			var page []string
			must.Do(t, d.engine.Update(t.Context(), caller, func(tx *engine.Tx) (err error) {
				page, more, err = d.EraseCustomer(tx, id)
				return err
			}))
			changed = append(changed, page...)
		}
		slices.Sort(changed)
		return changed
	}
	expect.Same(t, erase("cus_1"), about, "changed")
	for _, id := range about {
		e := must.Get(d.Get(t.Context(), caller, id))(t)
		text := string(e.Data.Object)
		must.True(t, !strings.Contains(text, "ua") && strings.Contains(text, "cus_1"), "%s keeps %s", id, text)
	}
	for by, e := range map[api.Caller]*event.Event{caller: other, {Merchant: "mer_2"}: elsewhere} {
		now, err := d.Get(t.Context(), by, e.ID)
		if diff := cmp.Diff(e, now); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	}
	// They are still fanned out.
	d.pass(t, 0)
	expect.True(t, len(d.fanned) == len(about)+2, "%d were fanned out", len(d.fanned))

	// A concurrent call records the person after the deletion.
	must.Do(t, d.engine.Update(t.Context(), caller, func(tx *engine.Tx) error {
		_, err := pii.Erasures.Insert(tx, engine.Scope(caller), "cus_1", pii.Erasure{})
		return err
	}))
	late := d.record(t, caller, bill)
	expect.True(t, !strings.Contains(string(late.Data.Object), "Akua"), "recorded %s", late.Data.Object)

	e := d.record(t, caller, object{"id": "cus_3", "object": "customer", "name": "Yaa"})
	d.store.Each(t, "EraseCustomer", func() error {
		return d.engine.Update(t.Context(), caller, func(tx *engine.Tx) error {
			_, _, err := d.EraseCustomer(tx, "cus_3")
			return err
		})
	})
	if now, err := d.Get(t.Context(), caller, e.ID); err != nil || strings.Contains(string(now.Data.Object), "Yaa") {
		t.Errorf("kept %+v, %v", now, err)
	}
}

// An erasure of objects that has ended halfway is finished by its repetition, which returns
// all events of the objects, though the snapshots hold nothing any more.
func TestErasureOfObjectsCanBeRepeated(t *testing.T) {
	d := newDiary(t)
	caller := api.Caller{Merchant: "mer_1"}
	type object map[string]any
	want := map[string]storage.Scope{}
	for range 3 {
		want[d.record(t, caller, object{"id": "pay_1", "object": "payment", "phone": "024****221"}).ID] = engine.Scope(caller)
	}
	d.record(t, caller, object{"id": "pay_2", "object": "payment", "phone": "024****222"})
	for range 2 {
		about, err := d.EraseObjects(t.Context(), engine.Within{Scope: engine.Scope(caller)}, map[string]bool{"pay_1": true})
		diff := cmp.Diff(want, about)
		expect.True(t, diff == "", "%v, events of the objects (-want +got)\n%s", err, diff)
		must.Do(t, err)
	}
	list, err := d.List(t.Context(), caller, event.ListParams{})
	must.True(t, err == nil && len(list.Data) == 4, "%+v, %v", list, err)
	for _, e := range list.Data {
		_, erased := want[e.ID]
		kept := strings.Contains(string(e.Data.Object), "024****")
		expect.True(t, kept != erased, "%s is %s", e.ID, e.Data.Object)
	}
}

// The queued calls of a subscriber that this process does not have wait until it is back,
// and it gets every event then, but for those that were removed meanwhile.
func TestNotificationWaitsForItsSubscriber(t *testing.T) {
	d := newDiary(t)
	caller := api.Caller{Merchant: "mer_1"}
	nothing := func(context.Context, api.Caller, event.Event) error {
		t.Error("it was called")
		return nil
	}
	d.Subscribe("ledger", nothing)
	inside := d.In(d.engine) // as of a transaction of the host's
	first := must.Get(inside.Record(t.Context(), caller, event.RecordParams{Type: "plan.created", Object: struct{}{}}))(t)
	// The process ends after the fan-out; the next has no such subscriber.
	d.runner = &work.Runner{Store: d.store, Clock: d.engine.Clock, Log: d.engine.Log, Poll: time.Second}
	d.runner.Add(d.fanOut())
	d.pass(t, 0)
	d.open()
	for _, wait := range []time.Duration{0, time.Second, 5 * time.Second} {
		d.pass(t, wait)
	}
	d.open()
	var heard []string
	d.Subscribe("ledger", func(_ context.Context, by api.Caller, e event.Event) error {
		expect.True(t, by == caller, "for %+v", by)
		heard = append(heard, e.ID)
		return nil
	})
	d.pass(t, 30*time.Second-time.Millisecond)
	expect.True(t, len(heard) == 0, "told before the wait was over")
	d.pass(t, time.Millisecond)
	d.pass(t, time.Hour)
	expect.Same(t, heard, []string{first.ID}, "heard")

	// Subscribe panics inside the host's transaction.
	defer func() { expect.True(t, recover() != nil, "a subscription inside the host's transaction is taken") }()
	d.engine.Host = &engine.Host{}
	d.Subscribe("mail", nothing)
}

// When any operation of the store fails, the call returns the error. The workers notify
// every subscriber once the store works again.
func TestStoreFailuresLoseNoEvent(t *testing.T) {
	d := newDiary(t)
	caller, key := api.Caller{Merchant: "mer_1"}, api.Caller{Merchant: "mer_1", IdempotencyKey: "k"}
	var mu sync.Mutex
	heard := map[string]int{}
	d.subscribe(t, caller, "we_1")
	d.Subscribe("ledger", func(_ context.Context, _ api.Caller, e event.Event) error {
		mu.Lock()
		defer mu.Unlock()
		heard[e.ID]++
		return nil
	})
	var e *event.Event
	object := json.RawMessage(`{"object":"customer","id":"cus_1"}`)
	d.store.Each(t, "Record", func() (err error) {
		e, err = d.Record(t.Context(), key, event.RecordParams{Type: "plan.created", Object: object})
		return err
	})
	d.store.Each(t, "Get", func() error { _, err := d.Get(t.Context(), caller, e.ID); return err })
	d.store.Each(t, "List", func() error { _, err := d.List(t.Context(), caller, event.ListParams{}); return err })
	hit := true
	for k := 1; hit; k++ {
		d.store.FailAt(k)
		d.now = d.now.Add(24 * time.Hour) // past every lease and wait
		err := d.runner.Drain(t.Context())
		if hit = d.store.Heal(); err != nil && !errors.Is(err, faultstore.Err) {
			t.Fatal(err)
		}
		if hit && len(heard) > 0 {
			d.record(t, caller, struct{}{}) // so that there is work at every operation
		}
	}
	list, err := d.List(t.Context(), caller, event.ListParams{Page: api.Page{Limit: 100}})
	must.True(t, err == nil && len(list.Data) >= 2, "%+v, %v", list, err)
	for _, e := range list.Data {
		expect.True(t, heard[e.ID] != 0, "no subscriber got %s", e.ID)
	}
}

// A reader stands at an event that its age has removed. Reading goes on from its place, forward and back.
func TestPagingGoesOnFromRemovedEvent(t *testing.T) {
	d := newDiary(t)
	caller := api.Caller{Merchant: "mer_1"}
	var recorded []string
	for range 3 {
		recorded = append(recorded, d.record(t, caller, struct{}{}).ID)
	}
	must.Do(t, d.engine.Update(t.Context(), caller, func(tx *engine.Tx) error {
		r, err := tx.Get(d.Kind(), engine.Scope(caller), recorded[1])
		if err != nil {
			return err
		}
		_, err = d.Retention(time.Hour).Remove(tx, r)
		return err
	}))
	idsOf := func(p api.Page) (all []string) {
		t.Helper()
		for _, e := range must.Get(d.List(t.Context(), caller, event.ListParams{Page: p}))(t).Data {
			all = append(all, e.ID)
		}
		return all
	}
	expect.Same(t, idsOf(api.Page{EndingBefore: recorded[1]}), recorded[2:], "newer events")
	expect.Same(t, idsOf(api.Page{StartingAfter: recorded[1]}), recorded[:1], "older events")
}
