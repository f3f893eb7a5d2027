// Package event records and lists events, such as payment.succeeded.
//
// A call writes its event in the same transaction as the change, so neither exists
// without the other.
package event

import (
	"encoding/json"

	"github.com/seed-7082ffec/payments/api"
)

// Event is a change of an object, with a snapshot of the object.
type Event struct {
	ID        string   `json:"id"`
	Object    string   `json:"object"` // always "event"
	Type      Type     `json:"type"`
	CreatedAt api.Time `json:"created_at"`
	Data      Data     `json:"data"`
	// PendingWebhooks counts the webhook endpoints that the event has not reached yet.
	PendingWebhooks int     `json:"pending_webhooks"`
	Request         Request `json:"request"`
	// Person is the customer whose data the object holds; empty for none. JSON omits it.
	Person string `json:"-"`
}

// PersonID returns the customer whose data the object holds. The erasure of the customer
// finds copies of the event by it.
func (e *Event) PersonID() string { return e.Person }

// Data holds the snapshot of the object. A caller who may not read the resource of the
// object sees only its id and type. A caller who may not write it sees no member by which a reader
// could change the object, such as manage_url of a subscription.
type Data struct {
	Object json.RawMessage `json:"object"`
}

// Request is the call that caused the event; its fields are null if none did.
type Request struct {
	ID             *string `json:"id"`
	IdempotencyKey *string `json:"idempotency_key"`
}

// RecordParams describes an event of the host.
type RecordParams struct {
	// Type is any type of [Types].
	Type Type
	// Object is what data.object will be. It must marshal to a JSON object of at most 64 KiB.
	Object any
}

// ListParams selects events; zero values select all.
type ListParams struct {
	api.Page
	// Type is one of [Types]. Given a synonym such as payment.completed, the listed events carry
	// the synonym as their type.
	Type    Type      `param:"type"`
	Created api.Times `param:"created"`
}
