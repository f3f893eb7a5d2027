package mtnmomo

import (
	"context"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/provider"
)

var _ provider.Balancer = (*Client)(nil)

// Balance implements [provider.Balancer]: the money of the disbursement account, from which transfers
// and refunds are taken. The mode is that of Config.
func (c *Client) Balance(ctx context.Context, _ bool) (provider.Balance, error) {
	var balance struct {
		Available text `json:"availableBalance"`
		Currency  string
	}
	if err := c.get(ctx, "balance", "/v1_0/account/balance", &balance); err != nil {
		return provider.Balance{}, err
	}
	d, err := decimal.NewFromString(string(balance.Available))
	if err != nil || !money.FewDigits(d) || balance.Currency != c.cfg.Currency {
		return provider.Balance{}, fmt.Errorf("mtnmomo: balance: the answer is no amount in %s", c.cfg.Currency)
	}
	pesewas, err := money.ToPesewas(d.Truncate(2))
	return provider.Balance{Available: pesewas}, err
}
