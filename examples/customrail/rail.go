package main

import (
	"context"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
)

// rail sends money out through the provider.
type rail struct{ *client }

// transferRequest is the body of a submission. The amount is a text, since many programs
// read a JSON number into a float.
type transferRequest struct {
	Reference string          `json:"reference"`
	Channel   string          `json:"channel"` // "momo" or "bank"
	Network   string          `json:"network"` // mtn, telecel, airteltigo, or the bank's code
	Account   string          `json:"account"`
	Name      string          `json:"name,omitempty"`
	Amount    decimal.Decimal `json:"amount"`
	Currency  string          `json:"currency"`
	Narration string          `json:"narration,omitempty"`
}

// Submit implements provider.Rail.
func (r *rail) Submit(ctx context.Context, t provider.Transfer) (provider.Result, error) {
	channel, network := "momo", t.Network
	if t.Channel == provider.BankTransfer {
		channel, network = "bank", t.Bank
	}
	return r.submit(ctx, "/transfers", transferRequest{
		Reference: t.ID, Channel: channel, Network: network, Account: t.Number, Name: t.Name,
		Amount: api.FromPesewas(t.Amount).Decimal, Currency: "GHS", Narration: t.Description,
	})
}

// Status implements provider.Rail.
func (r *rail) Status(ctx context.Context, t provider.Transfer) (provider.Result, error) {
	return r.status(ctx, "/transfers", t.ID)
}
