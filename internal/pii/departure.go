package pii

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// Departure says that a customer was deleted whose subscriptions are still to be cancelled. Its id is the
// customer's. Package party writes it, and package subscribing removes it once that is done.
type Departure struct {
	// Request and IdempotencyKey belong to the call that deleted the customer.
	Request        string   `json:"request,omitempty"`
	IdempotencyKey string   `json:"key,omitempty"`
	Due            api.Time `json:"due"`
}

// Departures are the deleted customers with subscriptions. They are due at once.
var Departures = storage.NewCollection("customer_departures", []storage.Field[Departure]{
	storage.NullTimeColumn("due", func(d *Departure) *api.Time { return &d.Due }),
}, storage.DueBy("due"))
