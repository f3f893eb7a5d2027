package invoice

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
)

// origin is a request that events bear though what they tell happens after it.
type origin struct {
	Request string `json:"request,omitempty"`
	Key     string `json:"key,omitempty"`
}

// originOf returns the request of a caller, or nil for none.
func originOf(c api.Caller) *origin {
	if c.RequestID == "" && c.IdempotencyKey == "" {
		return nil
	}
	return &origin{c.RequestID, c.IdempotencyKey}
}

// continues has the events of a transaction bear the request that it continues, if there
// is one.
func (o *origin) continues(tx *engine.Tx) {
	if o != nil {
		tx.Caller.RequestID, tx.Caller.IdempotencyKey = o.Request, o.Key
	}
}
