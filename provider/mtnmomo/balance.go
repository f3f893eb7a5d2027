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
	amount, _, ok := pesewas(balance.Available)
	if !ok || balance.Currency != c.cfg.Currency {
		return provider.Balance{}, fmt.Errorf("mtnmomo: balance: the answer is no amount in %s", c.cfg.Currency)
	}
	return provider.Balance{Available: amount}, nil
}

// pesewas reads one of MTN's amounts, cut to whole pesewas. exact reports whether nothing was cut.
func pesewas(amount text) (n int64, exact, ok bool) {
	d, err := decimal.NewFromString(string(amount))
	if err != nil || !money.FewDigits(d) {
		return 0, false, false
	}
	n, err = money.ToPesewas(d.Truncate(2))
	return n, d.Equal(d.Truncate(2)), err == nil
}
