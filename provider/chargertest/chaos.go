package chargertest

import (
	"context"

	"github.com/seed-7082ffec/payments/internal/test/conformance"
	"github.com/seed-7082ffec/payments/provider"
)

// Chaos is a faulty charger and refund rail that still keeps the contract: one charge or refund
// for one id, and never more refunded than was charged. It loses requests and answers, decides
// late or never, and repeats and delays callbacks. It takes charges of phones and of payment
// methods alike, and asks for no codes. The same seed and the same order of calls give the same
// behaviour. It is safe for concurrent use.
type Chaos struct{ provider *conformance.Chaos }

// Callback is what a provider would report.
type Callback struct {
	ID     string
	Result provider.Result
}

// NewChaos returns a charger without charges.
func NewChaos(seed uint64) *Chaos { return &Chaos{conformance.NewChaos(seed)} }

// Charge implements [provider.Charger].
func (c *Chaos) Charge(_ context.Context, o provider.Charge) (provider.Result, error) {
	return c.provider.Submit(o.Order, "")
}

// ChargeStatus implements [provider.Charger].
func (c *Chaos) ChargeStatus(_ context.Context, o provider.Charge) (provider.Result, error) {
	return c.provider.Status(o.ID)
}

// Refund implements [provider.RefundRail].
func (c *Chaos) Refund(_ context.Context, o provider.Refund) (provider.Result, error) {
	return c.provider.Submit(o.Order, o.Charge)
}

// RefundStatus implements [provider.RefundRail].
func (c *Chaos) RefundStatus(_ context.Context, o provider.Refund) (provider.Result, error) {
	return c.provider.Status(o.ID)
}

// Callbacks returns the provider's new callbacks, of charges and refunds: late, out of order, and
// some of them twice. The test passes them to Notify of [provider.Service].
func (c *Chaos) Callbacks() (pending []Callback) {
	c.provider.TakeCallbacks(func(id string, r provider.Result) { pending = append(pending, Callback{id, r}) })
	return pending
}

// Moved returns how often money moved for a charge or a refund: never more than once.
func (c *Chaos) Moved(id string) int { return c.provider.Moved(id) }

// Settle ends the chaos: every charge and refund is decided, and every call is answered.
func (c *Chaos) Settle() { c.provider.Settle() }
