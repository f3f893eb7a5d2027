package session

import (
	"fmt"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/billing/subscribing"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/invoice"
)

// price computes what a new session costs now: its lines, or the first period of its plan, which it
// copies. A plan with a trial costs nothing now.
func (s *Service) price(tx *engine.Tx, r *record, p checkout.CreateParams, coupon *catalog.Coupon) (*invoicing.Priced, error) {
	if p.Mode == checkout.ModePayment {
		return s.config.Invoices.Price(tx, p.Lines, coupon)
	}
	plan, err := s.config.Catalog.Plan(tx, engine.Scope(tx.Caller), p.Plan)
	if err != nil {
		return nil, err
	}
	priced, err := s.pricePlan(tx, subscribing.StartParams{Plan: plan, Quantity: *p.Quantity, Coupon: coupon})
	if err != nil {
		return nil, err
	}
	line, terms := &priced.Lines[0], *plan
	terms.Taxable, terms.TaxPercent = &line.Taxable, line.TaxPercent // the configured default may change
	if r.Customer == nil {
		r.FutureCustomer = s.config.Accounts.NewCustomerID(tx)
	}
	r.Plan, r.Quantity, r.PlanTerms, r.CouponTerms = &terms.ID, p.Quantity, &terms, coupon
	return priced, nil
}

// pricePlan computes what the first period of a plan costs now.
func (s *Service) pricePlan(tx *engine.Tx, p subscribing.StartParams) (*invoicing.Priced, error) {
	first, err := s.config.Subscriptions.Preview(tx, p)
	if err != nil {
		return nil, err
	}
	line := &first.Lines[0]
	line.Period = nil // it begins when the session is complete
	if first.TrialEnd != nil {
		line.UnitAmount, line.Amount = 0, 0
		return &invoicing.Priced{Lines: first.Lines, Sums: []invoice.Sum{{Name: "Total"}}}, nil
	}
	return first.Priced, nil
}

// subscribe begins the subscription of a session that has just been completed.
func (s *Service) subscribe(tx *engine.Tx, r *record) error {
	customer, err := s.subscriber(tx, r)
	if err != nil {
		return err
	}
	p := subscribing.StartParams{
		Customer: customer, Plan: r.planTerms(), Quantity: *r.Quantity, Coupon: r.CouponTerms, Phone: r.Charged, Metadata: r.Metadata,
	}
	engine.SetGiven(&p.Payment, r.Payment)
	begun, err := s.config.Subscriptions.Start(tx, p)
	if err != nil {
		return fmt.Errorf("checkout: subscribe: %w", err)
	}
	if r.Subscription = &begun.ID; r.Payment == nil {
		return nil
	}
	return s.config.Payments.AttachSubscription(tx, *r.Payment, customer.ID, begun.ID, *begun.LatestInvoice)
}

// subscriber returns the customer who subscribes. Without one, it makes a customer of what the page has
// asked. The record of a host's customer has what the session has taken from it.
func (s *Service) subscriber(tx *engine.Tx, r *record) (*account.Customer, error) {
	person := account.CreateCustomerParams{Phone: r.Charged}
	engine.SetGiven(&person.Name, r.Name)
	engine.SetGiven(&person.Email, r.Email)
	switch {
	case r.Customer == nil:
		made, err := s.config.Accounts.NewCustomer(tx, r.FutureCustomer, person)
		if err != nil {
			return nil, fmt.Errorf("checkout: new customer: %w", err)
		}
		r.Customer, r.Phone = &made.ID, &made.Phone
		return made, s.config.Payments.AttachCustomer(tx, r.ID, made.ID)
	case s.config.Accounts.HostsCustomers():
		engine.SetGiven(&person.Phone, r.Phone)
		return &account.Customer{ID: *r.Customer, Object: "customer", Name: person.Name, Email: person.Email, Phone: person.Phone, Livemode: r.Livemode}, nil
	}
	return s.config.Accounts.Customer(tx, engine.Scope(tx.Caller), *r.Customer)
}
