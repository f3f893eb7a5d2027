package invoice

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
)

// eventRequest is the request that events name as their cause, though they happen after it
// has ended.
type eventRequest struct {
	Request        string `json:"request,omitempty"`
	IdempotencyKey string `json:"key,omitempty"`
}

// eventRequestOf returns the request of a caller, or nil for none.
func eventRequestOf(c api.Caller) *eventRequest {
	if c.RequestID == "" && c.IdempotencyKey == "" {
		return nil
	}
	return &eventRequest{c.RequestID, c.IdempotencyKey}
}

// overrideRequest makes the events of the transaction name this request, if it is not nil, until
// a caller of AttributeEvents restores what was before.
func (q *eventRequest) overrideRequest(tx *engine.Tx) {
	if q != nil {
		tx.AttributeEvents(q.Request, q.IdempotencyKey)
	}
}
