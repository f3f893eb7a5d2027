// Package recording records and lists events, and calls the subscribers of the host: it implements [event.Service].
//
// It owns events and subscribers. It also owns
// subscriptions and deliveries, from which it counts the webhook endpoints that an event has not
// reached yet. Package delivering makes and attempts the deliveries.
package recording

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pace"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/storage"
)

// record is the stored form of an event. Its PendingWebhooks is the number of endpoints that want the event. The
// recording sets it, and the fan-out sets it again. After the fan-out a read shows the number of pending
// deliveries instead. Storing that number would rewrite the event for each delivery.
type record struct {
	event.Event
	// Due is when a worker fans the event out to its endpoints; nil once FannedOut.
	Due       *api.Time `json:"due,omitempty"`
	FannedOut bool      `json:"fanned_out,omitempty"`
	// PartlyStored says that the event was fanned out, but that not all deliveries are stored
	// yet; see [Fanout].
	PartlyStored bool `json:"partly_stored,omitempty"`
	// Activations is the number of activations of endpoints in the scope until the event was recorded.
	Activations int64 `json:"activations,omitempty"`
	// Resent are the times of the last resends, the oldest first.
	Resent []api.Time `json:"resent,omitempty"`
	// StoredPerson stores Person, which the JSON of an event leaves out; see package pii.
	StoredPerson string `json:"person,omitempty"`
}

var events = storage.NewCollection("events", []storage.Field[record]{
	storage.TextColumn("type", func(r *record) string { return string(r.Type) }).Indexed(),
	storage.TimeColumn("created", func(r *record) time.Time { return r.CreatedAt.Time }).Indexed(),
	storage.NullTimeColumn("due", func(r *record) *api.Time { return r.Due }),
	storage.TextColumn("person", func(r *record) string { return r.StoredPerson }).Nullable().Indexed(),
}, storage.DueBy("due"), storage.InCommitOrder).Verbatim(func(r *record) *json.RawMessage { return &r.Data.Object })

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind {
	return []*storage.Kind{events.Kind(), subscriberCalls.Kind(), subscribed.Kind(), deliveries.Kind()}
}

// maxSnapshot bounds the object of a host's own event, in bytes of JSON.
const maxSnapshot = 64 << 10

// Service implements [event.Service].
type Service struct {
	engine *engine.Engine

	subscribers map[string]event.Subscriber
	names       []string // of the subscribers, in the order of Subscribe
}

var _ event.Service = (*Service)(nil)

// New returns the service.
func New(e *engine.Engine) *Service { return &Service{engine: e} }

func (s *Service) Record(ctx context.Context, caller api.Caller, p event.RecordParams) (*event.Event, error) {
	snapshot, err := plainjson.Marshal(p.Object)
	if err != nil || len(snapshot) == 0 || snapshot[0] != '{' {
		return nil, api.Invalid("object", "The object of an event must be one that marshals to a JSON object.").WithCause(err)
	}
	if len(snapshot) > maxSnapshot {
		return nil, api.Invalid("object", "The object of an event may have at most %d bytes of JSON.", maxSnapshot)
	}
	op := engine.Operation{Name: "event.record", Params: struct {
		Type   event.Type      `json:"type"`
		Object json.RawMessage `json:"object"`
	}{p.Type, snapshot}}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*event.Event, error) {
		return s.insert(tx, p.Type, p.Object, snapshot)
	})
}

// Append writes an event of each type in the caller's transaction, all with the same
// snapshot of the object, which must marshal to the JSON of the API.
func (s *Service) Append(tx *engine.Tx, object any, types ...event.Type) error {
	snapshot, err := plainjson.Marshal(object)
	if err != nil {
		return fmt.Errorf("event: snapshot for %v: %w", types, err)
	}
	for _, t := range types {
		if _, err := s.insert(tx, t, object, snapshot); err != nil {
			return err
		}
	}
	return nil
}

// insert writes one event. It is due at once if an endpoint or a subscriber wants it.
func (s *Service) insert(tx *engine.Tx, t event.Type, object any, snapshot []byte) (*event.Event, error) {
	if tx.Caller.Merchant == "" { // catches every write without a merchant, since each records an event
		return nil, engine.ErrNoMerchant
	}
	canonical, ok := t.Canonical()
	if !ok {
		return nil, unknownType("type", t)
	}
	snapshot, person, err := pii.ForStorage(tx, engine.Scope(tx.Caller), object, snapshot)
	if err != nil {
		return nil, fmt.Errorf("event: snapshot for %s: %w", t, err)
	}
	r := record{Event: event.Event{
		ID: tx.NewID("evt_"), Object: "event", Type: canonical,
		CreatedAt: api.At(tx.Now), Data: event.Data{Object: snapshot},
		Request: event.Request{ID: api.TextOrNil(tx.Caller.RequestID), IdempotencyKey: api.TextOrNil(tx.Caller.IdempotencyKey)},
	}, StoredPerson: person}
	active, err := readSubscriptions(tx, engine.Scope(tx.Caller))
	if err != nil {
		return nil, err
	}
	r.PendingWebhooks, r.Activations = active.count(canonical), active.Activations
	if r.PendingWebhooks > 0 || len(s.names) > 0 {
		r.Due = &r.CreatedAt
		tx.WakeAfterCommit(events.Kind())
	} else {
		r.markFannedOut()
	}
	if _, err := events.Insert(tx, engine.Scope(tx.Caller), r.ID, r); err != nil {
		return nil, fmt.Errorf("event: record %s: %w", t, err)
	}
	r.Person = r.StoredPerson
	return &r.Event, nil
}

// markFannedOut notes that all deliveries are stored, so that the event is no longer due.
func (r *record) markFannedOut() { r.Due, r.FannedOut, r.PartlyStored = nil, true, false }

func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*event.Event, error) {
	var e *event.Event
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		var err error
		e, err = s.GetIn(tx, engine.Scope(caller), id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return redactedFor(e, caller), nil
}

// RedactedFor returns the event as the caller may see it; see [event.Data].
func (*Service) RedactedFor(caller api.Caller, e *event.Event) *event.Event {
	return redactedFor(e, caller)
}

// BodyForReaders returns the JSON of an event, as deliveries carry it, for an endpoint of a caller who may
// only read the resource of its type.
func (*Service) BodyForReaders(t event.Type, body []byte) ([]byte, error) {
	if _, ok := forWriters[t.Resource()]; !ok {
		return body, nil
	}
	return plainjson.Edit(body, func(name string, data json.RawMessage) (json.RawMessage, error) {
		if name != "data" {
			return data, nil
		}
		return plainjson.Edit(data, func(_ string, object json.RawMessage) (json.RawMessage, error) {
			return forReaders(t, object), nil
		})
	})
}

func redactedFor(e *event.Event, caller api.Caller) *event.Event {
	resource := e.Type.Resource()
	if caller.Writes(resource) {
		return e
	}
	if caller.Reads(resource) {
		shown := *e
		shown.Data.Object = forReaders(e.Type, e.Data.Object)
		return &shown
	}
	var head struct {
		ID     json.RawMessage `json:"id,omitempty"`
		Object json.RawMessage `json:"object,omitempty"`
	}
	_ = json.Unmarshal(e.Data.Object, &head) // an object that is no JSON shows nothing
	shown := *e
	shown.Data.Object, _ = json.Marshal(head) // never fails: they were parsed
	return &shown
}

// EventAsSent returns an event as its deliveries carry it: pending_webhooks is the number of
// endpoints that wanted it at the fan-out.
func (*Service) EventAsSent(tx storage.ReadTx, scope storage.Scope, id string) (*event.Event, error) {
	o, err := engine.GetTx(tx, events, scope, id, "event")
	if err != nil {
		return nil, err
	}
	o.Value.Person = o.Value.StoredPerson
	return &o.Value.Event, nil
}

// GetIn returns one event in a transaction, with its whole object. Get redacts it for the caller.
func (s *Service) GetIn(tx storage.ReadTx, scope storage.Scope, id string) (*event.Event, error) {
	o, err := engine.GetTx(tx, events, scope, id, "event")
	if err != nil {
		return nil, err
	}
	o.Value.Person = o.Value.StoredPerson
	return &o.Value.Event, s.countPending(tx, scope, &o.Value)
}

// resends bounds how often a merchant can send one event again, to all endpoints together.
var resends = pace.Limit{Hour: 10, Day: 50}

// Resend notes that an event is sent again, and returns it. It refuses more than 10 resends
// an hour or 50 a day with rate_limited.
func (s *Service) Resend(tx *engine.Tx, id string) (*event.Event, error) {
	o, err := engine.GetTx(tx, events, engine.Scope(tx.Caller), id, "event")
	if err != nil {
		return nil, err
	}
	if o.Value.Resent, err = resends.Take(o.Value.Resent, tx.Now, "This event was sent again"); err != nil {
		return nil, err
	}
	if err := events.Replace(tx, o); err != nil {
		return nil, fmt.Errorf("event: note resend: %w", err)
	}
	if o.Value.Due != nil {
		tx.WakeAfterCommit(events.Kind()) // Replace ended the lease of its worker
	}
	o.Value.Person = o.Value.StoredPerson
	return &o.Value.Event, s.countPending(tx, o.Scope, &o.Value)
}

// countPending sets PendingWebhooks to the number of pending deliveries. An event that is not
// fanned out has none, and keeps the number of endpoints that want it.
func (s *Service) countPending(tx storage.ReadTx, scope storage.Scope, r *record) error {
	if !r.FannedOut && !r.PartlyStored {
		return nil
	}
	n, err := pendingDeliveries(tx, scope, r)
	if err != nil {
		return fmt.Errorf("event: count pending webhooks: %w", err)
	}
	r.PendingWebhooks = n
	return nil
}

func (s *Service) List(ctx context.Context, caller api.Caller, p event.ListParams) (*api.List[event.Event], error) {
	canonical, ok := p.Type.Canonical()
	if p.Type != "" && !ok {
		return nil, unknownType("type", p.Type)
	}
	q := engine.Query(caller, event.ListParams{Type: canonical, Created: p.Created})
	listing := engine.Listing[record, record]{
		Collection: events, Noun: "event", URL: "/v1/events", Show: func(r *record) record { return *r },
	}
	var list *api.List[event.Event]
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		found, err := listing.ListTx(tx, q, p.Page)
		if err != nil {
			return err
		}
		data := make([]event.Event, len(found.Data))
		for i := range found.Data {
			r := &found.Data[i]
			if err := s.countPending(tx, q.Scope, r); err != nil {
				return err
			}
			if p.Type != "" {
				r.Type = p.Type
			}
			data[i] = *redactedFor(&r.Event, caller)
		}
		list = api.NewList(found.URL, data, found.HasMore)
		return nil
	})
	return list, err
}

// Retention returns the rule that removes old events once they are fanned out. It leaves
// their deliveries.
func (*Service) Retention(keep time.Duration) retention.Rule {
	return retention.NewRule(events, keep, func(r *record) (api.Time, bool) { return r.CreatedAt, r.FannedOut })
}

// ListAfter returns the events of a period that come after one in the list, which may be gone; see
// [engine.Listing.ListAfter].
func (s *Service) ListAfter(ctx context.Context, e *engine.Engine, caller api.Caller, created api.Times, id string) (*api.List[event.Event], error) {
	listing := engine.Listing[record, event.Event]{Collection: events, Noun: "event", Show: func(r *record) event.Event { return r.Event }}
	return listing.ListAfter(ctx, e, engine.Query(caller, event.ListParams{Created: created}), id)
}

func unknownType(param string, t event.Type) error {
	const shown = 64
	if len(t) > shown {
		t = t[:shown] + "…"
	}
	return api.Errorf(api.EventTypeUnknown, param, "%q is no event type. The types are listed with the events in the documentation.", string(t))
}

// In returns a copy of the service that works in e, the engine of a host's transaction.
func (s *Service) In(e *engine.Engine) *Service {
	in := *s
	in.engine = e
	return &in
}
