package recording

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/storage"
)

var deliveries = storage.NewCollection("webhook_deliveries", []storage.Field[event.Delivery]{
	storage.TextColumn("endpoint", func(d *event.Delivery) string { return d.Endpoint }).Indexed(),
	storage.TextColumn("event", func(d *event.Delivery) string { return d.Event }).Indexed(),
	storage.NullTimeColumn("due", func(d *event.Delivery) *api.Time { return d.NextAttemptAt }),
}, storage.DueBy("due"))

// Deliveries returns the collection of deliveries, which package delivering writes.
func (*Service) Deliveries() *storage.Collection[event.Delivery] { return deliveries }

// FirstDeliveryID returns the id of the first delivery of an event to an endpoint. It is the
// same however often the event is fanned out, so that there is one.
func (*Service) FirstDeliveryID(eventID, endpoint string) string {
	return firstDeliveryID(eventID, endpoint)
}

func firstDeliveryID(eventID, endpoint string) string { return ids.Derived("wd_", eventID, endpoint) }

// HasDelivery reports whether a delivery is stored.
func (*Service) HasDelivery(tx storage.ReadTx, scope storage.Scope, id string) (bool, error) {
	return hasDelivery(tx, scope, id)
}

func hasDelivery(tx storage.ReadTx, scope storage.Scope, id string) (bool, error) {
	_, err := tx.Get(deliveries.Kind(), scope, id)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// maxPending bounds how many pending deliveries of an event a read counts: an event that was
// sent again has more of them than there are endpoints.
const maxPending = 1000

// pendingDeliveries counts the deliveries of an event that are pending: those with a due
// time and, of a partly stored event, those that are not stored yet.
func pendingDeliveries(tx storage.ReadTx, scope storage.Scope, r *record) (int, error) {
	page, _, err := deliveries.List(tx, storage.Query{
		Scope: scope, Where: []storage.Equal{{Column: "event", Value: r.ID}},
		Range: []storage.Range{{Column: "due", From: time.UnixMilli(1)}}, Limit: maxPending,
	})
	if err != nil || !r.PartlyStored {
		return len(page), err
	}
	n := len(page)
	active, err := readSubscriptions(tx, scope)
	if err != nil {
		return 0, err
	}
	for i := range active.List {
		sub := &active.List[i]
		if sub.match(r) == "" {
			continue
		}
		stored, err := hasDelivery(tx, scope, firstDeliveryID(r.ID, sub.Endpoint))
		if err != nil {
			return 0, fmt.Errorf("event: look for delivery: %w", err)
		}
		if !stored {
			n++
		}
	}
	return n, nil
}
