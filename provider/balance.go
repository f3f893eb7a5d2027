package provider

import "context"

// Balancer is an optional interface of a [Rail] or a [Charger]. It tells how much of the operator's
// money the provider holds. payments.Service.Health shows it for live mode, and asks at most once a
// minute. The library calls it outside of any transaction, with a context that ends after 10 seconds.
type Balancer interface {
	Balance(ctx context.Context, live bool) (Balance, error)
}

// Balance is the operator's money at a provider.
type Balance struct {
	// Available is what transfers and refunds are taken from, in pesewas.
	Available int64
	// Held is all that lies there, also what transfers cannot be taken from, such as money that was
	// collected, in pesewas; nil if the provider does not tell.
	Held *int64
}
