package webhook

import (
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
