// Package event records and lists events, such as payment.succeeded.
//
// It owns events, the catalogue of their types, and subscribers in the host's process. It also owns
// subscriptions and deliveries, from which it counts the webhook endpoints that an event has not
// reached yet. A call writes its event in the same transaction as the change, so neither exists
// without the other. Package delivering, which uses this package, makes and attempts the deliveries.
package event

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pace"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/storage"
)

// Event is a change of an object, with a snapshot of the object.
type Event struct {
	ID        string   `json:"id"`
	Object    string   `json:"object"` // always "event"
	Type      Type     `json:"type"`
	CreatedAt api.Time `json:"created_at"`
	Data      Data     `json:"data"`
	// PendingWebhooks counts the webhook endpoints that the event has not reached yet.
	PendingWebhooks int     `json:"pending_webhooks"`
	Request         Request `json:"request"`
	// Person is the customer whose data the object holds; empty for none. JSON omits it.
	Person string `json:"-"`
}

// PersonID returns the customer whose data the object holds. The erasure of the customer
// finds copies of the event by it.
func (e *Event) PersonID() string { return e.Person }

// Data holds the snapshot of the object. A caller who may not read the resource of the
// object sees only its id and type. A caller who may not write it sees no member by which a reader
// could change the object, such as manage_url of a subscription.
type Data struct {
	Object json.RawMessage `json:"object"`
}

// Request is the call that caused the event; its fields are null if none did.
type Request struct {
	ID             *string `json:"id"`
	IdempotencyKey *string `json:"idempotency_key"`
}

// record is the stored form of an event. Its PendingWebhooks is the number of endpoints that
// want the event: first of those at its recording, then of those at the fan-out. After the
// fan-out a read shows how many deliveries are pending instead. A stored count of them would
// rewrite the event for each delivery.
type record struct {
	Event
	// Due is when a worker fans the event out to its endpoints; nil once FannedOut.
	Due       *api.Time `json:"due,omitempty"`
	FannedOut bool      `json:"fanned_out,omitempty"`
	// PartlyStored says that the event was fanned out, but that not all deliveries are stored
	// yet; see [Fanout].
	PartlyStored bool `json:"partly_stored,omitempty"`
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
}, storage.DueBy("due")).Verbatim(func(r *record) *json.RawMessage { return &r.Data.Object })

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind {
	return []*storage.Kind{events.Kind(), subscriberCalls.Kind(), heads.Kind(), subscribed.Kind(), deliveries.Kind()}
}

// maxSnapshot bounds the object of a host's own event, in bytes of JSON.
const maxSnapshot = 64 << 10

// Service records and reads events. Its methods but Subscribe are safe for concurrent use.
type Service struct {
	engine *engine.Engine

	subscribers map[string]Subscriber
	names       []string // of the subscribers, in the order of Subscribe
}

// Internal is what the packages of this module call, most of it in their transactions.
// Only payments.New has one.
type Internal struct{ svc *Service }

// New returns the service for hosts and the one for the packages of this module.
func New(e *engine.Engine) (*Service, *Internal) {
	s := &Service{engine: e}
	return s, &Internal{s}
}

// RecordParams describes an event of the host.
type RecordParams struct {
	// Type is any type of [Types].
	Type Type
	// Object is what data.object will be. It must marshal to a JSON object of at most 64 KiB.
	Object any
}

// Record writes an event of the host's own: for a fact that only the host knows, such as the change of a
// customer in its own directory.
//
// Refusals: event_type_unknown, and parameter_invalid (object).
func (s *Service) Record(ctx context.Context, caller api.Caller, p RecordParams) (*Event, error) {
	snapshot, err := plainjson.Marshal(p.Object)
	if err != nil || len(snapshot) == 0 || snapshot[0] != '{' {
		return nil, api.Invalid("object", "The object of an event must be one that marshals to a JSON object.").WithCause(err)
	}
	if len(snapshot) > maxSnapshot {
		return nil, api.Invalid("object", "The object of an event may have at most %d bytes of JSON.", maxSnapshot)
	}
	op := engine.Operation{Name: "event.record", Params: struct {
		Type   Type            `json:"type"`
		Object json.RawMessage `json:"object"`
	}{p.Type, snapshot}}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*Event, error) {
		made, err := s.newIDs(tx, 1)
		if err != nil {
			return nil, err
		}
		return s.insert(tx, made[0], p.Type, p.Object, snapshot)
	})
}

// Record writes an event of each type in the caller's transaction, all with the same
// snapshot of the object, which must marshal to the JSON of the API.
func (i *Internal) Record(tx *engine.Tx, object any, types ...Type) error {
	snapshot, err := plainjson.Marshal(object)
	if err != nil {
		return fmt.Errorf("event: snapshot for %v: %w", types, err)
	}
	made, err := i.svc.newIDs(tx, len(types))
	if err != nil {
		return err
	}
	for n, t := range types {
		if _, err := i.svc.insert(tx, made[n], t, object, snapshot); err != nil {
			return err
		}
	}
	return nil
}

// insert writes one event. It is due at once if an endpoint or a subscriber wants it.
func (s *Service) insert(tx *engine.Tx, id string, t Type, object any, snapshot []byte) (*Event, error) {
	if tx.Caller.Merchant == "" { // each call for a merchant that writes has an event
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
	r := record{Event: Event{
		ID: id, Object: "event", Type: canonical,
		CreatedAt: api.At(tx.Now), Data: Data{Object: snapshot},
		Request: Request{ID: api.TextOrNil(tx.Caller.RequestID), IdempotencyKey: api.TextOrNil(tx.Caller.IdempotencyKey)},
	}, StoredPerson: person}
	if r.PendingWebhooks, err = countSubscriptions(tx, engine.Scope(tx.Caller), canonical); err != nil {
		return nil, err
	}
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

// Get returns one event.
func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*Event, error) {
	var e *Event
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		var err error
		e, err = s.get(tx, engine.Scope(caller), id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return e.redactedFor(caller), nil
}

// RedactedFor returns the event as the caller may see it; see [Data].
func (*Internal) RedactedFor(caller api.Caller, e *Event) *Event { return e.redactedFor(caller) }

// BodyForReaders returns the JSON of an event, as deliveries carry it, for an endpoint of a caller who may
// only read the resource of its type.
func (*Internal) BodyForReaders(t Type, body []byte) ([]byte, error) {
	if _, ok := forWriters[t.Resource()]; !ok {
		return body, nil
	}
	return plainjson.Edit(body, func(name string, data json.RawMessage) (json.RawMessage, error) {
		if name != "data" {
			return data, nil
		}
		return plainjson.Edit(data, func(_ string, object json.RawMessage) (json.RawMessage, error) {
			return t.forReaders(object), nil
		})
	})
}

func (e *Event) redactedFor(caller api.Caller) *Event {
	resource := e.Type.Resource()
	if caller.Writes(resource) {
		return e
	}
	if caller.Reads(resource) {
		shown := *e
		shown.Data.Object = e.Type.forReaders(e.Data.Object)
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
func (*Internal) EventAsSent(tx storage.ReadTx, scope storage.Scope, id string) (*Event, error) {
	o, err := engine.GetTx(tx, events, scope, id, "event")
	if err != nil {
		return nil, err
	}
	o.Value.Person = o.Value.StoredPerson
	return &o.Value.Event, nil
}

// Get returns one event with its whole object.
func (i *Internal) Get(tx storage.ReadTx, scope storage.Scope, id string) (*Event, error) {
	return i.svc.get(tx, scope, id)
}

// get is Get in a transaction.
func (s *Service) get(tx storage.ReadTx, scope storage.Scope, id string) (*Event, error) {
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
func (i *Internal) Resend(tx *engine.Tx, id string) (*Event, error) {
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
	return &o.Value.Event, i.svc.countPending(tx, o.Scope, &o.Value)
}

// countPending sets PendingWebhooks to the number of pending deliveries. An event that is not
// fanned out has none, and keeps the number of endpoints that want it.
func (s *Service) countPending(tx storage.ReadTx, scope storage.Scope, r *record) error {
	if !r.FannedOut && !r.PartlyStored {
		return nil
	}
	n, err := pendingDeliveries(tx, scope, &r.Event, r.PartlyStored)
	if err != nil {
		return fmt.Errorf("event: count pending webhooks: %w", err)
	}
	r.PendingWebhooks = n
	return nil
}

// ListParams selects events; zero values select all.
type ListParams struct {
	api.Page
	// Type is one of [Types]. Given a synonym such as payment.completed, the listed events carry
	// the synonym as their type.
	Type    Type      `param:"type"`
	Created api.Times `param:"created"`
}

// List returns events in the order of their commits, newest first. A reader may page forward
// with the id of its newest event as EndingBefore. It then sees every event once, however
// many processes write, and whatever their clocks say.
func (s *Service) List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Event], error) {
	canonical, ok := p.Type.Canonical()
	if p.Type != "" && !ok {
		return nil, unknownType("type", p.Type)
	}
	q := engine.Query(caller, ListParams{Type: canonical, Created: p.Created})
	listing := engine.Listing[record, record]{
		Collection: events, Noun: "event", URL: "/v1/events", Show: func(r *record) record { return *r },
	}
	var list *api.List[Event]
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		found, err := listing.ListTx(tx, q, p.Page)
		if err != nil {
			return err
		}
		data := make([]Event, len(found.Data))
		for i := range found.Data {
			r := &found.Data[i]
			if err := s.countPending(tx, q.Scope, r); err != nil {
				return err
			}
			if p.Type != "" {
				r.Type = p.Type
			}
			data[i] = *r.redactedFor(caller)
		}
		list = api.NewList(found.URL, data, found.HasMore)
		return nil
	})
	return list, err
}

// Retention returns the rule that removes old events once they are fanned out. It leaves
// their deliveries.
func (*Internal) Retention(keep time.Duration) retention.Rule {
	return retention.NewRule(events, keep, func(r *record) (api.Time, bool) { return r.CreatedAt, r.FannedOut })
}

// ListAfter returns the events of a period that come after one in the list, which may be gone; see
// [engine.Listing.ListAfter].
func (i *Internal) ListAfter(ctx context.Context, e *engine.Engine, caller api.Caller, created api.Times, id string) (*api.List[Event], error) {
	listing := engine.Listing[record, Event]{Collection: events, Noun: "event", Show: func(r *record) Event { return r.Event }}
	return listing.ListAfter(ctx, e, engine.Query(caller, ListParams{Created: created}), id)
}

func unknownType(param string, t Type) error {
	const shown = 64
	if len(t) > shown {
		t = t[:shown] + "…"
	}
	return api.Errorf(api.EventTypeUnknown, param, "%q is no event type. The types are listed with the events in the documentation.", string(t))
}

// In returns the service for the transaction of a host, in which that engine works.
func (i *Internal) In(e *engine.Engine) *Service {
	in := *i.svc
	in.engine = e
	return &in
}
