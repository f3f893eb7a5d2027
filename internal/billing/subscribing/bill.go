package subscribing

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/subscription"
)

// lateAfter is how late an invoice may be made and still be due DaysUntilDue after its date. A later one is
// due DaysUntilDue after it was made.
const lateAfter = day

// bill makes the invoice of the period that the subscription has just entered, and records it in r. payment is the
// id of a payment of this transaction that pays the invoice; empty for none. bill reports whether the invoice is
// paid. The caller writes the subscription.
func (s *Service) bill(tx *engine.Tx, r *record, customer *account.Customer, payment string) (paid bool, err error) {
	price, date := r.price(), r.periodStart()
	issued, err := s.issue(tx, r, price, date, customer, payment)
	if err != nil {
		return false, err
	}
	line := &issued.Lines.Data[len(r.Waiting)]
	r.PeriodCost = &periodCost{Invoice: issued.ID, Amount: line.Amount - line.DiscountShare, Terms: r.Terms}
	took := used{Credit: max(0, r.CreditBalance-issued.CreditBalance)}
	if rest := issued.CreditBalance - r.CreditBalance; rest > 0 {
		r.keepCredit(rest)
	} else {
		took.Credits = r.useCredit(took.Credit)
	}
	if total(r.Waiting) < 0 {
		took.Waiting = r.Waiting
	}
	r.Waiting = nil
	if r.Coupon != nil && r.Coupon.Once && price.Coupon != "" {
		took.Discount, took.Coupon = r.Discount, r.Coupon
	}
	if took.Discount != nil || r.Coupon != nil && r.discountOver(date) {
		r.Discount, r.Coupon = nil, nil
	}
	if issued.Status != invoice.Paid {
		open := unpaid{Invoice: issued.ID}
		if took.Credit != 0 || took.Waiting != nil || took.Discount != nil {
			open.Used = &took
		}
		if issued.DueDate != nil {
			open.At = issued.DueDate.Unix()
		}
		r.Unpaid = append(r.Unpaid, open)
	}
	r.dropCredits()
	return issued.Status == invoice.Paid, nil
}

// billUsed makes the final invoice of a subscription that ends. It charges for what was used after a change and is
// not invoiced yet, less credit. If that is not above 0, there is no invoice, and lines and credit lapse. The
// invoice of a deleted customer holds no name and no address.
func (s *Service) billUsed(tx *engine.Tx, r *record, at time.Time, readCustomer customerReader) error {
	final, err := s.finalTotal(r)
	if err != nil || final == 0 {
		return err
	}
	customer, err := readCustomer(tx)
	if err != nil && api.CodeOf(err) != api.ResourceMissing {
		return err
	}
	_, err = s.issue(tx, r, r.finalPrice(), second(at), customer, "")
	return err
}

// finalTotal returns what the final invoice would come to, with taxes and less credit, if the subscription ended
// as it is now; 0 for none.
func (s *Service) finalTotal(r *record) (int64, error) {
	priced, err := s.config.Invoices.PriceSubscription(r.finalPrice())
	if err != nil {
		return 0, err
	}
	return priced.Total, nil
}

// issue makes an invoice of a subscription.
func (s *Service) issue(tx *engine.Tx, r *record, price invoicing.PriceParams, date time.Time, customer *account.Customer, payment string) (*invoicing.Issued, error) {
	p := invoicing.IssueParams{
		PriceParams: price, Subscription: r.ID, Customer: r.Customer, Person: customer, Date: date,
		CollectionMethod: r.CollectionMethod, Payment: payment,
	}
	if r.LatestInvoice != nil {
		p.After = *r.LatestInvoice
	}
	if r.CollectionMethod == invoice.SendInvoice {
		from := date
		if made := second(tx.Now); made.Sub(from) > lateAfter {
			from = made
		}
		p.DueDate = from.Add(time.Duration(r.DaysUntilDue) * day)
	} else {
		p.ChargedPhone = r.Phone
	}
	issued, err := s.config.Invoices.Issue(tx, p)
	if err != nil {
		return nil, fmt.Errorf("subscription: invoice: %w", err)
	}
	r.LatestInvoice = &issued.ID
	return issued, nil
}

// total returns the sum of lines before taxes.
func total(lines []waitingLine) (sum int64) {
	for _, l := range lines {
		sum += l.Amount
	}
	return sum
}

// price returns what the invoice of the current period is made of: the waiting lines and the period's own line.
func (r *record) price() invoicing.PriceParams {
	p := invoicing.PriceParams{CreditBalance: r.CreditBalance}
	p.Lines = append(r.waitingLines(), invoicing.SubscriptionLine{
		Description: r.Terms.Name, Quantity: r.Quantity, UnitAmount: r.Amount, Taxable: r.Terms.Taxable, TaxPercent: decimalOf(r.Terms.TaxPercent),
		Product: api.TextOrNil(r.Terms.Product), Period: &invoice.Period{Start: r.CurrentPeriodStart, End: r.CurrentPeriodEnd},
	})
	sum := r.Amount*r.Quantity + total(r.Waiting)
	if r.Coupon != nil && !r.discountOver(r.periodStart()) && (sum > 0 || !r.Coupon.Once) {
		p.Coupon, p.Terms = r.Discount.Coupon, r.Coupon.Terms
	}
	return p
}

// finalPrice returns what the final invoice is made of.
func (r *record) finalPrice() invoicing.PriceParams {
	return invoicing.PriceParams{Lines: r.waitingLines(), CreditBalance: r.CreditBalance}
}

// waitingLines returns the waiting lines in the form in which an invoice takes them.
func (r *record) waitingLines() []invoicing.SubscriptionLine {
	lines := make([]invoicing.SubscriptionLine, 0, len(r.Waiting)+1)
	for _, l := range r.Waiting {
		lines = append(lines, invoicing.SubscriptionLine{
			Description: l.Description, Quantity: 1, UnitAmount: l.Amount, Taxable: l.Taxable, TaxPercent: decimalOf(l.TaxPercent),
			Product: api.TextOrNil(l.Product), Net: true,
		})
	}
	return lines
}

// discountOver reports whether the discount has ended before a period with this start.
func (r *record) discountOver(start time.Time) bool {
	return r.Discount.End != nil && start.Unix() >= *r.Discount.End
}

// checkNext refuses a subscription whose next invoice would exceed the limits of an invoice, so that no renewal
// fails for its amounts. It ignores the discount and the credit, which may have ended by then.
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

// putCoupon sets the coupon of a subscription. The caller has counted the redemption.
func (r *record) putCoupon(c *catalog.Coupon, now time.Time) {
	r.Coupon = &couponTerms{Terms: c.Terms, Once: c.Duration == catalog.Once}
	r.Discount = &subscription.Discount{Coupon: c.ID, Start: now.Unix()}
	if c.Duration == catalog.Repeating {
		r.Discount.End = new(addMonths(now, int(*c.DurationInMonths)).Unix())
	}
}

// redeem counts the redemption of a coupon, and sets the coupon of the subscription. Refusals: resource_missing,
// coupon_not_redeemable.
func (s *Service) redeem(tx *engine.Tx, r *record, id string) error {
	c, err := s.config.Catalog.RedeemableCoupon(tx, engine.Scope(tx.Caller), tx.Now, id)
	if err != nil {
		return err
	}
	r.putCoupon(c, second(tx.Now))
	return s.config.Catalog.Redeem(tx, id)
}
