package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/storage"
)

// Delivery, DeliveryStatus and Attempt are the types of package event, under this package's names.
type (
	Delivery       = event.Delivery
	Attempt        = event.Attempt
	DeliveryStatus = event.DeliveryStatus
)

// The statuses of deliveries.
const (
	Pending   = event.DeliveryPending
	Delivered = event.DeliveryDelivered
	Failed    = event.DeliveryFailed // given up
)

// newDelivery returns a delivery that is due now, without storing it.
func newDelivery(tx *engine.Tx, id, endpoint, eventID string, name event.Type) *storage.Object[Delivery] {
	return &storage.Object[Delivery]{Scope: engine.Scope(tx.Caller), ID: id, Value: Delivery{
		ID: id, Object: "webhook_delivery", Endpoint: endpoint, Event: eventID, Type: name,
		Status: Pending, Attempts: []Attempt{}, NextAttemptAt: api.AtOrNil(tx.Now), CreatedAt: api.At(tx.Now),
	}}
}

// enqueue stores a new delivery that is due after backoff.
func (s *Service) enqueue(tx *engine.Tx, o *storage.Object[Delivery], backoff time.Duration) error {
	o.Value.NextAttemptAt = api.AtOrNil(tx.Now.Add(backoff))
	tx.WakeAfter(s.deliveries.Kind(), backoff)
	return s.insert(tx, o)
}

// insert stores a new delivery.
func (s *Service) insert(tx storage.Tx, o *storage.Object[Delivery]) error {
	made, err := s.deliveries.Insert(tx, o.Scope, o.ID, o.Value)
	if err != nil {
		return fmt.Errorf("webhook: write delivery: %w", err)
	}
	o.Version = made.Version
	return nil
}

// ListDeliveriesParams select deliveries; empty ids select all.
type ListDeliveriesParams struct {
	api.Page
	// Endpoint and Event are ids. An unknown id is refused with resource_missing.
	Endpoint, Event string
}

// ListDeliveries lists deliveries, newest first, with all attempts. A new delivery to an endpoint whose
// last attempt succeeded is not listed until its own first attempt has ended. Until then the event counts
// it in pending_webhooks.
func (s *Service) ListDeliveries(ctx context.Context, caller api.Caller, p ListDeliveriesParams) (*api.List[Delivery], error) {
	scope := engine.Scope(caller)
	listing := engine.Listing[Delivery, Delivery]{
		Collection: s.deliveries, Noun: "webhook delivery",
		Show: func(d *Delivery) Delivery { return *d },
	}
	if p.Endpoint != "" {
		if _, err := s.Get(ctx, caller, p.Endpoint); err != nil {
			return nil, err
		}
		listing.URL = "/v1/webhooks/" + p.Endpoint + "/deliveries"
	}
	if p.Event != "" {
		err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
			_, err := s.events.Get(tx, scope, p.Event)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	where := engine.Where(engine.Where(nil, "endpoint", p.Endpoint), "event", p.Event)
	return listing.List(ctx, s.engine, storage.Query{Scope: scope, Where: where}, p.Page)
}

// Resend sends an event again to every active endpoint that wants its type, and returns the event.
//
// Refusals: resource_missing, and rate_limited for more than 10 calls an hour or 50 a day for one
// event.
func (s *Service) Resend(ctx context.Context, caller api.Caller, id string) (*event.Event, error) {
	op := engine.Operation{Name: "event.resend", Params: id}
	e, err := engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*event.Event, error) {
		e, err := s.events.Resend(tx, id)
		if err != nil {
			return nil, err
		}
		n, err := s.resend(tx, e, "")
		if err != nil {
			return nil, err
		}
		e.PendingWebhooks += n
		return e, nil
	})
	if err != nil {
		return nil, err
	}
	return s.events.RedactedFor(caller, e), nil
}

// resend queues deliveries of an event to the endpoints that want its type, or to only one.
func (s *Service) resend(tx *engine.Tx, e *event.Event, only string) (int, error) {
	list, err := s.events.Subscriptions(tx, engine.Scope(tx.Caller))
	if err != nil {
		return 0, err
	}
	n := 0
	for i := range list {
		sub := &list[i]
		name := sub.MatchType(e.Type)
		if name == "" || only != "" && sub.Endpoint != only {
			continue
		}
		o := newDelivery(tx, tx.NewID("wd_"), sub.Endpoint, e.ID, name)
		if err := s.enqueue(tx, o, 0); err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// ResendSince sends an endpoint again the events of its types that were created in the period, and
// returns their number. A zero period selects all events that are still kept. It queues event by event, each in a
// transaction. An inactive endpoint gets none. ResendSince helps an endpoint that was switched off or
// has lost events. After an error it returns how many are queued; a repeated call queues these again.
// With an idempotency key a replay sends nothing, unless the first call failed halfway.
//
// Refusals: resource_missing.
func (s *Service) ResendSince(ctx context.Context, caller api.Caller, endpoint string, times api.Times) (int, error) {
	op := engine.Operation{Name: "webhook_endpoint.resend_since", Params: struct {
		ID    string    `json:"id"`
		Times api.Times `json:"times"`
	}{endpoint, times}}
	sent := 0
	answer, err := engine.RunAndStoreAnswer(ctx, s.engine, caller, op, func() (*int, error) {
		var err error
		sent, err = s.resendSince(ctx, caller, endpoint, times)
		return &sent, err
	})
	if err != nil {
		return sent, err
	}
	return *answer, nil
}

func (s *Service) resendSince(ctx context.Context, caller api.Caller, endpoint string, times api.Times) (int, error) {
	if _, err := s.Get(ctx, caller, endpoint); err != nil {
		return 0, err
	}
	n, last := 0, ""
	for {
		list, err := s.events.ListAfter(ctx, s.engine, caller, times, last)
		if err != nil {
			return n, err
		}
		for i := range list.Data {
			sent := 0
			last = list.Data[i].ID
			err := s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
				e, err := s.events.EventAsSent(tx, engine.Scope(caller), last)
				if sent = 0; api.CodeOf(err) == api.ResourceMissing {
					return nil // the retention has removed it
				}
				if err == nil {
					sent, err = s.resend(tx, e, endpoint)
				}
				return err
			})
			if err != nil {
				return n, err
			}
			n += sent
		}
		if !list.HasMore {
			return n, nil
		}
	}
}

// Ping delivers an event of type "ping" to an endpoint at once, with the same checks of the address,
// and returns the delivery. A delivery that fails is returned with Status Failed and a nil error. Ping
// also delivers to an inactive endpoint. It stores neither event nor delivery. With an idempotency key
// a replay returns the first answer and sends nothing.
//
// Refusals: resource_missing.
func (s *Service) Ping(ctx context.Context, caller api.Caller, id string) (*Delivery, error) {
	if s.engine.Host != nil {
		return nil, fmt.Errorf("webhook: ping: %w", api.ErrNetworkInTx)
	}
	op := engine.Operation{Name: "webhook_endpoint.ping", Params: id}
	return engine.RunAndStoreAnswer(ctx, s.engine, caller, op, func() (*Delivery, error) { return s.ping(ctx, caller, id) })
}

func (s *Service) ping(ctx context.Context, caller api.Caller, id string) (*Delivery, error) {
	var endpoint *endpointRecord
	var now time.Time
	err := s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		o, err := engine.GetTx(tx, endpoints, engine.Scope(caller), id, noun)
		if err == nil {
			endpoint, now = &o.Value, tx.Now
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	e := event.Event{
		ID: s.engine.NewID("evt_"), Object: "event", Type: "ping", CreatedAt: api.At(now),
		Data: event.Data{Object: []byte(`{"object":"ping"}`)},
	}
	body, err := plainjson.Marshal(&e)
	if err != nil {
		return nil, fmt.Errorf("webhook: ping: %w", err)
	}
	result := s.post(ctx, caller.Live, endpoint.URL, e.ID, body, endpoint.secrets(now))
	result.At = api.At(now)
	d := &Delivery{
		ID: s.engine.NewID("wd_"), Object: "webhook_delivery", Endpoint: id, Event: e.ID, Type: e.Type,
		Status: Failed, Attempts: []Attempt{result.Attempt}, CreatedAt: api.At(now),
	}
	if result.ok() {
		d.Status = Delivered
	}
	return d, nil
}
