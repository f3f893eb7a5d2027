package railtest

import (
	"context"

	"github.com/seed-7082ffec/payments/internal/test/conformance"
	"github.com/seed-7082ffec/payments/provider"
)

// Chaos is a faulty rail that still keeps the contract: one transfer for one id. It loses requests
// and answers, decides late or never, and repeats and delays callbacks. The same seed and the same
// order of calls give the same behaviour. It is safe for concurrent use.
type Chaos struct{ provider *conformance.Chaos }

// Callback is what a provider would report.
type Callback struct {
	ID     string
	Result provider.Result
}

// NewChaos returns a rail without orders.
func NewChaos(seed uint64) *Chaos { return &Chaos{conformance.NewChaos(seed)} }

// Submit implements [provider.Rail].
func (c *Chaos) Submit(_ context.Context, o provider.Transfer) (provider.Result, error) {
	return c.provider.Submit(o.Order, "")
}

// Status implements [provider.Rail].
func (c *Chaos) Status(_ context.Context, o provider.Transfer) (provider.Result, error) {
	return c.provider.Status(o.ID)
}

// Callbacks returns the provider's new callbacks: late, out of order, and some of them twice. The
// test passes them to Notify of [provider.Service].
func (c *Chaos) Callbacks() (pending []Callback) {
	c.provider.TakeCallbacks(func(id string, r provider.Result) { pending = append(pending, Callback{id, r}) })
	return pending
}

// Moved returns how often money was sent for an order: never more than once.
func (c *Chaos) Moved(id string) int { return c.provider.Moved(id) }

// Settle ends the chaos: every order is decided, and every call is answered.
func (c *Chaos) Settle() { c.provider.Settle() }
