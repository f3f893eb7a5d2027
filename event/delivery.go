package event

import "github.com/seed-7082ffec/payments/api"

// DeliveryStatus is the status of a delivery.
type DeliveryStatus string

// The statuses of deliveries.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliveryDelivered DeliveryStatus = "delivered"
	DeliveryFailed    DeliveryStatus = "failed" // given up
)

// Delivery is an event on its way to a webhook endpoint. Package delivering makes and lists
// deliveries.
type Delivery struct {
	ID       string         `json:"id"`     // wd_…
	Object   string         `json:"object"` // always "webhook_delivery"
	Endpoint string         `json:"webhook_endpoint"`
	Event    string         `json:"event"`
	Type     Type           `json:"type"` // the name under which the endpoint gets it
	Status   DeliveryStatus `json:"status"`
	// Attempts are all attempts so far, the oldest first.
	Attempts []Attempt `json:"attempts"`
	// NextAttemptAt is when the next attempt is due; nil when there is none.
	NextAttemptAt *api.Time `json:"next_attempt_at"`
	CreatedAt     api.Time  `json:"created_at"`
}

// Attempt is one attempt of a delivery.
type Attempt struct {
	// At is when the outcome was written.
	At api.Time `json:"at"`
	// StatusCode is the HTTP status of the answer; 0 without an answer.
	StatusCode int `json:"status_code"`
	// Duration is in milliseconds.
	Duration int64 `json:"duration_ms"`
	// Response is the beginning of the answer, at most 4 KiB. Error says why there is none.
	Response string `json:"response,omitempty"`
	Error    string `json:"error,omitempty"`
}
