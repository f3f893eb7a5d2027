package subscription

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/invoice"
)

// lateAfter is how long after the start of its period an invoice may be made and still be due as if it
// had been made then.
const lateAfter = day

// bill makes the invoice of the period that the subscription has just entered, and notes it. person is the
// customer. payment is the id of a payment of this transaction that pays the invoice; empty for none. bill
// reports whether the invoice is paid. The caller writes the subscription.
func (s *Service) bill(tx *engine.Tx, r *record, person *account.Customer, payment string) (paid bool, err error) {
	p := invoice.IssueParams{
		PriceParams: r.price(), Subscription: r.ID, Customer: r.Customer, Person: person, Date: r.periodStart(),
		CollectionMethod: r.CollectionMethod, Payment: payment,
	}
	if r.CollectionMethod == invoice.SendInvoice {
		from := p.Date
		if made := second(tx.Now); made.Sub(from) > lateAfter {
			from = made
		}
		p.DueDate = from.Add(time.Duration(r.DaysUntilDue) * day)
	} else {
		p.ChargedPhone = r.Phone
	}
	issued, err := s.config.Invoices.Issue(tx, p)
	if err != nil {
		return false, fmt.Errorf("subscription: invoice: %w", err)
	}
	line := &issued.Lines.Data[len(r.Waiting)]
	r.LatestInvoice, r.CreditBalance = &issued.ID, issued.CreditBalance
	r.Paid = &periodCost{Invoice: issued.ID, Amount: line.Amount - line.DiscountShare, Terms: r.Terms}
	if r.Coupon != nil && (r.Coupon.Once && p.Coupon != "" || r.discountOver(p.Date)) {
		r.Discount, r.Coupon = nil, nil
	}
	r.Waiting = nil
	if issued.Status == invoice.Paid {
		return true, nil
	}
	open := unpaid{Invoice: issued.ID}
	if !p.DueDate.IsZero() {
		open.At = p.DueDate.Unix()
	}
	r.Unpaid = append(r.Unpaid, open)
	return false, nil
}

// price returns what the invoice of the current period is made of: the lines that have waited, and the
// period's own.
func (r *record) price() invoice.PriceParams {
	p := invoice.PriceParams{CreditBalance: r.CreditBalance}
	sum := r.Amount * r.Quantity
	for _, l := range r.Waiting {
		sum += l.Amount
		p.Lines = append(p.Lines, invoice.SubscriptionLine{
			Description: l.Description, Quantity: 1, UnitAmount: l.Amount, Taxable: l.Taxable, TaxPercent: decimalOf(l.TaxPercent), Product: api.TextOrNil(l.Product),
		})
	}
	p.Lines = append(p.Lines, invoice.SubscriptionLine{
		Description: r.Terms.Name, Quantity: r.Quantity, UnitAmount: r.Amount, Taxable: r.Terms.Taxable, TaxPercent: decimalOf(r.Terms.TaxPercent),
		Product: api.TextOrNil(r.Terms.Product), Period: &invoice.Period{Start: r.CurrentPeriodStart, End: r.CurrentPeriodEnd},
	})
	if r.Coupon != nil && !r.discountOver(r.periodStart()) && (sum > 0 || !r.Coupon.Once) {
		p.Coupon, p.Terms = r.Discount.Coupon, r.Coupon.Terms
	}
	return p
}

// discountOver reports whether the discount is not for a period that starts then.
func (r *record) discountOver(start time.Time) bool {
	return r.Discount.End != nil && start.Unix() >= *r.Discount.End
}

// checkNext refuses a subscription whose next invoice would be too much for one. So no renewal can
// fail for its amounts. The discount and the credit may end before.
func (s *Service) checkNext(r *record) error {
	p := r.price()
	p.Coupon, p.CreditBalance = "", 0
	_, err := s.config.Invoices.PriceSubscription(p)
	if api.CodeOf(err) == api.ParameterInvalid {
		return api.Invalid("quantity", "quantity and plan make the next invoice, with its taxes and prorations, too much for one. Take less, or change without prorations.").WithCause(err)
	}
	return err
}

func decimalOf(n *api.Number) *decimal.Decimal {
	if n == nil {
		return nil
	}
	return &n.Decimal
}

// putCoupon puts a coupon on, whose redemption was counted.
func (r *record) putCoupon(c *catalog.Coupon, now time.Time) {
	r.Coupon = &couponTerms{Terms: c.Terms, Once: c.Duration == catalog.Once}
	r.Discount = &Discount{Coupon: c.ID, Start: now.Unix()}
	if c.Duration == catalog.Repeating {
		r.Discount.End = new(addMonths(now, int(*c.DurationInMonths)).Unix())
	}
}

// redeem counts the redemption of a coupon, and puts it on. Refusals: resource_missing,
// coupon_not_redeemable.
func (s *Service) redeem(tx *engine.Tx, r *record, id string) error {
	c, err := s.config.Catalog.RedeemableCoupon(tx, engine.Scope(tx.Caller), tx.Now, id)
	if err != nil {
		return err
	}
	r.putCoupon(c, second(tx.Now))
	return s.config.Catalog.Redeem(tx, id)
}
