// Package event records what happened, and lets it be read back.
//
// It owns events and the catalogue of their types. An event is written in the
// transaction of the change it tells of, neither without the other. Telling
// others is the business of package webhook.
package event

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pace"
	"github.com/seed-7082ffec/payments/internal/personal"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/storage"
)

// Event is something that happened, with the object as it was then.
type Event struct {
	ID        string   `json:"id"`
	Object    string   `json:"object"` // always "event"
	Type      Type     `json:"type"`
	CreatedAt api.Time `json:"created_at"`
	Data      Data     `json:"data"`
	// PendingWebhooks counts the webhook endpoints that are still to be told.
	PendingWebhooks int     `json:"pending_webhooks"`
	Request         Request `json:"request"`
	// Person is the customer whose data the object holds; empty for none. It is not shown.
	Person string `json:"-"`
}

// Holds returns the customer whose data the object holds. Copies of the event are found by
// it when the customer is deleted.
func (e *Event) Holds() string { return e.Person }

// Data holds the snapshot of the object. To a caller who may not read the resource of the
// object it shows id and type of the object only.
type Data struct {
	Object json.RawMessage `json:"object"`
}

// Request is the call that caused the event; nulls when none did.
type Request struct {
	ID             *string `json:"id"`
	IdempotencyKey *string `json:"idempotency_key"`
}

type record struct {
	Event
	// Due is when the event is to be fanned out to those who want to be told; nil once it
	// is Told. Until it is fanned out,
	// PendingWebhooks is the count; then it is what it was at that moment, and the
	// deliveries are counted when somebody asks: a count kept here would have the
	// whole event written again for each.
	Due  *api.Time `json:"due,omitempty"`
	Told bool      `json:"told,omitempty"`
	// Held says that the event was fanned out, but that not all of it is written down
	// yet; see [Open].
	Held bool `json:"held,omitempty"`
	// Resent are the last times at which the event was sent again, the oldest first.
	Resent []api.Time `json:"resent,omitempty"`
	// Person is the customer whose data the snapshot holds; see package personal.
	Person string `json:"person,omitempty"`
}

var events = storage.NewCollection("events", []storage.Field[record]{
	{
		Column: storage.Column{Name: "type", Type: storage.Text, Indexed: true},
		Value:  func(r *record) any { return string(r.Type) },
	},
	{
		Column: storage.Column{Name: "created", Type: storage.Time, Indexed: true},
		Value:  func(r *record) any { return r.CreatedAt.Time },
	},
	{
		Column: storage.Column{Name: "due", Type: storage.Time, Null: true},
		Value: func(r *record) any {
			if r.Due == nil {
				return nil
			}
			return r.Due.Time
		},
	},
	{
		Column: storage.Column{Name: "person", Type: storage.Text, Null: true, Indexed: true},
		Value: func(r *record) any {
			if r.Person == "" {
				return nil
			}
			return r.Person
		},
	},
}, storage.DueBy("due")).Verbatim(func(r *record) *json.RawMessage { return &r.Data.Object })

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind { return []*storage.Kind{events.Kind(), tellings.Kind(), heads.Kind()} }

// maxSnapshot bounds the object of a host's own event, in bytes of JSON.
const maxSnapshot = 64 << 10

// Watch counts who is waiting to be told of an event of that type. It is asked in
// the transaction that records one.
type Watch func(tx storage.ReadTx, scope storage.Scope, t Type) (int, error)

// Service records and reads events.
type Service struct {
	engine *engine.Engine
	// Watch, when set, makes the events that somebody waits for due work, which
	// [Service.FanOut] does. It is set before the first event is recorded.
	Watch Watch
	// Pending counts the endpoints that are still to be told of an event which has
	// been fanned out; held says that it is not written down of all of them. It is set
	// with Watch.
	Pending func(tx storage.ReadTx, scope storage.Scope, e *Event, held bool) (int, error)
	// Erased, when set, is told of each event that [Service.Erase] has changed, in
	// the same transaction.
	Erased func(tx *engine.Tx, id string) error

	subscribers map[string]Subscriber
	names       []string // of the subscribers, in the order of Subscribe
}

// New returns the service.
func New(e *engine.Engine) *Service { return &Service{engine: e} }

// Record writes an event of any listed type: for what the host knows and the
// library does not, such as subscriptions. object is what data.object will be;
// it must marshal to a JSON object of at most 64 KiB.
func (s *Service) Record(ctx context.Context, caller api.Caller, t Type, object any) (*Event, error) {
	snapshot, err := plainjson.Marshal(object)
	if err != nil || len(snapshot) == 0 || snapshot[0] != '{' {
		return nil, api.Invalid("object", "The object of an event must be one that marshals to a JSON object.").WithCause(err)
	}
	if len(snapshot) > maxSnapshot {
		return nil, api.Invalid("object", "The object of an event may have at most %d bytes of JSON.", maxSnapshot)
	}
	call := engine.Call{Name: "event.record", Params: struct {
		Type   Type            `json:"type"`
		Object json.RawMessage `json:"object"`
	}{t, snapshot}}
	return engine.Do(ctx, s.engine, caller, call, func(tx *engine.Tx) (*Event, error) {
		made, err := newIDs(tx, 1)
		if err != nil {
			return nil, err
		}
		return s.write(tx, made[0], t, object, snapshot)
	})
}

// RecordTx writes an event of each type in the caller's transaction, all with
// the same snapshot of the object, which must marshal to the JSON of the API.
func (s *Service) RecordTx(tx *engine.Tx, object any, types ...Type) error {
	snapshot, err := plainjson.Marshal(object)
	if err != nil {
		return fmt.Errorf("event: snapshot for %v: %w", types, err)
	}
	made, err := newIDs(tx, len(types))
	if err != nil {
		return err
	}
	for i, t := range types {
		if _, err := s.write(tx, made[i], t, object, snapshot); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) write(tx *engine.Tx, id string, t Type, object any, snapshot []byte) (*Event, error) {
	canonical, ok := t.Canonical()
	if !ok {
		return nil, unknownType("type", t)
	}
	snapshot, person, err := personal.Copy(tx, tx.Caller.Scope(), object, snapshot)
	if err != nil {
		return nil, fmt.Errorf("event: snapshot for %s: %w", t, err)
	}
	r := record{Event: Event{
		ID: id, Object: "event", Type: canonical,
		CreatedAt: api.At(tx.Now), Data: Data{Object: snapshot},
		Request: Request{ID: orNil(tx.Caller.RequestID), IdempotencyKey: orNil(tx.Caller.IdempotencyKey)},
	}, Person: person}
	if s.Watch != nil {
		waiting, err := s.Watch(tx, tx.Caller.Scope(), canonical)
		if err != nil {
			return nil, fmt.Errorf("event: who waits for %s: %w", canonical, err)
		}
		r.PendingWebhooks = waiting
	}
	if r.PendingWebhooks > 0 || len(s.names) > 0 {
		r.Due = &r.CreatedAt
		tx.Due(events.Kind())
	} else {
		r.told()
	}
	if _, err := events.Insert(tx, tx.Caller.Scope(), r.ID, r); err != nil {
		return nil, fmt.Errorf("event: record %s: %w", t, err)
	}
	r.Event.Person = r.Person
	return &r.Event, nil
}

// told notes that nobody waits for an event any more.
func (r *record) told() { r.Due, r.Told, r.Held = nil, true, false }

// Get returns one event.
func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*Event, error) {
	var e *Event
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		var err error
		e, err = s.GetTx(tx, caller.Scope(), id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return e.ShownTo(caller), nil
}

// ShownTo returns the event as the caller may see it: one who may not read the resource
// of its type sees only id and type of its object.
func (e *Event) ShownTo(caller api.Caller) *Event {
	if caller.Reads(e.Type.Resource()) {
		return e
	}
	var head struct {
		ID     json.RawMessage `json:"id,omitempty"`
		Object json.RawMessage `json:"object,omitempty"`
	}
	_ = json.Unmarshal(e.Data.Object, &head) // what cannot be read is not shown
	shown := *e
	shown.Data.Object, _ = json.Marshal(head) // never fails: they were parsed
	return &shown
}

// FannedOutTx returns an event as those who are told see it: pending_webhooks is
// how many there were to be told.
func (s *Service) FannedOutTx(tx storage.ReadTx, scope storage.Scope, id string) (*Event, error) {
	o, err := engine.GetTx(tx, events, scope, id, "event")
	if err != nil {
		return nil, err
	}
	return &o.Value.Event, nil
}

// GetTx is Get in a transaction.
func (s *Service) GetTx(tx storage.ReadTx, scope storage.Scope, id string) (*Event, error) {
	o, err := engine.GetTx(tx, events, scope, id, "event")
	if err != nil {
		return nil, err
	}
	o.Value.Event.Person = o.Value.Person
	return &o.Value.Event, s.count(tx, scope, &o.Value)
}

// resends bounds how often one event is sent again, to all endpoints together.
var resends = pace.Limit{Hour: 10, Day: 50}

// ResendTx notes that an event is sent again, and returns it; more than 10 times an hour
// or 50 times a day is rate_limited.
func (s *Service) ResendTx(tx *engine.Tx, id string) (*Event, error) {
	o, err := engine.GetTx(tx, events, tx.Caller.Scope(), id, "event")
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
		tx.Due(events.Kind()) // whoever held it has lost it
	}
	o.Value.Event.Person = o.Value.Person
	return &o.Value.Event, s.count(tx, o.Scope, &o.Value)
}

// count sets how many are still to be told.
func (s *Service) count(tx storage.ReadTx, scope storage.Scope, r *record) error {
	if !r.Told && !r.Held || s.Pending == nil {
		return nil
	}
	n, err := s.Pending(tx, scope, &r.Event, r.Held)
	if err != nil {
		return fmt.Errorf("event: count pending webhooks: %w", err)
	}
	r.PendingWebhooks = n
	return nil
}

// ListParams selects events; zero values select all.
type ListParams struct {
	api.Page
	// Type is any type of the catalogue. Events of a fact that has two names
	// come under the name that was asked for.
	Type    Type
	Created api.Times
}

// List returns events, newest first, which is the order of their commits. A reader who
// pages forward, each time with the id of the newest event it has as EndingBefore, sees
// every event once, however many processes write, and whatever their clocks say.
func (s *Service) List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Event], error) {
	q := storage.Query{Scope: caller.Scope(), Range: api.InTimes(nil, "created", p.Created)}
	if p.Type != "" {
		canonical, ok := p.Type.Canonical()
		if !ok {
			return nil, unknownType("type", p.Type)
		}
		q.Where = []storage.Equal{{Column: "type", Value: string(canonical)}}
	}
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
			if err := s.count(tx, q.Scope, r); err != nil {
				return err
			}
			if p.Type != "" {
				r.Type = p.Type
			}
			data[i] = *r.ShownTo(caller)
		}
		list = api.NewList(found.URL, data, found.HasMore)
		return nil
	})
	return list, err
}

func unknownType(param string, t Type) error {
	const shown = 64
	if len(t) > shown {
		t = t[:shown] + "…"
	}
	return api.Errorf(api.EventTypeUnknown, param, "%q is no event type. The types are listed with the events in the documentation.", string(t))
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
