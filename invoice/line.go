package invoice

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/plainjson"
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

var maxQuantity = decimal.NewFromInt(1_000_000)

// The bounds of an invoice's lines: how many there are, and how many bytes of JSON they
// have together.
const (
	maxLines     = 250
	maxLineBytes = 256 << 10
)

// checkCount refuses more lines than an invoice may have.
func checkCount(lines int) error {
	if lines > maxLines {
		return api.Invalid("line_items", "An invoice has at most %d lines, and this would make %d. Make several invoices of them.", maxLines, lines)
	}
	return nil
}

// checkLines refuses lines that an invoice cannot have together.
func checkLines(lines []Line) error {
	if err := checkCount(len(lines)); err != nil {
		return err
	}
	data, err := plainjson.Marshal(lines)
	if err != nil {
		return fmt.Errorf("invoice: lines: %w", err)
	}
	if len(data) > maxLineBytes {
		return api.Invalid("line_items", "All lines together have at most %d bytes of JSON. Shorten descriptions and metadata.", maxLineBytes)
	}
	return nil
}

// checkSize refuses a number whose digits would fill the memory. It is called before anything
// formats the number.
func (p *LineParams) checkSize() error {
	if err := check.Currency(p.Currency); err != nil {
		return err
	}
	if p.Quantity != nil && !money.FewDigits(*p.Quantity) {
		return api.Invalid("quantity", "quantity must be above 0 and at most 1,000,000.")
	}
	fewDigits := p.TaxPercent == nil || money.FewDigits(*p.TaxPercent)
	for _, t := range p.Taxes {
		fewDigits = fewDigits && money.FewDigits(t.Percent)
	}
	if !fewDigits {
		return api.Invalid("tax_percent", "tax_percent must be from 0 to 100.")
	}
	return nil
}

// lineParam is the path of a line in a request.
func lineParam(i int) string { return fmt.Sprintf("line_items[%d]", i) }

// fill takes from a product what the line does not say itself.
func (p *LineParams) fill(from *catalog.Product) {
	if p.Description == "" {
		p.Description = from.Name
	}
	if p.UnitAmount == nil {
		p.UnitAmount = from.UnitAmount
	}
	if p.Taxable == nil {
		p.Taxable = from.Taxable
	}
	if p.TaxPercent == nil && len(p.Taxes) == 0 && from.TaxPercent != nil {
		p.TaxPercent = &from.TaxPercent.Decimal
	}
}

// line checks a line and computes its amount, which may still be too much for an invoice.
func (p *LineParams) line(defaultTax *decimal.Decimal) (*Line, error) {
	if p.Description == "" {
		return nil, api.Missing("description")
	}
	if err := check.Text("description", p.Description, api.MaxText); err != nil {
		return nil, err
	}
	if p.UnitAmount == nil {
		return nil, api.Missing("unit_amount")
	}
	if *p.UnitAmount < 0 || *p.UnitAmount > money.Max {
		return nil, api.Invalid("unit_amount", "unit_amount must be a whole number of pesewas from 0 to %d.", money.Max)
	}
	quantity := decimal.NewFromInt(1)
	if p.Quantity != nil {
		quantity = p.Quantity.Round(money.RatePlaces)
	}
	if !quantity.IsPositive() || quantity.GreaterThan(maxQuantity) {
		return nil, api.Invalid("quantity", "quantity must be above 0 and at most 1,000,000.")
	}
	if err := check.Metadata(p.Metadata, false); err != nil {
		return nil, err
	}
	l := &Line{
		ID: uuid.NewString(), Object: "line_item", Description: p.Description, Quantity: api.Number{Decimal: quantity},
		UnitAmount: *p.UnitAmount, Currency: api.Currency, Taxable: p.Taxable != nil && *p.Taxable, Product: api.TextOrNil(p.Product),
		Metadata: p.Metadata, Discount: p.Discount,
	}
	if err := l.setTax(p, defaultTax); err != nil {
		return nil, err
	}
	l.Amount = round(quantity.Mul(decimal.NewFromInt(l.UnitAmount)))
	if l.Discount < 0 || l.Discount > l.Amount {
		return nil, api.Invalid("discount", "discount must be from 0 to the amount of the line.")
	}
	return l, nil
}

func (l *Line) setTax(p *LineParams, defaultTax *decimal.Decimal) error {
	rate := p.TaxPercent
	if len(p.Taxes) > 0 {
		sum := decimal.Zero
		for _, t := range p.Taxes {
			if t.Name == "" || t.Percent.IsNegative() {
				return api.Invalid("tax_percent", "A tax needs a name, and a rate that is not negative.")
			}
			sum = sum.Add(t.Percent)
		}
		rate, l.Taxes = &sum, p.Taxes
	}
	if rate == nil && l.Taxable {
		rate = defaultTax
	}
	if rate == nil {
		return nil
	}
	if err := check.Percent("tax_percent", rate); err != nil {
		return err
	}
	l.TaxPercent = &api.Number{Decimal: rate.Round(money.RatePlaces)}
	return nil
}

// base returns the amount of the line after all discounts, which is what its tax is on.
func (l *Line) base() int64 { return l.Amount - l.Discount - l.DiscountShare }

// round rounds pesewas half up. Amounts that are rounded are never negative.
func round(pesewas decimal.Decimal) int64 {
	if pesewas.GreaterThan(decimal.NewFromInt(money.Max)) {
		return money.Max + 1 // every caller refuses it; IntPart would overflow silently
	}
	return pesewas.Round(0).IntPart()
}

func tooMuch(param string) error {
	return api.Invalid(param, "%s takes the total beyond GHS %s.", param, money.Text(money.Max))
}

// total computes the totals of the invoice from its lines. If they are beyond what an amount may be, it
// names the first line that takes them there.
func (r *record) total() error {
	if err := r.shareDiscount(); err != nil {
		return err
	}
	var subtotal, tax, discount, own int64
	var rates taxRates
	var rate *api.Number
	shared, taxable, beyond := true, false, -1
	for i := range r.Lines.Data {
		l := &r.Lines.Data[i]
		subtotal += l.Amount
		tax += rates.add(l)
		discount += l.Discount + l.DiscountShare
		own += l.Discount
		if l.Amount > money.Max {
			return tooMuch(lineParam(i))
		}
		if beyond < 0 && max(subtotal-own, subtotal+tax-discount) > money.Max {
			beyond = i
		}
		if !l.Taxable {
			continue
		}
		if taxable && !sameRate(rate, l.TaxPercent) {
			shared = false
		}
		taxable, rate = true, l.TaxPercent
	}
	if max(subtotal-own, subtotal+tax-discount) > money.Max { // else negative lines have brought it back
		return tooMuch(lineParam(beyond))
	}
	r.Subtotal, r.Tax, r.Discount = subtotal, tax, discount
	r.TaxPerRate, r.TaxPerLine = true, false
	r.TaxPercent = nil
	if taxable && shared {
		r.TaxPercent = rate
	}
	r.Total = subtotal + tax - r.Discount
	r.AmountDue = r.Total - r.AmountPaid
	return nil
}

func sameRate(a, b *api.Number) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(b.Decimal)
}
