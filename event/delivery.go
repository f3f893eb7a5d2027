package event

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/storage"
)

// DeliveryStatus is where a delivery stands.
type DeliveryStatus string

// The statuses of deliveries.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliveryDelivered DeliveryStatus = "delivered"
	DeliveryFailed    DeliveryStatus = "failed" // given up
)

// Delivery is an event on its way to a webhook endpoint. Package webhook makes and lists
// deliveries.
type Delivery struct {
	ID       string         `json:"id"`     // wd_…
	Object   string         `json:"object"` // always "webhook_delivery"
	Endpoint string         `json:"webhook_endpoint"`
	Event    string         `json:"event"`
	Type     Type           `json:"type"` // the name under which the endpoint is told
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

var deliveries = storage.NewCollection("webhook_deliveries", []storage.Field[Delivery]{
	storage.TextColumn("endpoint", func(d *Delivery) string { return d.Endpoint }).Indexed(),
	storage.TextColumn("event", func(d *Delivery) string { return d.Event }).Indexed(),
	storage.NullTimeColumn("due", func(d *Delivery) *api.Time { return d.NextAttemptAt }),
}, storage.DueBy("due"))

// Deliveries are the records of deliveries, which package webhook writes.
func (*Internal) Deliveries() *storage.Collection[Delivery] { return deliveries }

// FirstDeliveryID is the id of the delivery that tells an endpoint of an event for the
// first time. There is one, however often the event is fanned out.
func (*Internal) FirstDeliveryID(eventID, endpoint string) string {
	return firstDeliveryID(eventID, endpoint)
}

func firstDeliveryID(eventID, endpoint string) string { return ids.Derived("wd_", eventID, endpoint) }

// HasDelivery reports whether a delivery is written.
func (*Internal) HasDelivery(tx storage.ReadTx, scope storage.Scope, id string) (bool, error) {
	return hasDelivery(tx, scope, id)
}

func hasDelivery(tx storage.ReadTx, scope storage.Scope, id string) (bool, error) {
	_, err := tx.Get(deliveries.Kind(), scope, id)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// maxPending bounds how many pending deliveries of an event are counted: an event that was
// sent again has more of them than there are endpoints.
const maxPending = 1000

// pendingDeliveries counts the endpoints that an event has yet to reach. A delivery with a
// due time is pending. Of a leased event, a delivery that is not yet written is, too.
func pendingDeliveries(tx storage.ReadTx, scope storage.Scope, e *Event, leased bool) (int, error) {
	page, _, err := deliveries.List(tx, storage.Query{
		Scope: scope, Where: []storage.Equal{{Column: "event", Value: e.ID}},
		Range: []storage.Range{{Column: "due", From: time.UnixMilli(1)}}, Limit: maxPending,
	})
	if err != nil || !leased {
		return len(page), err
	}
	n := len(page)
	list, err := subscriptionsOf(tx, scope)
	if err != nil {
		return 0, err
	}
	for i := range list {
		sub := &list[i]
		if sub.Match(e) == "" {
			continue
		}
		is, err := hasDelivery(tx, scope, firstDeliveryID(e.ID, sub.Endpoint))
		if err != nil {
			return 0, fmt.Errorf("event: look for delivery: %w", err)
		}
		if !is {
			n++
		}
	}
	return n, nil
}
