package event_test

import (
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
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func newService(t *testing.T) (*recording.Service, *engine.Engine) {
	t.Helper()
	store := memory.New()
	must.Do(t, store.Define(t.Context(), append(engine.Kinds(), recording.Kinds()...)...))
	e := &engine.Engine{
		Store: store, Clock: time.Now, NewID: ids.New(time.Now, nil).Make,
		Log: slog.New(slog.DiscardHandler), Runner: new(work.Runner),
	}
	s := recording.New(e)
	return s, e
}

// Every type of the catalogue may be recorded, and is found under its own name
// and under its synonym.
func TestEveryTypeIsRecordedAndFound(t *testing.T) {
	s, _ := newService(t)
	for _, typ := range event.Types() {
		caller := api.Caller{Merchant: "mer_" + string(typ)}
		recorded, err := s.Record(t.Context(), caller, event.RecordParams{Type: typ, Object: struct{}{}})
		if err != nil {
			t.Errorf("%s: %v", typ, err)
			continue
		}
		expect.Equal(t, recorded.Request, event.Request{}, "%s: request", typ)
		expect.Equal(t, recorded.Object, "event", "%s: object", typ)
		expect.Equal(t, string(recorded.Data.Object), "{}", "%s: object of the data", typ)
		list, err := s.List(t.Context(), caller, event.ListParams{Type: typ})
		must.True(t, err == nil, "%s: listed %+v, %v", typ, list, err)
		must.True(t, len(list.Data) == 1, "%s: listed %+v, %v", typ, list, err)
		expect.Equal(t, list.Data[0].Type, typ, "%s: listed: type of the first", typ)
		expect.Equal(t, list.Data[0].ID, recorded.ID, "%s: listed: ID of the first", typ)
	}
}

func TestLargeSnapshotIsRefused(t *testing.T) {
	s, _ := newService(t)
	caller := api.Caller{Merchant: "mer_1"}
	const around = len(`{"a":""}`)
	for size, want := range map[int]api.Code{64<<10 - around: "", 64<<10 - around + 1: api.ParameterInvalid} {
		_, err := s.Record(t.Context(), caller, event.RecordParams{Type: "plan.created", Object: map[string]string{"a": strings.Repeat("<", size)}})
		expect.Equal(t, api.CodeOf(err), want, "%d bytes: code", size+around)
		expect.True(t, want != "" || err == nil, "%d bytes: got %v", size+around, err)
	}
}

// The refusal of a wrong type names it, but not at any length.
func TestUnknownTypeIsRefused(t *testing.T) {
	s, e := newService(t)
	caller := api.Caller{Merchant: "mer_1"}
	long := event.Type(strings.Repeat("x", 10_000))
	_, err := s.List(t.Context(), caller, event.ListParams{Type: long})
	expect.Equal(t, api.CodeOf(err), api.EventTypeUnknown, "a filter: code")
	expect.True(t, len(err.Error()) <= 300, "a filter: got %.400v", err)
	err = e.Update(t.Context(), caller, func(tx *engine.Tx) error {
		return s.Append(tx, struct{}{}, event.PaymentCreated, "payment.lost")
	})
	expect.Equal(t, api.CodeOf(err), api.EventTypeUnknown, "a record: got %v", err)
	err = e.Update(t.Context(), caller, func(tx *engine.Tx) error { return s.Append(tx, make(chan int), event.PaymentCreated) })
	expect.True(t, err != nil, "an object that is no JSON: got %v", err)
	expect.Equal(t, api.CodeOf(err), "", "an object that is no JSON: code")
	list, err := s.List(t.Context(), caller, event.ListParams{})
	must.Do(t, err)
	expect.Equal(t, len(list.Data), 0, "events of refused transactions: number")
}

// A host that repeats itself, even at once, records one event.
func TestRecordIsIdempotent(t *testing.T) {
	s, _ := newService(t)
	caller := api.Caller{Merchant: "mer_1", IdempotencyKey: "sub-1"}
	record := func(typ event.Type, n int) (*event.Event, error) {
		return s.Record(t.Context(), caller, event.RecordParams{Type: typ, Object: map[string]int{"n": n}})
	}
	first := must.Get(record("plan.created", 1))(t)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			again, err := record("plan.created", 1)
			diff := cmp.Diff(first, again)
			expect.True(t, err == nil, "%v\n%s", err, diff)
			expect.True(t, diff == "", "%v\n%s", err, diff)
		})
	}
	all.Wait()
	for name, wrong := range map[string]func() (*event.Event, error){
		"another object": func() (*event.Event, error) { return record("plan.created", 2) },
		"another type":   func() (*event.Event, error) { return record("plan.updated", 1) },
	} {
		testkit.WantCode(t, name, testkit.Err(wrong()), api.IdempotencyKeyReused)
	}
	list, err := s.List(t.Context(), caller, event.ListParams{})
	must.Do(t, err)
	must.True(t, len(list.Data) == 1, "recorded %+v, %v", list, err)
	expect.Same(t, list.Data[0].Request.IdempotencyKey, new("sub-1"), "recorded: idempotency key of the request of the first")
	testkit.WantCode(t, "another merchant", testkit.Err(s.Get(t.Context(), api.Caller{Merchant: "mer_2"}, first.ID)), api.ResourceMissing)
}

// A merchant can send an event again ten times an hour. A refusal does not count.
func TestResendsAreBounded(t *testing.T) {
	s, e := newService(t)
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	e.Clock = func() time.Time { return now }
	caller := api.Caller{Merchant: "mer_1"}
	made := must.Get(s.Record(t.Context(), caller, event.RecordParams{Type: "plan.created", Object: struct{}{}}))(t)
	resend := func() error {
		return e.Update(t.Context(), caller, func(tx *engine.Tx) error {
			again, err := s.Resend(tx, made.ID)
			expect.True(t, err != nil || again.ID == made.ID, "got %+v", again)
			return err
		})
	}
	for range 10 {
		must.Do(t, resend())
	}
	for range 3 {
		testkit.WantCode(t, "number 11", resend(), api.RateLimited)
	}
	now = now.Add(time.Hour)
	expect.NoError(t, resend(), "an hour later")
}

// A page of large events ends by bytes, and says that there is more.
func TestPagesEndByBytes(t *testing.T) {
	s, _ := newService(t)
	caller := api.Caller{Merchant: "mer_1"}
	const made = 40
	for range made {
		must.Get(s.Record(t.Context(), caller, event.RecordParams{Type: "plan.created", Object: map[string]string{"a": strings.Repeat("x", 60<<10)}}))(t)
	}
	var seen []string
	p := event.ListParams{Page: api.Page{Limit: 100}}
	for {
		list := must.Get(s.List(t.Context(), caller, p))(t)
		size := 0
		for _, e := range list.Data {
			size += len(e.Data.Object)
			seen = append(seen, e.ID)
		}
		expect.True(t, size <= 1<<20, "a page of %d bytes", size)
		if !list.HasMore {
			break
		}
		p.StartingAfter = seen[len(seen)-1]
	}
	expect.Equal(t, len(seen), made, "the pages: number of events")
	expect.True(t, slices.IsSortedFunc(seen, func(a, b string) int { return strings.Compare(b, a) }), "the pages have %d events", len(seen))
}
