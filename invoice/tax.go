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

// label says what tax it is and what it is on: "Tax 20% on 250.00".
func (t *TaxRow) label() string {
	text := fmt.Sprintf("%s %s%%", t.Name, t.Percent)
	if t.Base != 0 { // of the credit note of an earlier release it is not known
		text += " on " + figures(t.Base)
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
	some := slices.ContainsFunc(lines, func(l Line) bool { return l.isTaxed() })
	shown := make([]ShownLine, len(lines))
	for i, l := range lines {
		shown[i] = ShownLine{Line: l, NotTaxed: some && !l.isTaxed() && l.Amount > 0}
	}
	return shown
}

// isTaxed reports whether the line has a rate, which may be 0.
func (l *Line) isTaxed() bool { return l.Taxable && l.TaxPercent != nil }

// taxRate is a rate, and the sum of what the lines with that rate cost after all discounts. The tax is
// computed from the sum, so that "20% on 133.20" is what the customer computes.
type taxRate struct {
	percent decimal.Decimal
	parts   []Tax // nil for a rate without parts
	base    int64
}

// tax returns the tax, rounded half up once, by its absolute value.
func (t *taxRate) tax() int64 { return money.Share(t.base, t.percent) }

// rows returns the tax, or its parts. The parts are computed from the same sum and add up to the tax:
// each is first rounded down, then those with the largest remainders get one pesewa more, of equal ones
// the earlier.
func (t *taxRate) rows() []TaxRow {
	parts := t.parts
	if len(parts) == 0 {
		parts = []Tax{{Name: "Tax", Percent: t.percent}}
	}
	rows, remainders := make([]TaxRow, len(parts)), make([]decimal.Decimal, len(parts))
	tax, sign := t.tax(), int64(1)
	if tax < 0 {
		tax, sign = -tax, -1
	}
	for i, p := range parts {
		exact := decimal.New(sign*t.base, -2).Mul(p.Percent)
		whole := exact.Floor()
		rows[i] = TaxRow{Name: p.Name, Percent: p.Percent, Base: t.base, Amount: whole.IntPart()}
		remainders[i] = exact.Sub(whole)
		tax -= rows[i].Amount
	}
	for _, i := range largestFirst(remainders, decimal.Decimal.Cmp)[:tax] {
		rows[i].Amount++
	}
	for i := range rows {
		rows[i].Amount *= sign
	}
	return rows
}

// taxRates are the rates of an invoice in the order in which its lines have them.
type taxRates []taxRate

// add adds a line, and returns by how much the taxes grow.
func (t *taxRates) add(l *Line) int64 {
	if !l.isTaxed() {
		return 0
	}
	same := func(a, b Tax) bool { return a.Name == b.Name && a.Percent.Equal(b.Percent) }
	i := slices.IndexFunc(*t, func(r taxRate) bool {
		return r.percent.Equal(l.TaxPercent.Decimal) && slices.EqualFunc(r.parts, l.Taxes, same)
	})
	if i < 0 {
		i = len(*t)
		*t = append(*t, taxRate{percent: l.TaxPercent.Decimal, parts: l.Taxes})
	}
	rate := &(*t)[i]
	before := rate.tax()
	rate.base += l.base()
	return rate.tax() - before
}

// taxRates returns the rates of the lines that have something to tax.
func (v *Invoice) taxRates() taxRates {
	var rates taxRates
	for i := range v.Lines.Data {
		rates.add(&v.Lines.Data[i])
	}
	return slices.DeleteFunc(rates, func(t taxRate) bool { return t.base == 0 })
}

// TaxRows returns the taxes of the invoice in the order in which its lines have them. They add up
// to Tax.
func (v *Invoice) TaxRows() []TaxRow {
	if v.TaxPerLine {
		return v.taxRowsPerLine()
	}
	var rows []TaxRow
	rates := v.taxRates()
	for i := range rates {
		rows = append(rows, rates[i].rows()...)
	}
	return rows
}

// taxRowsPerLine returns the taxes of an invoice of an earlier release. It rounded the tax of each
// line; any difference between a tax and its parts goes to the line's first part.
func (v *Invoice) taxRowsPerLine() []TaxRow {
	var rows []TaxRow
	add := func(t Tax, base, amount int64) {
		for i := range rows {
			if rows[i].Name == t.Name && rows[i].Percent.Equal(t.Percent) {
				rows[i].Base += base
				rows[i].Amount += amount
				return
			}
		}
		rows = append(rows, TaxRow{t.Name, t.Percent, base, amount})
	}
	for i := range v.Lines.Data {
		l := &v.Lines.Data[i]
		if !l.isTaxed() {
			continue
		}
		base := l.base()
		rest := money.Share(base, l.TaxPercent.Decimal)
		if rest == 0 {
			continue
		}
		if len(l.Taxes) == 0 {
			add(Tax{"Tax", l.TaxPercent.Decimal}, base, rest)
			continue
		}
		parts := make([]int64, len(l.Taxes))
		for j, t := range l.Taxes[1:] {
			parts[j+1] = min(money.Share(base, t.Percent), rest)
			rest -= parts[j+1]
		}
		parts[0] = rest
		for j, t := range l.Taxes {
			add(t, base, parts[j])
		}
	}
	return rows
}
