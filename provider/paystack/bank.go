package paystack

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/seed-7082ffec/payments/provider"
)

// LoadBanks loads the banks of Ghana that Paystack pays, with Paystack's codes, for the two calls of
// [provider.BankDirectory]. Call it at the start, and again each day. After an error the directory
// stays as it was.
func (c *Client) LoadBanks(ctx context.Context) error {
	type row struct {
		Name      string `json:"name"`
		Code      text   `json:"code"`
		Currency  string `json:"currency"`
		Type      text   `json:"type"`
		Active    *bool  `json:"active"`
		IsDeleted bool   `json:"is_deleted"`
	}
	// The type is not among the parameters, since Paystack's own documents spell it in two ways,
	// ghipss and ghipps.
	rows, err := pages(ctx, c, "/bank", url.Values{"currency": {currency}}, func(r row) text { return cmp.Or(r.Code, "none") })
	if err != nil {
		return err
	}
	var banks []provider.Bank
	for _, r := range rows {
		if r.Code != "" && (r.Currency == "" || r.Currency == currency) && !strings.HasPrefix(string(r.Type), "mobile_money") {
			banks = append(banks, provider.Bank{Code: string(r.Code), Name: r.Name, Active: !r.IsDeleted && (r.Active == nil || *r.Active)})
		}
	}
	if len(banks) == 0 {
		return errors.New("paystack: GET /bank answers no bank of Ghana")
	}
	directory := provider.NewBankDirectory(banks)
	c.banks.Store(&directory)
	return nil
}

// Banks implements [provider.BankDirectory]. There are none before [Client.LoadBanks].
func (c *Client) Banks() []provider.Bank {
	if d := c.banks.Load(); d != nil {
		return (*d).Banks()
	}
	return nil
}

// Bank implements [provider.BankDirectory].
func (c *Client) Bank(code string) (provider.Bank, bool) {
	if d := c.banks.Load(); d != nil {
		return (*d).Bank(code)
	}
	return provider.Bank{}, false
}
