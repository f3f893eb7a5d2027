package subscribing

import (
	"time"

	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
)

// prorate adds the lines of a change to those that wait. With a plan of another interval it adds only the credit,
// since a new period starts at once.
//
// Both lines carry the discount of the period. So a change and its reversal net to nothing, whatever the
// coupon is and whether the period is paid or not.
func (s *Service) prorate(tx *engine.Tx, r, old *record, now time.Time) error {
	cost := *r.PeriodCost
	charged, err := s.config.Invoices.Charged(tx, engine.Scope(tx.Caller), cost.Invoice)
	if err != nil {
		return err
	}
	left, whole := old.periodEnd().Sub(now), old.periodEnd().Sub(old.periodStart())
	unused := changeLine("Unused time on ", &cost.Terms, -money.Prorate(cost.Amount, left, whole))
	if !cost.Changed {
		unused.Invoice, unused.Full = cost.Invoice, -unused.Amount
		unused.Amount = -charged.Worth(unused.Full)
	}
	r.wait(unused)
	if r.Terms.recurrence != old.Terms.recurrence {
		return nil
	}
	amount := r.Amount * r.Quantity
	if discount := r.periodDiscount(charged); discount != nil {
		amount -= discount.Discount(amount)
	}
	r.wait(changeLine("Remaining time on ", &r.Terms, money.Prorate(amount, left, whole)))
	r.PeriodCost = &periodCost{Invoice: cost.Invoice, Amount: amount, Changed: true, Terms: r.Terms}
	return nil
}

// periodDiscount returns the discount on a change in the current period; nil for none. A coupon for several
// invoices applies as soon as the subscription has it. Otherwise the discount of the period's invoice applies.
// A coupon for one invoice waits for the next one.
func (r *record) periodDiscount(charged *invoicing.Charged) *catalog.Terms {
	if r.Coupon != nil && !r.Coupon.Once {
		return &r.Coupon.Terms
	}
	return charged.Discount
}

// changeLine makes a line of a change. Its amount is already less the discount.
func changeLine(what string, t *terms, amount int64) waitingLine {
	return waitingLine{Description: what + t.Name, Amount: amount, Product: t.Product, Taxable: t.Taxable, TaxPercent: t.TaxPercent}
}

// wait adds a line for the next invoice, unless its amount is 0.
func (r *record) wait(l waitingLine) {
	if l.Amount != 0 {
		r.Waiting = append(r.Waiting, l)
	}
}
