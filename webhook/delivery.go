package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/due"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/storage"
)

// DeliveryStatus is where a delivery stands.
type DeliveryStatus string

// The statuses of deliveries.
const (
	Pending   DeliveryStatus = "pending"
	Delivered DeliveryStatus = "delivered"
	Failed    DeliveryStatus = "failed" // given up
)

// Delivery is an event on its way to an endpoint.
type Delivery struct {
	ID       string         `json:"id"`     // wd_…
	Object   string         `json:"object"` // always "webhook_delivery"
	Endpoint string         `json:"webhook_endpoint"`
	Event    string         `json:"event"`
	Type     event.Type     `json:"type"` // the name under which the endpoint is told
	Status   DeliveryStatus `json:"status"`
	// Attempts are all tries so far, the oldest first.
	Attempts []Attempt `json:"attempts"`
	// NextAttemptAt is when the next one is due; nil when there is none.
	NextAttemptAt *api.Time `json:"next_attempt_at"`
	CreatedAt     api.Time  `json:"created_at"`
}

// Attempt is one try of a delivery.
type Attempt struct {
	At api.Time `json:"at"`
	// StatusCode is what the endpoint answered; 0 when it did not.
	StatusCode int `json:"status_code"`
	// Duration is in milliseconds.
	Duration int64 `json:"duration_ms"`
	// Response is the beginning of the answer, at most 4 KiB; Error why there is none.
	Response string `json:"response,omitempty"`
	Error    string `json:"error,omitempty"`
}

type deliveryRecord struct{ Delivery }

var deliveries = storage.NewCollection("webhook_deliveries", []storage.Field[deliveryRecord]{
	{
		Column: storage.Column{Name: "endpoint", Type: storage.Text, Indexed: true},
		Value:  func(d *deliveryRecord) any { return d.Endpoint },
	},
	{
		Column: storage.Column{Name: "event", Type: storage.Text, Indexed: true},
		Value:  func(d *deliveryRecord) any { return d.Event },
	},
	{
		Column: storage.Column{Name: "due", Type: storage.Time, Null: true},
		Value: func(d *deliveryRecord) any {
			if d.NextAttemptAt != nil {
				return d.NextAttemptAt.Time
			}
			return nil
		},
	},
}, storage.DueBy("due"))

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind {
	return []*storage.Kind{endpoints.Kind(), subscribed.Kind(), deliveries.Kind()}
}

// attemptAfter is how long after the one before each attempt follows, without the
// jitter. It is the schedule of Standard Webhooks, a day longer.
var attemptAfter = []time.Duration{
	0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// Watch is the [event.Watch] of endpoints.
func Watch(tx storage.ReadTx, scope storage.Scope, t event.Type) (int, error) {
	o, err := subscriptionsOf(tx, scope)
	if err != nil || o == nil {
		return 0, err
	}
	n := 0
	for i := range o.Value.List {
		if o.Value.List[i].told(t) != "" {
			n++
		}
	}
	return n, nil
}

// Deliveries lists what an endpoint was told, newest first, with all attempts. The
// first delivery of an event to an endpoint that answers well is listed from the end of
// its first attempt on; until then it counts as pending only with the event.
func (s *Service) Deliveries(ctx context.Context, caller api.Caller, endpoint string, p api.Page) (*api.List[Delivery], error) {
	if _, err := s.Get(ctx, caller, endpoint); err != nil {
		return nil, err
	}
	listing := engine.Listing[deliveryRecord, Delivery]{
		Collection: deliveries, Noun: "webhook delivery", URL: "/v1/webhooks/" + endpoint + "/deliveries",
		Show: func(d *deliveryRecord) Delivery { return d.Delivery },
	}
	q := storage.Query{Scope: caller.Scope(), Where: []storage.Equal{{Column: "endpoint", Value: endpoint}}}
	return listing.List(ctx, s.engine, q, p)
}

// Resend tells every active endpoint that wants an event's type of it again, and
// returns the event: at most 10 times an hour and 50 times a day, else rate_limited.
func (s *Service) Resend(ctx context.Context, caller api.Caller, id string) (*event.Event, error) {
	call := engine.Call{Name: "event.resend", Params: id}
	e, err := engine.Do(ctx, s.engine, caller, call, func(tx *engine.Tx) (*event.Event, error) {
		e, err := s.events.ResendTx(tx, id)
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
	return e.ShownTo(caller), nil
}

// resend queues deliveries of an event to the endpoints that want it, or to one.
func (s *Service) resend(tx *engine.Tx, e *event.Event, only string) (int, error) {
	o, err := subscriptionsOf(tx, tx.Caller.Scope())
	if err != nil || o == nil {
		return 0, err
	}
	n := 0
	for i := range o.Value.List {
		sub := &o.Value.List[i]
		name := sub.told(e.Type)
		if name == "" || only != "" && sub.Endpoint != only {
			continue
		}
		o := newDelivery(tx, tx.NewID("wd_"), sub.Endpoint, e.ID, name)
		if err := queue(tx, o, 0); err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// ResendSince tells an active endpoint again of the events of a time: after it was
// switched off, say, or had lost some. It returns how many.
func (s *Service) ResendSince(ctx context.Context, caller api.Caller, endpoint string, times api.Times) (int, error) {
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
			told := 0
			err := s.engine.Update(ctx, caller, func(tx *engine.Tx) (err error) {
				told, err = s.resend(tx, e, endpoint)
				return err
			})
			if err != nil {
				return n, err
			}
			n += told
		}
		if !list.HasMore {
			return n, nil
		}
		p.StartingAfter = list.Data[len(list.Data)-1].ID
	}
}

// Forget removes the deliveries of an event that is removed, and returns how many there
// were.
func Forget(tx *engine.Tx, id string) (n int, err error) {
	q := storage.Query{Scope: tx.Caller.Scope(), Where: []storage.Equal{{Column: "event", Value: id}}, Limit: api.MaxLimit}
	for more := true; more; {
		page, left, err := deliveries.List(tx, q)
		if err != nil {
			return n, fmt.Errorf("webhook: forget deliveries: %w", err)
		}
		for _, d := range page {
			if err := deliveries.Delete(tx, d); err != nil {
				return n, fmt.Errorf("webhook: forget delivery: %w", err)
			}
			n++
		}
		more = left
	}
	return n, nil
}

// Retention is the rule by which deliveries are removed so long after their creation,
// once they have ended.
func Retention(keep time.Duration) retention.Rule {
	return retention.Rule{
		Kind: deliveries.Kind(), Keep: keep,
		Created: func(r storage.Record) (time.Time, bool, error) {
			o, err := deliveries.Decode(r)
			if err != nil {
				return time.Time{}, false, err
			}
			return o.Value.CreatedAt.Time, o.Value.Status != Pending, nil
		},
		Remove: func(tx *engine.Tx, r storage.Record) (int, error) {
			return 1, tx.Delete(deliveries.Kind(), r.Scope, r.ID, r.Version)
		},
	}
}

// Jobs fan events out and deliver them.
func (s *Service) Jobs() []due.Job {
	return []due.Job{
		s.events.FanOut(event.Telling{Teller: s.teller, Room: func(live bool) int { return s.of(live).lanes.room() }}),
		{Kind: deliveries.Kind(), Limit: workLimit, Batch: maxInFlight, InHand: maxInHand, Do: s.work},
	}
}
