package invoice

import (
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/internal/money"
)

// Tax is a part of a tax rate.
type Tax struct {
	Name    string
	Percent decimal.Decimal
}

// GhanaVAT returns the taxes on a standard-rated supply in Ghana since January
// 2026, all on one base: VAT 15%, NHIL 2.5% and GETFund levy 2.5%, together 20%.
func GhanaVAT() []Tax {
	return []Tax{
		{Name: "VAT", Percent: decimal.NewFromInt(15)},
		{Name: "NHIL", Percent: decimal.New(25, -1)},
		{Name: "GETFund", Percent: decimal.New(25, -1)},
	}
}

// TaxRow is a tax on the hosted page, the PDF and a credit note.
type TaxRow struct {
	Name    string          `json:"name"`
	Percent decimal.Decimal `json:"percent"`
	Base    int64           `json:"base"`   // what the tax is on, in pesewas
	Amount  int64           `json:"amount"` // pesewas
}

// Label says what tax it is and what it is on: "Tax 20% on 250.00".
func (t *TaxRow) Label() string {
	text := fmt.Sprintf("%s %s%%", t.Name, t.Percent)
	if t.Base != 0 { // a credit note may not say it
		text += " on " + money.Figures(t.Base)
	}
	return text
}

// ShownLine is a line as the hosted page and the PDF show it.
type ShownLine struct {
	Line
	// NotTaxed says that the line has no tax beside others that have one.
	NotTaxed bool
}

// ShownLines returns lines of one invoice or session as they are shown.
func ShownLines(lines []Line) []ShownLine {
	some := slices.ContainsFunc(lines, func(l Line) bool { return l.IsTaxed() })
	shown := make([]ShownLine, len(lines))
	for i, l := range lines {
		shown[i] = ShownLine{Line: l, NotTaxed: some && !l.IsTaxed() && l.Amount > 0}
	}
	return shown
}

// IsTaxed reports whether the line has a rate, which may be 0.
func (l *Line) IsTaxed() bool { return l.Taxable && l.TaxPercent != nil }

// TaxRate is a rate, and the sum of what the lines with that rate cost after all discounts. The tax is
// computed from the sum, so that "20% on 133.20" is what the customer computes.
type TaxRate struct {
	Percent decimal.Decimal
	Parts   []Tax // nil for a rate without parts
	Base    int64 // pesewas
}

// Tax returns the tax in pesewas, rounded half up once, by its absolute value.
func (t *TaxRate) Tax() int64 { return money.Share(t.Base, t.Percent) }

// Rows returns the tax, or its parts. The parts are computed from the same sum and add up to the tax.
// Each is first rounded down. Then those with the largest remainders get one pesewa more, of equal ones
// the earlier.
func (t *TaxRate) Rows() []TaxRow {
	parts := t.Parts
	if len(parts) == 0 {
		parts = []Tax{{Name: "Tax", Percent: t.Percent}}
	}
	rows, remainders := make([]TaxRow, len(parts)), make([]decimal.Decimal, len(parts))
	tax, sign := t.Tax(), int64(1)
	if tax < 0 {
		tax, sign = -tax, -1
	}
	for i, p := range parts {
		exact := decimal.New(sign*t.Base, -2).Mul(p.Percent)
		whole := exact.Floor()
		rows[i] = TaxRow{Name: p.Name, Percent: p.Percent, Base: t.Base, Amount: whole.IntPart()}
		remainders[i] = exact.Sub(whole)
		tax -= rows[i].Amount
	}
	for _, i := range money.LargestFirst(remainders, decimal.Decimal.Cmp)[:tax] {
		rows[i].Amount++
	}
	for i := range rows {
		rows[i].Amount *= sign
	}
	return rows
}

// TaxRates are the rates of an invoice in the order in which its lines have them.
type TaxRates []TaxRate

// Add adds a line, and returns by how much the taxes grow.
func (t *TaxRates) Add(l *Line) int64 {
	if !l.IsTaxed() {
		return 0
	}
	same := func(a, b Tax) bool { return a.Name == b.Name && a.Percent.Equal(b.Percent) }
	i := slices.IndexFunc(*t, func(r TaxRate) bool {
		return r.Percent.Equal(l.TaxPercent.Decimal) && slices.EqualFunc(r.Parts, l.Taxes, same)
	})
	if i < 0 {
		i = len(*t)
		*t = append(*t, TaxRate{Percent: l.TaxPercent.Decimal, Parts: l.Taxes})
	}
	rate := &(*t)[i]
	before := rate.Tax()
	rate.Base += l.Base()
	return rate.Tax() - before
}

// TaxRates returns the rates of the lines that have something to tax.
func (v *Invoice) TaxRates() TaxRates {
	var rates TaxRates
	for i := range v.Lines.Data {
		rates.Add(&v.Lines.Data[i])
	}
	return slices.DeleteFunc(rates, func(t TaxRate) bool { return t.Base == 0 })
}

// StatedFigures are figures of an invoice whose totals were computed by other rules than those of today.
type StatedFigures struct {
	// Taxes are the taxes. A row is the sum of all lines that have a tax of that name and percentage, so it
	// may belong to several rates. They add up to [Invoice.Tax].
	Taxes []TaxRow `json:"taxes,omitempty"`
	// DiscountAfterTax is the part of the discount, in pesewas, that did not reduce the taxes.
	DiscountAfterTax int64 `json:"discount_after_tax,omitempty"`
}

// TaxRows returns the taxes of the invoice in the order in which its lines have them. They add up
// to Tax.
func (v *Invoice) TaxRows() []TaxRow {
	if v.Stated != nil {
		return slices.Clone(v.Stated.Taxes)
	}
	var rows []TaxRow
	rates := v.TaxRates()
	for i := range rates {
		rows = append(rows, rates[i].Rows()...)
	}
	return rows
}
