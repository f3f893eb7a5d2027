package paystack

import (
	"context"
	"errors"
	"net/http"

	"github.com/seed-7082ffec/payments/provider"
)

var _ provider.Balancer = (*Client)(nil)

// Balance implements [provider.Balancer]: Available is the money at Paystack that transfers and refunds
// are taken from, and Held is set to the same amount. The mode is that of the key. Unconfirmed: that
// Paystack holds no more, such as money collected and not settled.
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
