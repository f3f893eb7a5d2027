package paystack

import (
	"context"
	"errors"
	"net/http"

	"github.com/seed-7082ffec/payments/provider"
)

var _ provider.Balancer = (*Client)(nil)

// Balance implements [provider.Balancer]: the money at Paystack that transfers and refunds are taken
// from. The mode is that of the key. Unconfirmed: whether it is also all that Paystack holds, with what
// was collected and not settled yet; Held says that it is.
func (c *Client) Balance(ctx context.Context, _ bool) (provider.Balance, error) {
	var balances []struct {
		Currency string `json:"currency"`
		Balance  number `json:"balance"`
	}
	if err := c.call(ctx, http.MethodGet, "/balance", nil, nil, &balances); err != nil {
		return provider.Balance{}, err
	}
	for _, b := range balances {
		if b.Currency == currency {
			available := int64(b.Balance)
			return provider.Balance{Available: available, Held: &available}, nil
		}
	}
	return provider.Balance{}, errors.New("paystack: the account has no balance in GHS")
}
