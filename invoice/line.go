package invoice

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
)

// Line is one line of an invoice. All amounts are in pesewas.
type Line struct {
	ID          string     `json:"id"`     // a UUID
	Object      string     `json:"object"` // always "line_item"
	Description string     `json:"description"`
	Quantity    api.Number `json:"quantity"`
	UnitAmount  int64      `json:"unit_amount"`
	// Amount is Quantity times UnitAmount, rounded half up.
	Amount     int64       `json:"amount"`
	Currency   string      `json:"currency"`
	Taxable    bool        `json:"taxable"`
	TaxPercent *api.Number `json:"tax_percent"`
	// Discount is the line's own. It reduces the amount before the tax.
	Discount int64   `json:"discount_amount"`
	Product  *string `json:"product"`
	// Period is the time that a subscription's line pays for. It is nil for all other lines, whose JSON
	// leaves it out.
	Period   *Period      `json:"period,omitempty"`
	Metadata api.Metadata `json:"metadata"`
	// Taxes are the parts of TaxPercent, if the host has set them. The hosted page and the PDF show
	// them; /v1 does not.
	Taxes []Tax `json:"-"`
	// DiscountShare is the line's share of the discount on the whole invoice, which also reduces the
	// amount before the tax. /v1 does not show it.
	DiscountShare int64 `json:"-"`
	// Net says that the amount is less its discount already, as the lines of a subscription's changes are.
	// A discount on the whole invoice leaves the line alone.
	Net bool `json:"-"`
}

// Period is a time from Start on and before End, in Unix seconds.
type Period struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// String returns the first and the last day as people read them: "31 Dec 2025 – 30 Jan 2026".
func (p Period) String() string {
	const short = "2 Jan 2006"
	start, end := time.Unix(p.Start, 0).UTC(), time.Unix(max(p.End-1, p.Start), 0).UTC()
	if start.Format(time.DateOnly) == end.Format(time.DateOnly) {
		return start.Format(short)
	}
	return start.Format(short) + " – " + end.Format(short)
}

// LineParams describe a line. With a product, what is not given comes from it: its name as
// Description, its price and its tax.
type LineParams struct {
	// Description is required without a product, and has at most 500 characters.
	Description string `json:"description"`
	// Quantity is above 0 and at most 1,000,000, rounded half up to six decimals. Nil means 1.
	Quantity *decimal.Decimal `json:"quantity,omitempty" param:",rate"`
	// UnitAmount is in pesewas, 0 or more; required without a product that has a price.
	UnitAmount *int64 `json:"unit_amount" param:",pesewas"`
	Currency   string `json:"currency,omitempty"` // GHS when empty
	Product    string `json:"product,omitempty"`  // the id of an active product
	// Taxable is the product's when nil; without a product, false. But with Taxes, and on the lines of a
	// checkout session with a TaxPercent, nil means true.
	Taxable *bool `json:"taxable,omitempty"`
	// TaxPercent is from 0 to 100, rounded half up to six decimals. For a taxable line, nil means the
	// product's rate, and without one payments.Config.DefaultTax.
	TaxPercent *decimal.Decimal `json:"tax_percent,omitempty" param:",rate"`
	Metadata   api.Metadata     `json:"metadata,omitempty"`
	// Discount, in pesewas, is taken off before the tax; Go callers only.
	Discount int64 `json:"discount,omitempty" param:"-"`
	// Taxes are the parts of the rate; set them instead of TaxPercent. Only Go callers can set
	// them.
	Taxes []Tax `json:"taxes,omitempty" param:"-"`
}

// Base returns the amount of the line after all discounts, which is what its tax is on.
func (l *Line) Base() int64 { return l.Amount - l.Discount - l.DiscountShare }
