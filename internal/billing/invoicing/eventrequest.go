package invoicing

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

func eventRequestOf(c api.Caller) *eventRequest {
	if c.RequestID == "" && c.IdempotencyKey == "" {
		return nil
	}
	return &eventRequest{c.RequestID, c.IdempotencyKey}
}

// overrideRequest makes the events of the transaction name this request, if it is not nil. It
// does not restore the request that they named before: its caller ends the transaction, or has deferred the
// restore of an earlier AttributeEvents.
func (q *eventRequest) overrideRequest(tx *engine.Tx) {
	if q != nil {
		tx.AttributeEvents(q.Request, q.IdempotencyKey)
	}
}
