package webhook

import (
	"context"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/retry"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// Deliveries and their attempts are records of package event, which counts them.
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

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind {
	return []*storage.Kind{endpoints.Kind()}
}

// attemptAfter is how long after the one before each attempt follows, without the
// jitter. It is the schedule of Standard Webhooks, a day longer.
var attemptAfter = retry.Schedule{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// DeliveryListParams select deliveries; empty ids select all.
type DeliveryListParams struct {
	api.Page
	// Endpoint and Event are ids. One that does not exist is refused with resource_missing.
	Endpoint, Event string
}

// ListDeliveries lists deliveries, newest first, with all attempts. The first delivery of
// an event to an endpoint that answers well is listed from the end of its first attempt
// on; until then it counts as pending only with the event.
func (s *Service) ListDeliveries(ctx context.Context, caller api.Caller, p DeliveryListParams) (*api.List[Delivery], error) {
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

// Resend sends an event again to every active endpoint that wants its type, and returns
// the event: at most 10 times an hour and 50 times a day, else rate_limited.
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

// resend queues deliveries of an event to the endpoints that want it, or to one.
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

// ResendSince sends an active endpoint the events created in a period again: after it was
// switched off, say, or had lost some. It returns how many. With an idempotency key a repetition
// sends nothing, unless the first call has failed halfway.
func (s *Service) ResendSince(ctx context.Context, caller api.Caller, endpoint string, times api.Times) (int, error) {
	op := engine.Operation{Name: "webhook_endpoint.resend_since", Params: struct {
		ID    string    `json:"id"`
		Times api.Times `json:"times"`
	}{endpoint, times}}
	sent := 0
	answer, err := engine.Memoize(ctx, s.engine, caller, op, func() (*int, error) {
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
	n := 0
	p := event.ListParams{Page: api.Page{Limit: api.MaxLimit}, Created: times}
	for {
		list, err := s.events.List(ctx, caller, p)
		if err != nil {
			return n, err
		}
		for i := range list.Data {
			e := &list.Data[i]
			sent := 0
			err := s.engine.Update(ctx, caller, func(tx *engine.Tx) (err error) {
				sent, err = s.resend(tx, e, endpoint)
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
		p.StartingAfter = list.Data[len(list.Data)-1].ID
	}
}

// Jobs fan events out and deliver them.
func (i *Internal) Jobs() []work.Job {
	s := i.svc
	return []work.Job{
		s.fanOutJob(),
		{Kind: s.deliveries.Kind(), Timeout: workLimit, Batch: maxInFlight, MaxPerMerchant: maxInHand, RunOne: s.work},
	}
}
