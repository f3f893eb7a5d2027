package invoicing

import (
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

// Charged is what a subscription's invoice has charged for its period, and what has become of it.
type Charged struct {
	// Discount is what the invoice's coupon takes off the period; nil for none, and for a void invoice.
	Discount *catalog.Terms

	kept, of int64 // kept/of is the part of the payment that was not given back
}

// Charged returns what an invoice has charged for its period.
func (s *Service) Charged(tx storage.ReadTx, scope storage.Scope, id string) (*Charged, error) {
	o, err := s.get(tx, scope, id)
	if err != nil {
		return nil, err
	}
	r := &o.Value
	c := &Charged{kept: 1, of: 1}
	switch {
	case r.Status == invoice.Void || r.Status == invoice.Uncollectible:
		c.kept = 0
	case r.Refunded > 0:
		c.kept, c.of = r.AmountPaid-r.Refunded, r.AmountPaid
	}
	if r.Redemption != nil && r.Status != invoice.Void {
		c.Discount = &r.Redemption.Terms
	}
	return c, nil
}

// Worth returns the worth of a credit that belongs to the invoice. It is 0 if the invoice is void or
// uncollectible. Refunds reduce it by the part of the payment that they gave back.
func (c *Charged) Worth(credit int64) int64 { return money.Part(credit, c.kept, c.of) }
