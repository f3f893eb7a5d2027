package event_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// Record accepts all types of both lists of the specification, and the library's own.
const (
	listA = `payment.created payment.pending payment.completed payment.failed
		subscription.created subscription.updated subscription.canceled subscription.paused subscription.resumed
		subscription.trial_ending subscription.payment_failed payout.created payout.pending payout.completed payout.failed
		refund.created refund.completed refund.failed checkout.session.completed checkout.session.expired
		plan.created plan.updated plan.deleted`
	listB = `payment.created payment.pending payment.processing payment.succeeded payment.failed payment.canceled
		subscription.created subscription.updated subscription.canceled subscription.paused subscription.resumed
		subscription.trial_will_end subscription.payment_succeeded subscription.payment_failed
		payout.created payout.processing payout.completed payout.failed payout.canceled
		refund.created refund.succeeded refund.failed checkout.session.completed checkout.session.expired
		customer.created customer.updated customer.deleted`
	ours = `disbursement.created disbursement.pending disbursement.processing disbursement.completed disbursement.failed
		disbursement.canceled invoice.created invoice.updated invoice.finalized invoice.sent invoice.paid
		invoice.payment_failed invoice.voided invoice.marked_uncollectible invoice.deleted
		qr_code.created qr_code.updated qr_code.deleted webhook_endpoint.disabled
		disbursement_batch.created disbursement_batch.completed`
)

func TestCatalogueListsEveryTypeOfTheSpecification(t *testing.T) {
	var want []string
	for _, list := range []string{listA, listB, ours} {
		want = append(want, strings.Fields(list)...)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	var got []string
	for _, typ := range event.Types() {
		got = append(got, string(typ))
		if _, ok := typ.Canonical(); !ok {
			t.Errorf("%s is listed but unknown", typ)
		}
	}
	slices.Sort(got)
	expect.True(t, slices.Equal(got, want), "got  %v\nwant %v", got, want)
	for name, canonical := range map[event.Type]event.Type{
		"payment.completed": "payment.succeeded", "payment.succeeded": "payment.succeeded",
		"refund.completed": "refund.succeeded", "subscription.trial_ending": "subscription.trial_will_end",
		"payout.completed": "payout.completed",
	} {
		if got, ok := name.Canonical(); !ok || got != canonical {
			t.Errorf("%s: got %s, want %s", name, got, canonical)
		}
	}
	for _, unknown := range []event.Type{"", "*", "payment", "payment.succeded", "Payment.created"} {
		if _, ok := unknown.Canonical(); ok {
			t.Errorf("%q is known", unknown)
		}
	}
}

func TestHostRecordsItsOwnEvent(t *testing.T) {
	store := memory.New()
	must.Do(t, store.Define(t.Context(), append(engine.Kinds(), recording.Kinds()...)...))
	s := recording.New(&engine.Engine{
		Store: store, Clock: time.Now, NewID: ids.New(time.Now, nil).Make,
		Log: slog.New(slog.DiscardHandler), Runner: new(work.Runner),
	})
	caller := api.Caller{Merchant: "mer_1", RequestID: "req_1", IdempotencyKey: "sub-1"}
	plan := map[string]any{"id": "sub_1", "object": "subscription", "note": "<3"}
	first := must.Get(s.Record(t.Context(), caller, event.RecordParams{Type: "subscription.trial_ending", Object: plan}))(t)
	if string(first.Data.Object) != `{"id":"sub_1","note":"<3","object":"subscription"}` || *first.Request.ID != "req_1" {
		t.Errorf("event %+v, %s", first, first.Data.Object)
	}
	again, err := s.Record(t.Context(), caller, event.RecordParams{Type: "subscription.trial_ending", Object: plan})
	must.Do(t, err)
	expect.Equal(t, again.ID, first.ID, "again: ID")
	for typ, want := range map[event.Type]event.Type{
		"": "subscription.trial_will_end", "subscription.trial_ending": "subscription.trial_ending", "subscription.trial_will_end": "subscription.trial_will_end",
	} {
		list, err := s.List(t.Context(), caller, event.ListParams{Type: typ})
		must.True(t, err == nil, "%q: %+v, %v", typ, list, err)
		must.True(t, len(list.Data) == 1, "%q: %+v, %v", typ, list, err)
		expect.Equal(t, list.Data[0].Type, want, "%q: type of the first", typ)
	}
	got, err := s.Get(t.Context(), caller, first.ID)
	must.Do(t, err)
	expect.Equal(t, got.Type, "subscription.trial_will_end", "Get: type")

	caller.IdempotencyKey = ""
	for name, object := range map[string]any{
		"no object": nil, "a list": []int{1}, "a text": "sub_1", "what cannot be JSON": make(chan int),
		"too much": map[string]string{"a": strings.Repeat("a", 64<<10)},
	} {
		testkit.WantCode(t, name, testkit.Err(s.Record(t.Context(), caller, event.RecordParams{Type: "plan.created", Object: object})), api.ParameterInvalid)
	}
	testkit.WantCode(t, "an unknown type", testkit.Err(s.Record(t.Context(), caller, event.RecordParams{Type: "plan.burnt", Object: plan})), api.EventTypeUnknown)
}

// narrow are permissions to read some resources.
type narrow []string

func (n *narrow) Allows(resource string, write bool) bool {
	return !write && slices.Contains(*n, resource)
}

// A caller who may read events, but not the resource of one, sees only id and type of its
// object. Each type has a resource.
func TestEventHidesObjectTheCallerMayNotRead(t *testing.T) {
	for _, typ := range event.Types() {
		expect.True(t, api.IsResource(typ.Resource()), "%s has the resource %q", typ, typ.Resource())
	}
	expect.Equal(t, event.Type("payment").Resource(), "", "what is no type has the resource")

	s, _ := newService(t)
	caller := api.Caller{Merchant: "mer_1"}
	want := map[event.Type]string{
		"invoice.created": `{"id":"inv_1","object":"invoice"}`, "plan.created": `{"id":"plan_1","name":"Akua","object":"plan"}`,
		"payout.created": `{}`,
	}
	for typ, object := range map[event.Type]map[string]any{
		"invoice.created": {"object": "invoice", "id": "inv_1", "name": "Akua"},
		"plan.created":    {"object": "plan", "id": "plan_1", "name": "Akua"},
		"payout.created":  {"name": "Akua"}, // a host's
	} {
		must.Get(s.Record(t.Context(), caller, event.RecordParams{Type: typ, Object: object}))(t)
	}
	caller.Permissions = &narrow{"events", "plans"}
	list, err := s.List(t.Context(), caller, event.ListParams{})
	must.True(t, err == nil && len(list.Data) == len(want), "%d events, %v", len(list.Data), err)
	for _, e := range list.Data {
		one, err := s.Get(t.Context(), caller, e.ID)
		if err != nil || string(one.Data.Object) != want[e.Type] || string(e.Data.Object) != want[e.Type] {
			t.Errorf("%s: listed as %s, read as %s, %v", e.Type, e.Data.Object, one.Data.Object, err)
		}
	}
}

// A worker fans a partly stored event out again unless the rest is finished in time. A process
// that comes too late cannot finish it. Subscribers get it once.
func TestPartlyStoredEventIsFannedOutAgainUnlessFinished(t *testing.T) {
	d := newDiary(t)
	caller := api.Caller{Merchant: "mer_1"}
	d.subscribe(t, caller, "we_1", "we_2")
	heard := 0
	d.Subscribe("ledger", func(context.Context, api.Caller, event.Event) error { heard++; return nil })
	var fanouts []*recording.Fanout
	var repeated []bool
	d.runner = &work.Runner{Store: d.store, Clock: d.engine.Clock, Log: d.engine.Log, Poll: time.Second}
	d.runner.Add(work.Job{Kind: d.Kind(), Timeout: time.Minute, Batch: 1, RunOne: func(ctx context.Context, claimed storage.Record) error {
		return d.engine.Update(ctx, caller, func(tx *engine.Tx) error {
			f, err := d.NewFanout(claimed)
			if err != nil {
				return err
			}
			fanouts, repeated = append(fanouts, f), append(repeated, f.WasPartlyStored())
			return d.FinishPartly(tx, f, 2)
		})
	}})
	d.runner.Add(d.CallSubscribers())
	e := d.record(t, caller, struct{}{})
	pending := func(when string, want int) {
		t.Helper()
		got, err := d.Get(t.Context(), caller, e.ID)
		must.True(t, err == nil, "%s: %+v, %v; want %d pending", when, got, err, want)
		expect.Equal(t, got.PendingWebhooks, want, "%s: pending webhooks", when)
	}
	pending("before the fan-out", 2)
	d.pass(t, 0)
	must.Do(t, d.engine.Update(t.Context(), caller, func(tx *engine.Tx) error { return d.deliver(tx, e.ID, "we_1", event.DeliveryDelivered) }))
	pending("leased, with one delivery written", 1)
	d.pass(t, work.LeaseDuration-time.Millisecond)
	expect.True(t, len(repeated) == 1, "fanned out %d times while it was leased", len(repeated))
	d.pass(t, time.Millisecond)
	finished := func(f *recording.Fanout) error {
		return d.engine.Update(t.Context(), caller, func(tx *engine.Tx) error { return d.FinishRest(tx, f) })
	}
	if diff := cmp.Diff([]bool{false, true}, repeated); diff != "" {
		t.Fatalf("fanned out again (-want +got)\n%s", diff)
	}
	expect.ErrorIs(t, finished(fanouts[0]), storage.ErrConflict, "the lease was over, and it was finished")
	expect.NoError(t, finished(fanouts[1]), "finished")
	d.pass(t, time.Hour)
	expect.Equal(t, len(repeated), 2, "fanned out")
	expect.Equal(t, heard, 1, "told")
	pending("finished", 0)
}

// Every subscriber gets every event, and again when it fails or panics.
func TestSubscriberIsCalledAgainAfterFailure(t *testing.T) {
	now := time.Now()
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Clock: func() time.Time { return now }})
	var mu sync.Mutex
	told := map[string][]event.Type{}
	trouble := 2
	subscribe := func(name string, fail func() error) {
		s.Events.Subscribe(name, func(_ context.Context, caller api.Caller, e event.Event) error {
			mu.Lock()
			defer mu.Unlock()
			expect.Equal(t, caller.Merchant, s.Caller.Merchant, "the caller: merchant")
			expect.Equal(t, caller.Live, false, "the caller: Live")
			if err := fail(); err != nil {
				return err
			}
			told[name] = append(told[name], e.Type)
			return nil
		})
	}
	subscribe("ledger", func() error { return nil })
	subscribe("mail", func() error {
		if trouble--; trouble == 1 {
			return errors.New("planned")
		} else if trouble == 0 {
			panic("planned")
		}
		return nil
	})
	code := must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{}))(t)
	drain := func(by time.Duration) {
		t.Helper()
		now = now.Add(by)
		must.Do(t, s.Drain(t.Context()))
	}
	drain(0)
	expect.Equal(t, len(told["ledger"]), 1, "told: number of ledger")
	expect.Equal(t, len(told["mail"]), 0, "told: number of mail")
	drain(time.Second)
	drain(5 * time.Second)
	drain(time.Hour)
	want := []event.Type{event.QRCodeCreated}
	expect.True(t, slices.Equal(told["ledger"], want), "told %v", told)
	expect.True(t, slices.Equal(told["mail"], want), "told %v", told)
	s.Pay(code.ID, 100)
	drain(0)
	expect.Equal(t, len(told["ledger"]), 3, "told: number of ledger")
	expect.Equal(t, len(told["mail"]), 3, "told: number of mail")
	for _, name := range []string{"", "ledger", "Ledger", "a-b"} {
		func() {
			defer func() { expect.True(t, recover() != nil, "%q is taken", name) }()
			s.Events.Subscribe(name, func(context.Context, api.Caller, event.Event) error { return nil })
		}()
	}
}

func TestAllReadsEveryPage(t *testing.T) {
	s := paymentstest.New(t)
	for range 250 {
		must.Get(s.Events.Record(t.Context(), s.Caller, event.RecordParams{Type: "plan.created", Object: map[string]string{"id": "plan_1"}}))(t)
	}
	n, last := 0, ""
	for e, err := range api.All(t.Context(), s.Caller, event.ListParams{Type: "plan.created"}, s.Events.List) {
		must.Do(t, err)
		must.True(t, last == "" || e.ID < last, "not newest first")
		n, last = n+1, e.ID
	}
	expect.Equal(t, n, 250, "%d events", n)
	for range api.All(t.Context(), s.Caller, event.ListParams{}, s.Events.List) {
		break // which must end it
	}
	for _, err := range api.All(t.Context(), s.Caller, event.ListParams{Type: "nothing"}, s.Events.List) {
		expect.Equal(t, api.CodeOf(err), api.EventTypeUnknown, "got %v", err)
	}
}
