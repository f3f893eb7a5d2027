package upgrade

import (
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/internal/money"
)

// statedFigures keeps the figures of an invoice whose totals follow a former rule. Programs once rounded the tax
// of each line, and before that took the discount on the whole invoice off after the tax. The first to round the
// tax once per rate marked its invoices with tax_per_rate.
func statedFigures(_ *record, d *document) error {
	if d.has("tax_per_rate") {
		d.remove("tax_per_rate")
		return nil
	}
	var v formerInvoice
	for name, into := range map[string]any{"discount": &v.discount, "lines": &v.lines, "shares": &v.shares, "taxes": &v.taxes} {
		if err := d.read(name, into); err != nil {
			return err
		}
	}
	taxes, taxed := v.taxRows()
	after := v.discountAfterTax()
	if !taxed && after == 0 {
		return nil
	}
	return d.set("stated_figures", struct {
		Taxes            []formerTaxRow `json:"taxes,omitempty"`
		DiscountAfterTax int64          `json:"discount_after_tax,omitempty"`
	}{taxes, after})
}

// formerInvoice is what the former rules need of an invoice.
type formerInvoice struct {
	discount int64
	lines    struct {
		Data []formerLine `json:"data"`
	}
	shares map[string]int64       // of the discount on the whole invoice, by the lines' ids
	taxes  map[string][]formerTax // the parts of rates, by the lines' ids
}

type formerLine struct {
	ID         string           `json:"id"`
	Amount     int64            `json:"amount"`
	Discount   int64            `json:"discount_amount"`
	Taxable    bool             `json:"taxable"`
	TaxPercent *decimal.Decimal `json:"tax_percent"`
}

type formerTax struct {
	Name    string
	Percent decimal.Decimal
}

type formerTaxRow struct {
	Name    string          `json:"name"`
	Percent decimal.Decimal `json:"percent"`
	Base    int64           `json:"base"`
	Amount  int64           `json:"amount"`
}

// discountAfterTax returns the part of the discount that did not reduce the taxes.
func (v *formerInvoice) discountAfterTax() int64 {
	after := v.discount
	for _, l := range v.lines.Data {
		after -= l.Discount + v.shares[l.ID]
	}
	return max(after, 0)
}

// taxRows returns the taxes, each rounded per line, and whether a line has a rate. The rows of lines add up to one
// row for each name and percentage. Any difference between a tax and its parts goes to the line's first part.
func (v *formerInvoice) taxRows() (rows []formerTaxRow, taxed bool) {
	add := func(t formerTax, base, amount int64) {
		for i := range rows {
			if rows[i].Name == t.Name && rows[i].Percent.Equal(t.Percent) {
				rows[i].Base += base
				rows[i].Amount += amount
				return
			}
		}
		rows = append(rows, formerTaxRow{t.Name, t.Percent, base, amount})
	}
	for _, l := range v.lines.Data {
		if !l.Taxable || l.TaxPercent == nil {
			continue
		}
		taxed = true
		base := l.Amount - l.Discount - v.shares[l.ID]
		rest := money.Share(base, *l.TaxPercent)
		if rest == 0 {
			continue
		}
		taxes := v.taxes[l.ID]
		if len(taxes) == 0 {
			add(formerTax{"Tax", *l.TaxPercent}, base, rest)
			continue
		}
		parts := make([]int64, len(taxes))
		for i, t := range taxes[1:] {
			parts[i+1] = min(money.Share(base, t.Percent), rest)
			rest -= parts[i+1]
		}
		parts[0] = rest
		for i, t := range taxes {
			add(t, base, parts[i])
		}
	}
	return rows, taxed
}
