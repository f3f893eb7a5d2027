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
	"github.com/seed-7082ffec/payments/internal/due"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/faulty"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/personal"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// diary is the service with workers, a store that can fail and a clock that the test
// moves.
type diary struct {
	*event.Service
	engine *engine.Engine
	store  *faulty.Store
	now    time.Time
	runner *due.Runner

	keep    time.Duration
	waiting int      // endpoints that want each event
	fanned  []string // events that were fanned out, in order, with their callers
	gone    []string // events whose deliveries were removed
}

func newDiary(t *testing.T) *diary {
	t.Helper()
	d := &diary{store: faulty.New(memory.New()), now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	kinds := slices.Concat(engine.Kinds(), event.Kinds(), retention.Kinds())
	if err := d.store.Define(t.Context(), append(kinds, personal.Erasures.Kind())...); err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return d.now }
	d.engine = &engine.Engine{
		Store: d.store, Clock: clock, NewID: ids.New(clock, nil).Make,
		Log: slog.New(slog.DiscardHandler), Wake: func(*storage.Kind, storage.Scope, time.Time) {},
	}
	d.open()
	return d
}

// open makes the service and its workers, as a new process does.
func (d *diary) open() {
	d.Service = event.New(d.engine)
	d.Watch = func(storage.ReadTx, storage.Scope, event.Type) (int, error) { return d.waiting, nil }
	d.Pending = func(storage.ReadTx, storage.Scope, *event.Event, bool) (int, error) { return d.waiting, nil }
	d.runner = &due.Runner{Store: d.store, Clock: d.engine.Clock, Log: d.engine.Log, Poll: time.Second}
	tell := func(tx *engine.Tx, o *event.Open) (int, error) {
		d.fanned = append(d.fanned, o.Event().ID+" "+tx.Caller.Merchant+" "+tx.Caller.RequestID+" "+tx.Caller.IdempotencyKey)
		return d.waiting, nil
	}
	forget := func(_ *engine.Tx, id string) (int, error) {
		d.gone = append(d.gone, id)
		return 1, nil
	}
	kept, err := retention.New(context.Background(), d.engine, event.Retention(d.keep, forget))
	if err != nil {
		panic(err)
	}
	d.runner.Add(kept.Job())
	d.runner.Add(d.FanOut(event.Telling{Teller: func() event.Teller { return tell }, Room: func(bool) int { return 100 }}))
	d.runner.Add(d.TellSubscribers())
}

func (d *diary) record(t *testing.T, caller api.Caller, object any) *event.Event {
	t.Helper()
	e, err := d.Record(t.Context(), caller, "plan.created", object)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (d *diary) pass(t *testing.T, by time.Duration) {
	t.Helper()
	d.now = d.now.Add(by)
	if err := d.runner.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// An event that is wanted is fanned out once, as the call that caused it, and kept
// for as long as the host says from its creation on; then, within the hour, it goes with
// its deliveries.
func TestRetention(t *testing.T) {
	d := newDiary(t)
	d.keep = 24 * time.Hour
	d.open()
	caller := api.Caller{Merchant: "mer_1", RequestID: "req_1", IdempotencyKey: "k-1"}
	unwanted := d.record(t, api.Caller{Merchant: "mer_1"}, struct{}{})
	d.waiting = 2
	wanted := d.record(t, caller, struct{}{})
	if unwanted.PendingWebhooks != 0 || wanted.PendingWebhooks != 2 {
		t.Errorf("%d and %d wait", unwanted.PendingWebhooks, wanted.PendingWebhooks)
	}
	d.pass(t, 24*time.Hour-time.Millisecond)
	if diff := cmp.Diff([]string{wanted.ID + " mer_1 req_1 k-1"}, d.fanned); diff != "" {
		t.Errorf("fanned out (-want +got)\n%s", diff)
	}
	// From then on they are counted when somebody asks.
	d.waiting = 1
	got, err := d.Get(t.Context(), caller, wanted.ID)
	if err != nil || got.PendingWebhooks != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	err = d.engine.View(t.Context(), caller, func(tx *engine.ReadTx) error {
		then, err := d.FannedOutTx(tx, caller.Scope(), wanted.ID)
		if err != nil || then.PendingWebhooks != 2 {
			t.Errorf("as it was fanned out: %+v, %v", then, err)
		}
		_, err = d.FannedOutTx(tx, api.Caller{Merchant: "mer_2"}.Scope(), wanted.ID)
		if api.CodeOf(err) != api.ResourceMissing {
			t.Errorf("a stranger's: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if len(d.gone) != 0 {
		t.Errorf("gone too early: %v", d.gone)
	}
	d.pass(t, time.Hour)
	want := []string{unwanted.ID, wanted.ID}
	slices.Sort(want)
	slices.Sort(d.gone)
	if diff := cmp.Diff(want, d.gone); diff != "" {
		t.Errorf("gone (-want +got)\n%s", diff)
	}
	list, err := d.List(t.Context(), caller, event.ListParams{})
	if err != nil || len(list.Data) != 0 {
		t.Errorf("kept %+v, %v", list, err)
	}
}

// Erasure takes the person out of every snapshot, and leaves all else; endpoints'
// deliveries are asked to follow. What is recorded later says nothing either.
func TestErase(t *testing.T) {
	d := newDiary(t)
	d.waiting = 1
	caller := api.Caller{Merchant: "mer_1"}
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

	var told []string
	d.Erased = func(_ *engine.Tx, id string) error {
		told = append(told, id)
		return nil
	}
	if err := d.Erase(t.Context(), caller, "cus_1"); err != nil {
		t.Fatal(err)
	}
	if len(told) != len(about) {
		t.Errorf("%d events were told of, and %d hold data", len(told), len(about))
	}
	for _, id := range about {
		e, err := d.Get(t.Context(), caller, id)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(e.Data.Object); strings.Contains(text, "ua") || !strings.Contains(text, "cus_1") {
			t.Fatalf("%s keeps %s", id, text)
		}
	}
	for by, e := range map[api.Caller]*event.Event{caller: other, {Merchant: "mer_2"}: elsewhere} {
		now, err := d.Get(t.Context(), by, e.ID)
		if diff := cmp.Diff(e, now); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	}
	// They still reach those who wait for them.
	d.pass(t, 0)
	if len(d.fanned) != len(about)+2 {
		t.Errorf("%d were fanned out", len(d.fanned))
	}

	// A call that was under way records the person after the deletion.
	err := d.engine.Update(t.Context(), caller, func(tx *engine.Tx) error {
		_, err := personal.Erasures.Insert(tx, caller.Scope(), "cus_1", personal.Erasure{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if late := d.record(t, caller, bill); strings.Contains(string(late.Data.Object), "Akua") {
		t.Errorf("recorded %s", late.Data.Object)
	}

	// What nobody asks to be told of is fine; what fails is said.
	told, d.Erased = nil, nil
	e := d.record(t, caller, object{"id": "cus_3", "object": "customer", "name": "Yaa"})
	planned := errors.New("planned")
	d.Erased = func(*engine.Tx, string) error { return planned }
	if err := d.Erase(t.Context(), caller, "cus_3"); !errors.Is(err, planned) {
		t.Errorf("got %v", err)
	}
	if now, err := d.Get(t.Context(), caller, e.ID); err != nil || !strings.Contains(string(now.Data.Object), "Yaa") {
		t.Errorf("half an erasure: %+v, %v", now, err)
	}
	d.Erased = nil
	d.store.Each(t, "Erase", func() error { return d.Erase(t.Context(), caller, "cus_3") })
	if now, err := d.Get(t.Context(), caller, e.ID); err != nil || strings.Contains(string(now.Data.Object), "Yaa") {
		t.Errorf("kept %+v, %v", now, err)
	}
}

// An erasure of objects that ends before all deliveries have followed is finished by its
// repetition, though the snapshots hold nothing any more.
func TestEraseObjectsAgain(t *testing.T) {
	d := newDiary(t)
	caller := api.Caller{Merchant: "mer_1"}
	type object map[string]any
	about := map[string]bool{}
	for range 3 {
		about[d.record(t, caller, object{"id": "pay_1", "object": "payment", "phone": "024****221"}).ID] = true
	}
	d.record(t, caller, object{"id": "pay_2", "object": "payment", "phone": "024****222"})
	told := map[string]bool{}
	planned := errors.New("planned")
	erase := func() error {
		return d.EraseObjects(t.Context(), engine.Within{Scope: caller.Scope()}, map[string]bool{"pay_1": true})
	}
	d.Erased = func(_ *engine.Tx, id string) error {
		if len(told) > 0 {
			return planned
		}
		told[id] = true
		return nil
	}
	if err := erase(); !errors.Is(err, planned) {
		t.Errorf("got %v", err)
	}
	d.Erased = func(_ *engine.Tx, id string) error {
		told[id] = true
		return nil
	}
	if err := erase(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(about, told); diff != "" {
		t.Errorf("deliveries that were asked to follow (-want +got)\n%s", diff)
	}
	list, err := d.List(t.Context(), caller, event.ListParams{})
	if err != nil || len(list.Data) != 4 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, e := range list.Data {
		if kept := strings.Contains(string(e.Data.Object), "024****"); kept == about[e.ID] {
			t.Errorf("%s is %s", e.ID, e.Data.Object)
		}
	}
}

// A subscriber that this process does not have is waited for, and hears everything
// once it is back; an event that was forgotten meanwhile is nobody's business.
func TestASubscriberOfAnotherProcess(t *testing.T) {
	d := newDiary(t)
	caller := api.Caller{Merchant: "mer_1"}
	nothing := func(context.Context, api.Caller, event.Event) error {
		t.Error("it was called")
		return nil
	}
	d.Subscribe("ledger", nothing)
	inside := event.New(d.engine) // as of a transaction of the host's
	inside.SubscribersOf(d.Service)
	first, err := inside.Record(t.Context(), caller, "plan.created", struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	// The process ends after the fan-out; the next has no such subscriber.
	d.runner = &due.Runner{Store: d.store, Clock: d.engine.Clock, Log: d.engine.Log, Poll: time.Second}
	d.runner.Add(d.FanOut(event.Telling{
		Teller: func() event.Teller { return func(*engine.Tx, *event.Open) (int, error) { return 0, nil } },
		Room:   func(bool) int { return 1 },
	}))
	d.pass(t, 0)
	d.open()
	for _, wait := range []time.Duration{0, time.Second, 5 * time.Second} {
		d.pass(t, wait)
	}
	d.open()
	var heard []string
	d.Subscribe("ledger", func(_ context.Context, by api.Caller, e event.Event) error {
		if by != caller {
			t.Errorf("for %+v", by)
		}
		heard = append(heard, e.ID)
		return nil
	})
	d.pass(t, 30*time.Second-time.Millisecond)
	if len(heard) != 0 {
		t.Error("told before the wait was over")
	}
	d.pass(t, time.Millisecond)
	d.pass(t, time.Hour)
	if diff := cmp.Diff([]string{first.ID}, heard); diff != "" {
		t.Errorf("heard (-want +got)\n%s", diff)
	}

	// Inside the host's transaction nobody subscribes.
	defer func() {
		if recover() == nil {
			t.Error("a subscription inside the host's transaction is taken")
		}
	}()
	d.engine.Host = &engine.Host{}
	d.Subscribe("mail", nothing)
}

// Whichever operation of the store fails: calls say so, and the workers come to an
// end with everything told once it has passed.
func TestNoFailureOfTheStoreIsLost(t *testing.T) {
	d := newDiary(t)
	caller, key := api.Caller{Merchant: "mer_1"}, api.Caller{Merchant: "mer_1", IdempotencyKey: "k"}
	var mu sync.Mutex
	heard := map[string]int{}
	d.waiting = 1
	d.Subscribe("ledger", func(_ context.Context, _ api.Caller, e event.Event) error {
		mu.Lock()
		defer mu.Unlock()
		heard[e.ID]++
		return nil
	})
	var e *event.Event
	object := json.RawMessage(`{"object":"customer","id":"cus_1"}`)
	d.store.Each(t, "Record", func() (err error) {
		e, err = d.Record(t.Context(), key, "plan.created", object)
		return err
	})
	d.store.Each(t, "Get", func() error { _, err := d.Get(t.Context(), caller, e.ID); return err })
	d.store.Each(t, "List", func() error { _, err := d.List(t.Context(), caller, event.ListParams{}); return err })
	hit := true
	for k := 1; hit; k++ {
		d.store.FailAt(k)
		d.now = d.now.Add(24 * time.Hour) // past every lease and wait
		err := d.runner.Drain(t.Context())
		if hit = d.store.Heal(); err != nil && !errors.Is(err, faulty.Err) {
			t.Fatal(err)
		}
		if hit && len(heard) > 0 {
			d.record(t, caller, struct{}{}) // so that there is work at every operation
		}
	}
	list, err := d.List(t.Context(), caller, event.ListParams{Page: api.Page{Limit: 100}})
	if err != nil || len(list.Data) < 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, e := range list.Data {
		if heard[e.ID] == 0 {
			t.Errorf("of %s nobody has heard", e.ID)
		}
	}
	fails := errors.New("planned")
	d.Pending = func(storage.ReadTx, storage.Scope, *event.Event, bool) (int, error) { return 0, fails }
	if _, err := d.Get(t.Context(), caller, e.ID); !errors.Is(err, fails) {
		t.Errorf("Get: %v", err)
	}
	if _, err := d.List(t.Context(), caller, event.ListParams{}); !errors.Is(err, fails) {
		t.Errorf("List: %v", err)
	}
	d.Watch = func(storage.ReadTx, storage.Scope, event.Type) (int, error) { return 0, fails }
	if _, err := d.Record(t.Context(), caller, "plan.created", struct{}{}); !errors.Is(err, fails) {
		t.Errorf("Record: %v", err)
	}
}
