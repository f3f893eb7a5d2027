package mtnmomo

import (
	"context"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/provider"
)

var _ provider.Balancer = (*Client)(nil)

// Balance implements [provider.Balancer]. Available is the money of the disbursement account, from which
// transfers and refunds are taken. Held adds that of the collection account, which takes the charges; it
// is nil if MTN does not tell that. A product without Credentials has no money. The mode is that of Config.
// That the accounts hold nothing beside what MTN calls available is unconfirmed.
func (c *Client) Balance(ctx context.Context, _ bool) (provider.Balance, error) {
	disbursement, collection := c.transfers.product, c.charges.product
	if collection.user == "" {
		available, err := c.balance(ctx, disbursement)
		return provider.Balance{Available: available, Held: &available}, err
	}
	if disbursement.user == "" {
		held, err := c.balance(ctx, collection)
		return provider.Balance{Held: &held}, err
	}
	available, err := c.balance(ctx, disbursement)
	if err != nil {
		return provider.Balance{}, err
	}
	collected, err := c.balance(ctx, collection)
	if err != nil { // whether there is enough to pay out is worth more than all that lies there
		return provider.Balance{Available: available}, nil
	}
	collected += available
	return provider.Balance{Available: available, Held: &collected}, nil
}

// balance returns the money of a product's account.
func (c *Client) balance(ctx context.Context, p *product) (int64, error) {
	what := "balance of " + p.name
	var balance struct {
		Available text `json:"availableBalance"`
		Currency  string
	}
	if err := c.get(ctx, p, what, "/v1_0/account/balance", &balance); err != nil {
		return 0, err
	}
	amount, _, ok := pesewas(balance.Available)
	if !ok || balance.Currency != c.cfg.Currency {
		return 0, failed(provider.ClassUnreadable, "mtnmomo: %s: the answer is no amount in %s", what, c.cfg.Currency)
	}
	return amount, nil
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
