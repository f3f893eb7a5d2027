package invoice

import "slices"

// Sum is a row of the totals on the hosted page and the PDF.
type Sum struct {
	Name   string
	Amount int64 // pesewas
	Bold   bool
}

// Sums returns the totals in the order in which they are shown. The row for the amount due is left out
// if it equals the total or is zero. Pages also show the amount due above the lines.
func (v *Invoice) Sums() []Sum {
	sums := []Sum{{Name: "Subtotal", Amount: v.Subtotal}}
	var after int64 // of the discount
	if v.Stated != nil {
		after = v.Stated.DiscountAfterTax
	}
	if before := v.Discount - after; before > 0 {
		sums = append(sums, Sum{Name: v.discountName(), Amount: -before})
	}
	for _, t := range v.TaxRows() {
		sums = append(sums, Sum{Name: t.Label(), Amount: t.Amount})
	}
	if after > 0 {
		sums = append(sums, Sum{Name: "Discount", Amount: -after})
	}
	sums = append(sums, Sum{Name: "Total", Amount: v.Total, Bold: true})
	if v.AmountPaid > 0 {
		paid := "Paid"
		if v.PaidOutOfBand != nil {
			paid = "Paid outside"
			if *v.PaidOutOfBand != "" {
				paid += " (" + *v.PaidOutOfBand + ")"
			}
		}
		sums = append(sums, Sum{Name: paid, Amount: -v.AmountPaid})
	}
	if v.AmountDue != v.Total && v.AmountDue != 0 {
		sums = append(sums, Sum{Name: "Amount due", Amount: v.AmountDue})
	}
	if v.AmountRefunded > 0 {
		sums = append(sums, Sum{Name: "Refunded", Amount: v.AmountRefunded})
	}
	return sums
}

// discountName is what the discount is called on page and PDF: "Discount 10%" if it is a percentage
// of the subtotal alone.
func (v *Invoice) discountName() string {
	own := func(l Line) bool { return l.Discount > 0 }
	if v.PercentOff == nil || slices.ContainsFunc(v.Lines.Data, own) {
		return "Discount"
	}
	return "Discount " + v.PercentOff.String() + "%"
}
