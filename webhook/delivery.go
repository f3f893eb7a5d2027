package webhook

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
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

// ListDeliveriesParams select deliveries; empty ids select all.
type ListDeliveriesParams struct {
	api.Page
	// Endpoint and Event are ids. An unknown id is refused with resource_missing.
	Endpoint, Event string
}

// DayLatency says how long the deliveries of a day took until an endpoint accepted them. A delivery
// that is under way counts nowhere.
type DayLatency struct {
	Day time.Time `json:"-"`
	// Delivered counts the deliveries that took at most 1 second, 5 seconds, 1 minute, 1 hour, and
	// longer. Each delivery counts in one of the five.
	Delivered [5]int64 `json:"delivered"`
	Failed    int64    `json:"failed,omitempty"` // given up
}
