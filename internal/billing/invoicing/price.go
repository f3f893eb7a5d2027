package invoicing

import (
	"fmt"
	"slices"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/billing/offering"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/invoice"
)

// Priced are lines and their totals, computed as those of an invoice. All amounts are in pesewas.
type Priced struct {
	Lines                          []invoice.Line
	Subtotal, Discount, Tax, Total int64
	// Sums are the totals as the page shows them, the total last.
	Sums []invoice.Sum
}

// CheckLines refuses more than 250 lines, numbers with too many digits, and a currency other than GHS.
// Callers call it before they format the lines.
func (*Service) CheckLines(lines []invoice.LineParams) error {
	if err := checkCount(len(lines)); err != nil {
		return err
	}
	for i := range lines {
		if err := checkSize(&lines[i]); err != nil {
			return check.Under(lineParam(i), err)
		}
	}
	return nil
}

// Price computes the totals of checked lines, less what the coupon takes off; nil for no coupon. It
// redeems nothing. Unlike on an invoice, a line with only a rate is taxable.
//
// Refusals: parameter_missing, parameter_invalid, resource_missing (product), each with the parameter
// of the line.
func (s *Service) Price(tx *engine.Tx, lines []invoice.LineParams, coupon *catalog.Coupon) (*Priced, error) {
	lines = slices.Clone(lines)
	for i := range lines {
		lines[i].Taxable = offering.TaxableByRate(lines[i].Taxable, lines[i].TaxPercent)
	}
	made, err := s.lines(tx, lines)
	if err != nil {
		return nil, err
	}
	if err := checkLines(made); err != nil {
		return nil, err
	}
	r := &record{}
	if coupon != nil {
		r.Redemption, r.PercentOff = &redemption{Terms: coupon.Terms}, coupon.PercentOff
	}
	if err := r.setLines(made); err != nil {
		return nil, err
	}
	sums := r.Sums()
	ownDiscount := func(l invoice.Line) bool { return l.Discount > 0 }
	if coupon != nil && coupon.Name != nil && r.Discount > 0 && !slices.ContainsFunc(made, ownDiscount) {
		sums[1].Name = couponName(coupon)
	}
	return &Priced{Lines: made, Subtotal: r.Subtotal, Discount: r.Discount, Tax: r.Tax, Total: r.Total, Sums: sums}, nil
}

// couponName returns the name that a page gives to the discount of a coupon. The coupon has a name.
func couponName(c *catalog.Coupon) string {
	if c.PercentOff == nil {
		return "Coupon " + *c.Name
	}
	return fmt.Sprintf("Coupon %s, %s%% off", *c.Name, c.PercentOff)
}

// PaidReceipt describes an e-mail about a payment that is not of an invoice.
type PaidReceipt struct {
	// Person is the customer who gets it; empty if unknown. To is the address; empty sends nothing.
	Person, To string
	// Title is the subject, without the merchant.
	Title string
	// Amount is in pesewas.
	Amount      int64
	Description string
	// Sums are the totals of what was paid for, the total last; nil for none.
	Sums []invoice.Sum
	// Payment is the id of the payment, and URL the address of the receipt.
	Payment, URL string
}

// EmailReceipt queues an e-mail that says that the caller's merchant was paid. It looks like the
// receipt of an invoice.
func (s *Service) EmailReceipt(tx *engine.Tx, p PaidReceipt) error {
	m, err := s.config.Accounts.Merchant(tx, tx.Caller.Merchant)
	if err != nil {
		return fmt.Errorf("invoice: merchant: %w", err)
	}
	r := &record{Invoice: invoice.Invoice{Email: api.TextOrNil(p.To), Customer: api.TextOrNil(p.Person)}}
	return s.email(tx, r, m, emailData{
		Merchant: m.Name, Title: p.Title, Amount: money.Text(p.Amount), Description: p.Description,
		Payment: p.Payment, URL: p.URL, Action: "See the receipt", Sums: mailSums(p.Sums),
	}, "")
}
