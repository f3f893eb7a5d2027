package invoice

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
)

// requestContext is a request that events bear though what they tell happens after it.
type requestContext struct {
	Request string `json:"request,omitempty"`
	Key     string `json:"key,omitempty"`
}

// requestContextOf returns the request of a caller, or nil for none.
func requestContextOf(c api.Caller) *requestContext {
	if c.RequestID == "" && c.IdempotencyKey == "" {
		return nil
	}
	return &requestContext{c.RequestID, c.IdempotencyKey}
}

// apply has the events of a transaction bear the request that it continues, if there
// is one.
func (o *requestContext) apply(tx *engine.Tx) {
	if o != nil {
		tx.Caller.RequestID, tx.Caller.IdempotencyKey = o.Request, o.Key
	}
}
