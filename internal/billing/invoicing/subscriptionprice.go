package invoicing

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/invoice"
)

// SubscriptionLine describes a line of a subscription's invoice.
type SubscriptionLine struct {
	Description string
	// Quantity is from 1 to 1,000,000. UnitAmount is in pesewas; a negative one is credit for time that
	// was paid for.
	Quantity, UnitAmount int64
	Taxable              bool
	// TaxPercent is nil for the configured default of a taxable line.
	TaxPercent *decimal.Decimal
	Product    *string
	Period     *invoice.Period
	// Net says that UnitAmount is already less its discount, so the invoice's discount does not reduce it again.
	Net bool
}

// PriceParams describe what a subscription's invoice is to cost.
type PriceParams struct {
	Lines []SubscriptionLine
	// Coupon is the id of a coupon, and Terms what it takes off. Its redemption was counted when it was
	// put on the subscription, so the invoice counts none. An empty Coupon takes nothing off.
	Coupon string
	Terms  catalog.Terms
	// CreditBalance is the subscription's credit in pesewas.
	CreditBalance int64
}

// SubscriptionPrice is what a subscription's invoice costs.
type SubscriptionPrice struct {
	Priced
	// CreditBalance is the credit that is left, in pesewas.
	CreditBalance int64
}

// The descriptions of credit.
const (
	creditKept = "Credit for later invoices"
	creditUsed = "Credit from earlier invoices"
)

// PriceSubscription computes what [Service.Issue] would make of the same parameters. It refuses lines that exceed
// the limits of an invoice, with parameter_invalid (line_items).
func (s *Service) PriceSubscription(p PriceParams) (*SubscriptionPrice, error) {
	var r record
	left, err := s.price(&r, &p)
	if err != nil {
		return nil, err
	}
	r.PercentOff = p.Terms.PercentOff
	return &SubscriptionPrice{
		Priced:        Priced{Lines: r.Lines.Data, Subtotal: r.Subtotal, Tax: r.Tax, Discount: r.Discount, Total: r.Total, Sums: r.Sums()},
		CreditBalance: left,
	}, nil
}

// price sets the lines and totals of a subscription's invoice, and returns the credit that is left. A
// total below zero becomes zero, and the rest is credit. Credit that is kept or used is a line without
// tax, which no discount reduces and which the subtotal counts.
func (s *Service) price(r *record, p *PriceParams) (creditBalance int64, err error) {
	if p.Coupon != "" {
		r.Coupon, r.Redemption = &p.Coupon, &redemption{Terms: p.Terms}
	}
	lines := make([]invoice.Line, 0, len(p.Lines)+1)
	for i := range p.Lines {
		l, err := p.Lines[i].line(s.config.DefaultTax)
		if err != nil {
			return 0, check.Under(lineParam(i), err)
		}
		lines = append(lines, *l)
	}
	if err := checkLines(lines); err != nil {
		return 0, err
	}
	if err := r.setLines(lines); err != nil {
		return 0, err
	}
	credit := SubscriptionLine{Description: creditKept, Quantity: 1, UnitAmount: -r.Total}
	if r.Total >= 0 {
		credit.Description, credit.UnitAmount = creditUsed, -min(r.Total, p.CreditBalance)
	}
	if credit.UnitAmount == 0 {
		return p.CreditBalance, nil
	}
	l, err := credit.line(nil)
	if err != nil {
		return 0, err
	}
	r.Lines.Data, r.CreditLine = append(r.Lines.Data, *l), l.ID
	r.Subtotal += l.Amount
	r.Total += l.Amount
	r.AmountDue = r.Total
	return p.CreditBalance + l.Amount, nil
}

func (p *SubscriptionLine) line(defaultTax *decimal.Decimal) (*invoice.Line, error) {
	if p.Quantity < 1 || decimal.NewFromInt(p.Quantity).GreaterThan(maxQuantity) {
		return nil, fmt.Errorf("invoice: a subscription's line with quantity %d", p.Quantity)
	}
	l := &invoice.Line{
		ID: uuid.NewString(), Object: "line_item", Description: p.Description, Quantity: api.Number{Decimal: decimal.NewFromInt(p.Quantity)},
		UnitAmount: p.UnitAmount, Currency: api.Currency, Taxable: p.Taxable, Product: p.Product, Period: p.Period, Net: p.Net,
	}
	if err := setTax(l, &invoice.LineParams{TaxPercent: p.TaxPercent}, defaultTax); err != nil {
		return nil, err
	}
	if p.UnitAmount > money.Max/p.Quantity || p.UnitAmount < -money.Max/p.Quantity {
		return nil, tooMuch("unit_amount")
	}
	l.Amount = p.Quantity * p.UnitAmount
	return l, nil
}
