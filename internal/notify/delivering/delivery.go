package delivering

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/webhook"
)

// newDelivery returns a delivery that is due now, without storing it.
func newDelivery(tx *engine.Tx, id, endpoint, eventID string, name event.Type) *storage.Object[webhook.Delivery] {
	return &storage.Object[webhook.Delivery]{Scope: engine.Scope(tx.Caller), ID: id, Value: webhook.Delivery{
		ID: id, Object: "webhook_delivery", Endpoint: endpoint, Event: eventID, Type: name,
		Status: webhook.Pending, Attempts: []webhook.Attempt{}, NextAttemptAt: api.AtOrNil(tx.Now), CreatedAt: api.At(tx.Now),
	}}
}

// enqueue stores a new delivery that is due after backoff.
func (s *Service) enqueue(tx *engine.Tx, o *storage.Object[webhook.Delivery], backoff time.Duration) error {
	o.Value.NextAttemptAt = api.AtOrNil(tx.Now.Add(backoff))
	tx.WakeAfter(s.deliveries.Kind(), backoff)
	return s.insert(tx, o)
}

// insert stores a new delivery.
func (s *Service) insert(tx storage.Tx, o *storage.Object[webhook.Delivery]) error {
	made, err := s.deliveries.Insert(tx, o.Scope, o.ID, o.Value)
	if err != nil {
		return fmt.Errorf("webhook: write delivery: %w", err)
	}
	o.Version = made.Version
	return nil
}

func (s *Service) ListDeliveries(ctx context.Context, caller api.Caller, p webhook.ListDeliveriesParams) (*api.List[webhook.Delivery], error) {
	scope := engine.Scope(caller)
	listing := engine.Listing[webhook.Delivery, webhook.Delivery]{
		Collection: s.deliveries, Noun: "webhook delivery",
		Show: func(d *webhook.Delivery) webhook.Delivery { return *d },
	}
	if p.Endpoint != "" {
		if _, err := s.Get(ctx, caller, p.Endpoint); err != nil {
			return nil, err
		}
		listing.URL = "/v1/webhooks/" + p.Endpoint + "/deliveries"
	}
	if p.Event != "" {
		err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
			_, err := s.events.GetIn(tx, scope, p.Event)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	where := engine.Where(engine.Where(nil, "endpoint", p.Endpoint), "event", p.Event)
	return listing.List(ctx, s.engine, storage.Query{Scope: scope, Where: where}, p.Page)
}

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

func (s *Service) Ping(ctx context.Context, caller api.Caller, id string) (*webhook.Delivery, error) {
	if s.engine.Host != nil {
		return nil, fmt.Errorf("webhook: ping: %w", api.ErrNetworkInTx)
	}
	op := engine.Operation{Name: "webhook_endpoint.ping", Params: id}
	return engine.RunAndStoreAnswer(ctx, s.engine, caller, op, func() (*webhook.Delivery, error) { return s.ping(ctx, caller, id) })
}

func (s *Service) ping(ctx context.Context, caller api.Caller, id string) (*webhook.Delivery, error) {
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
	d := &webhook.Delivery{
		ID: s.engine.NewID("wd_"), Object: "webhook_delivery", Endpoint: id, Event: e.ID, Type: e.Type,
		Status: webhook.Failed, Attempts: []webhook.Attempt{result.Attempt}, CreatedAt: api.At(now),
	}
	if result.ok() {
		d.Status = webhook.Delivered
	}
	return d, nil
}
