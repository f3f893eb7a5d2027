package webhook

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
)

// Endpoint is a URL to which the service posts events.
type Endpoint struct {
	ID     string `json:"id"`     // we_…
	Object string `json:"object"` // always "webhook_endpoint"
	URL    string `json:"url"`
	// Active is false after the merchant, or five days without a success, has switched it off.
	Active bool `json:"is_active"`
	// Events are the types that the endpoint gets; "*" stands for all.
	Events []event.Type `json:"events"`
	// Secret signs the deliveries. Only the answers to Create and RotateSecret show it.
	Secret    string   `json:"secret,omitempty"`
	CreatedAt api.Time `json:"created_at"`
	UpdatedAt api.Time `json:"updated_at"`
}

// CreateParams describes a new endpoint.
type CreateParams struct {
	URL    string       `json:"url" param:",required"`    // https in live mode
	Events []event.Type `json:"events" param:",required"` // at least one, or "*"
}

// ListParams select endpoints.
type ListParams struct{ api.Page }

// UpdateParams change an endpoint; nil keeps a value.
type UpdateParams struct {
	URL    *string      `json:"url,omitempty"`
	Events []event.Type `json:"events,omitempty"`
	Active *bool        `json:"is_active,omitempty"`
}
