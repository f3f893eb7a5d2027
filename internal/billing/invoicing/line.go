package invoicing

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/invoice"
)

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
func checkLines(lines []invoice.Line) error {
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

// checkSize refuses a currency other than GHS, and a number with so many digits that formatting it would
// fill the memory. Callers check before they format the number.
func checkSize(p *invoice.LineParams) error {
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

// fill takes from a product what the line does not state itself.
func fill(p *invoice.LineParams, from *catalog.Product) {
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

// newLine checks a line and computes its amount, which may still be too much for an invoice.
func newLine(p *invoice.LineParams, defaultTax *decimal.Decimal) (*invoice.Line, error) {
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
	l := &invoice.Line{
		ID: uuid.NewString(), Object: "line_item", Description: p.Description, Quantity: api.Number{Decimal: quantity},
		UnitAmount: *p.UnitAmount, Currency: api.Currency, Taxable: p.Taxable != nil && *p.Taxable, Product: api.TextOrNil(p.Product),
		Metadata: p.Metadata, Discount: p.Discount,
	}
	if err := setTax(l, p, defaultTax); err != nil {
		return nil, err
	}
	l.Amount = round(quantity.Mul(decimal.NewFromInt(l.UnitAmount)))
	if l.Discount < 0 || l.Discount > l.Amount {
		return nil, api.Invalid("discount", "discount must be from 0 to the amount of the line.")
	}
	return l, nil
}

func setTax(l *invoice.Line, p *invoice.LineParams, defaultTax *decimal.Decimal) error {
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

// total computes the totals of the invoice from its lines, and drops its stated figures. If the totals exceed
// money.Max, its refusal names the first line that makes them do so.
func (r *record) total() error {
	if err := r.shareDiscount(); err != nil {
		return err
	}
	var subtotal, tax, discount, own int64
	var rates invoice.TaxRates
	var rate *api.Number
	shared, taxable, beyond := true, false, -1
	for i := range r.Lines.Data {
		l := &r.Lines.Data[i]
		subtotal += l.Amount
		tax += rates.Add(l)
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
	if max(subtotal-own, subtotal+tax-discount) > money.Max { // else later negative lines have brought the total back
		return tooMuch(lineParam(beyond))
	}
	r.Subtotal, r.Tax, r.Discount = subtotal, tax, discount
	r.Stated, r.StatedFigures = nil, nil
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
