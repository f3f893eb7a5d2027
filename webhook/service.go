package webhook

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
)

// Service keeps endpoints and delivers events. It is safe for concurrent use. It may grow in any release: embed it in
// a fake.
type Service interface {
	// Create registers an endpoint, which gets the events from now on. Only this answer has the
	// secret; a replay does not. The endpoint of a caller who may not write subscriptions gets them with
	// manage_url null; so does one whose URL such a caller changes.
	//
	// Refusals: parameter_missing, webhook_url_invalid, event_type_unknown, and
	// parameter_invalid (url) for more than 100 active endpoints, or 10 with one url, and
	// permission_denied for types whose objects the caller may not read.
	Create(ctx context.Context, caller api.Caller, p CreateParams) (*Endpoint, error)

	// Get returns one endpoint, without its secret.
	Get(ctx context.Context, caller api.Caller, id string) (*Endpoint, error)

	// List returns endpoints, newest first, without their secrets.
	List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Endpoint], error)

	// Update changes an endpoint. An endpoint does not get events that happen while it is inactive,
	// even after it is active again; see [Service.ResendSince]. If a retry becomes due while the
	// endpoint is inactive, the delivery fails. If it becomes due later, the worker makes it.
	//
	// Refusals: resource_missing, webhook_url_invalid, event_type_unknown, parameter_invalid, and
	// permission_denied. parameter_invalid (is_active or url) means more than 100 active endpoints, or 10
	// with one url. permission_denied means that the caller may not read the objects of a type that the
	// endpoint had or is to have.
	Update(ctx context.Context, caller api.Caller, id string, p UpdateParams) (*Endpoint, error)

	// RotateSecret gives an endpoint a new secret, which only this answer has. For 24 hours each
	// delivery also has a signature of the old secret, and of up to seven that were rotated before it.
	//
	// Refusals: resource_missing, and permission_denied if the caller may not read the objects
	// of a type that the endpoint gets.
	RotateSecret(ctx context.Context, caller api.Caller, id string) (*Endpoint, error)

	// Delete removes an endpoint. Its pending deliveries fail.
	//
	// Refusals: resource_missing.
	Delete(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error)

	// Ping delivers an event of type "ping" to an endpoint at once, with the same checks of the address,
	// and returns the delivery. A delivery that fails is returned with Status Failed and a nil error. Ping
	// also delivers to an inactive endpoint. It stores neither event nor delivery. With an idempotency key
	// a replay returns the first answer and sends nothing.
	//
	// Refusals: resource_missing.
	Ping(ctx context.Context, caller api.Caller, id string) (*Delivery, error)

	// ListDeliveries lists deliveries, newest first, with all attempts. A new delivery to an endpoint whose
	// last attempt succeeded is not listed until its own first attempt has ended. Until then the event counts
	// it in pending_webhooks.
	ListDeliveries(ctx context.Context, caller api.Caller, p ListDeliveriesParams) (*api.List[Delivery], error)

	// Resend sends an event again to every active endpoint that wants its type, and returns the event.
	//
	// Refusals: resource_missing, and rate_limited for more than 10 calls an hour or 50 a day for one
	// event.
	Resend(ctx context.Context, caller api.Caller, id string) (*event.Event, error)

	// ResendSince sends an endpoint again the events of its types that were created in the period, and
	// returns their number. A zero period selects all events that are still kept. It queues event by event, each in a
	// transaction. An inactive endpoint gets none. ResendSince helps an endpoint that was switched off or
	// has lost events. After an error it returns how many are queued; a repeated call queues these again.
	// With an idempotency key a replay sends nothing, unless the first call failed halfway.
	//
	// Refusals: resource_missing.
	ResendSince(ctx context.Context, caller api.Caller, endpoint string, times api.Times) (int, error)

	// DailyLatencies returns, for each day of a period, how long the caller's deliveries took that were
	// created on that day and have ended. A delivery may take three days, so the figures of a day may change
	// for as long. It reads one record a day. Deliveries made by a release without this method are not counted.
	//
	// Both ends of the period are required, and it has at most 366 days. It is rounded outwards to days in
	// UTC.
	//
	// Refusals: parameter_invalid (period).
	DailyLatencies(ctx context.Context, caller api.Caller, period api.Times) ([]DayLatency, error)
}
