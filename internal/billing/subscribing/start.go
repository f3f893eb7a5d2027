package subscribing

import (
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/subscription"
)

// StartParams describe a subscription that a customer has chosen on a page. Its parameters are checked.
type StartParams struct {
	// Customer is the customer's record, whose id is kept.
	Customer *account.Customer
	// Plan may have become inactive, or have been deleted, since the customer saw it.
	Plan     *catalog.Plan
	Quantity int64
	// Coupon is a coupon whose redemption the caller has counted; nil for none.
	Coupon *catalog.Coupon
	// Phone is charged from the second period on, +233….
	Phone    string
	Metadata api.Metadata
	// Payment is the id of a completed payment of the same transaction, which pays what Preview said;
	// empty if a trial begins or nothing is due.
	Payment string
}

// Start begins a subscription that is charged automatically. Without a trial, its first invoice is paid
// by the Payment, or at once if nothing is due.
func (s *Service) Start(tx *engine.Tx, p StartParams) (*subscription.Subscription, error) {
	r := s.start(tx, p)
	begun, err := s.begin(tx, r, p.Customer, p.Payment)
	if err != nil || begun.LatestInvoice == nil {
		return begun, err
	}
	return begun, s.config.Invoices.MarkNothingDuePaid(tx, *begun.LatestInvoice)
}

// start makes the record of a subscription, and does not write it.
func (s *Service) start(tx *engine.Tx, p StartParams) *record {
	r := s.blank(tx, p.Plan, p.Quantity, trialEnd(second(tx.Now), p.Plan.TrialPeriodDays))
	r.CollectionMethod, r.DaysUntilDue, r.Metadata = invoice.ChargeAutomatically, defaultDaysUntilDue, p.Metadata
	if p.Customer != nil {
		r.Customer = p.Customer.ID
	}
	r.setPhone(p.Phone)
	if p.Coupon != nil {
		r.putCoupon(p.Coupon, second(tx.Now))
	}
	return r
}

// Preview is what begins when a customer subscribes.
type Preview struct {
	// TrialEnd is when the first period begins, in Unix seconds; nil for at once.
	TrialEnd *int64
	// Priced is the first invoice, which is due at once or at TrialEnd.
	*invoicing.Priced
}

// Preview returns what [Service.Start] would begin at the time of the transaction. It writes nothing.
// Refusals: parameter_invalid (quantity) for more than an invoice can have.
func (s *Service) Preview(tx *engine.Tx, p StartParams) (*Preview, error) {
	if err := checkQuantity(p.Quantity); err != nil {
		return nil, err
	}
	if err := checkPeriodAmount(p.Plan.Amount, p.Quantity); err != nil {
		return nil, err
	}
	r := s.start(tx, p)
	if err := s.checkNext(r); err != nil {
		return nil, err
	}
	priced, err := s.config.Invoices.PriceSubscription(r.nextPeriod().price())
	if err != nil {
		return nil, err
	}
	return &Preview{TrialEnd: r.TrialEnd, Priced: &priced.Priced}, nil
}

// nextPeriod returns a copy of the subscription in the period that is invoiced next. That is the current one if it
// has no invoice yet.
func (r *record) nextPeriod() *record {
	next := *r
	switch {
	case r.Status == subscription.Trialing:
		next.enterPeriod(0)
	case r.PeriodCost != nil:
		next.enterPeriod(r.Period + 1)
	}
	return &next
}
