package main

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
)

// charger takes money from phones through the provider. If your provider gives money back, or asks
// payers for a code, make yours a provider.RefundRail or a provider.ChargeConfirmer, too. Without
// the first, refunds of payments from phones are refused.
type charger struct{ *client }

// collectionRequest is the body of a submission.
type collectionRequest struct {
	Reference string          `json:"reference"`
	Network   string          `json:"network"`
	Phone     string          `json:"phone"`
	Amount    decimal.Decimal `json:"amount"`
	Currency  string          `json:"currency"`
	Narration string          `json:"narration,omitempty"`
	// ExpiresAt is when the provider stops asking the payer.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// Charge implements provider.Charger. The provider answers "pending" as soon as it has asked the
// payer, and its callback tells the outcome.
func (c *charger) Charge(ctx context.Context, p provider.Charge) (provider.Result, error) {
	if p.Phone == "" {
		// The provider gets nothing, so this is no unknown outcome.
		return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: "Only phones can pay."}}, nil
	}
	return c.submit(ctx, "/collections", collectionRequest{
		Reference: p.ID, Network: p.Network, Phone: p.Phone, Amount: api.FromPesewas(p.Amount).Decimal,
		Currency: "GHS", Narration: p.Description, ExpiresAt: p.Deadline,
	})
}

// ChargeStatus implements provider.Charger.
func (c *charger) ChargeStatus(ctx context.Context, p provider.Charge) (provider.Result, error) {
	if p.Phone == "" {
		return c.Charge(ctx, p)
	}
	return c.status(ctx, "/collections", p.ID)
}
