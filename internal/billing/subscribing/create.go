package subscribing

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/billing/offering"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/subscription"
)

const (
	maxQuantity         = 1_000_000
	maxDaysUntilDue     = 365
	defaultDaysUntilDue = 7
)

// checkCreate checks parameters, and sets those that are missing to their defaults.
func checkCreate(p *subscription.CreateParams) error {
	if p.Customer == "" {
		return api.Missing("customer")
	}
	if p.Plan == "" {
		return api.Missing("plan")
	}
	if p.Quantity == nil {
		p.Quantity = new(int64(1))
	}
	if err := checkQuantity(*p.Quantity); err != nil {
		return err
	}
	if p.TrialPeriodDays != nil && (*p.TrialPeriodDays < 0 || *p.TrialPeriodDays > offering.MaxTrialDays) {
		return api.Invalid("trial_period_days", "trial_period_days must be a whole number from 0 to %d.", offering.MaxTrialDays)
	}
	if p.TrialPeriodDays != nil && !p.TrialEnd.IsZero() {
		return api.Invalid("trial_end", "Give either trial_period_days or trial_end, not both.")
	}
	if p.CollectionMethod == "" {
		p.CollectionMethod = invoice.SendInvoice
	}
	if err := checkCollection(p.CollectionMethod); err != nil {
		return err
	}
	if p.PhoneNumber != "" {
		number, _, err := check.MobileMoney("", p.PhoneNumber, "")
		if err != nil {
			return err
		}
		p.PhoneNumber = number
	}
	if p.DaysUntilDue == nil {
		p.DaysUntilDue = new(int64(defaultDaysUntilDue))
	}
	if err := checkDaysUntilDue(*p.DaysUntilDue); err != nil {
		return err
	}
	return check.Metadata(p.Metadata, false)
}

func checkQuantity(n int64) error {
	if n < 1 || n > maxQuantity {
		return api.Invalid("quantity", "quantity must be a whole number from 1 to %d.", maxQuantity)
	}
	return nil
}

func checkDaysUntilDue(n int64) error {
	if n < 0 || n > maxDaysUntilDue {
		return api.Invalid("days_until_due", "days_until_due must be a whole number from 0 to %d.", maxDaysUntilDue)
	}
	return nil
}

func checkCollection(m invoice.CollectionMethod) error {
	if m != invoice.SendInvoice && m != invoice.ChargeAutomatically {
		return api.Invalid("collection_method", "collection_method must be send_invoice or charge_automatically.")
	}
	return nil
}

// checkPeriodAmount refuses a quantity that makes the period too expensive.
func checkPeriodAmount(amount, quantity int64) error {
	if amount*quantity > money.Max {
		return api.Invalid("quantity", "quantity times the plan's amount must be at most %d pesewas.", int64(money.Max))
	}
	return nil
}

func (s *Service) Create(ctx context.Context, caller api.Caller, p subscription.CreateParams) (*subscription.Subscription, error) {
	op := engine.Operation{Name: "subscription.create", Params: p}
	if err := checkCreate(&p); err != nil {
		return nil, err
	}
	if err := cmp.Or(
		check.Reads(caller, "customers", "customer", p.Customer),
		check.Reads(caller, "plans", "plan", p.Plan), check.Reads(caller, "coupons", "coupon", p.Coupon),
	); err != nil {
		return nil, err
	}
	call := func() (*subscription.Subscription, error) {
		customer, err := s.config.Accounts.FindCustomer(ctx, caller, p.Customer)
		if err != nil {
			return nil, err
		}
		return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*subscription.Subscription, error) {
			c, err := customer(tx)
			if err != nil {
				return nil, err
			}
			return s.create(tx, p, c)
		})
	}
	if !s.config.Accounts.HostsCustomers() {
		return call()
	}
	return engine.ExecuteWithReplay(ctx, s.engine, caller, op, call) // the host may have deleted the customer since
}

// create makes a subscription from checked parameters.
func (s *Service) create(tx *engine.Tx, p subscription.CreateParams, customer *account.Customer) (*subscription.Subscription, error) {
	plan, err := s.config.Catalog.Plan(tx, engine.Scope(tx.Caller), p.Plan)
	if err != nil {
		return nil, err
	}
	if err := checkPeriodAmount(plan.Amount, *p.Quantity); err != nil {
		return nil, err
	}
	now := second(tx.Now)
	until, err := wantedTrialEnd(&p, now, tx.Now, plan)
	if err != nil {
		return nil, err
	}
	r := s.blank(tx, plan, *p.Quantity, until)
	r.Customer, r.CollectionMethod, r.DaysUntilDue, r.Metadata = p.Customer, p.CollectionMethod, *p.DaysUntilDue, p.Metadata
	if err := r.takePhone(p.PhoneNumber, customer); err != nil {
		return nil, err
	}
	if err := s.checkCharged(tx.Caller.Live, r); err != nil {
		return nil, err
	}
	if p.Coupon != "" {
		if err := s.redeem(tx, r, p.Coupon); err != nil {
			return nil, err
		}
	}
	if err := s.checkNext(r); err != nil {
		return nil, err
	}
	return s.begin(tx, r, customer, "")
}

// blank returns a subscription in its trial or, if the trial does not end later than now, in its first
// period.
func (s *Service) blank(tx *engine.Tx, plan *catalog.Plan, quantity int64, trialEnd time.Time) *record {
	now := second(tx.Now)
	r := &record{
		Subscription: subscription.Subscription{
			ID: tx.NewID("sub_"), Object: "subscription", Status: subscription.Active, Currency: api.Currency, Quantity: quantity,
			BillingAnchor: now.Unix(), Livemode: tx.Caller.Live, Created: now.Unix(),
		},
		Token: ids.Secret(rand.Reader, tokenLength), CreatedAt: api.At(tx.Now),
	}
	s.takePlan(r, plan)
	if trialEnd.After(now) {
		r.Status, r.BillingAnchor, r.TrialEnd = subscription.Trialing, trialEnd.Unix(), new(trialEnd.Unix())
		r.CurrentPeriodStart, r.CurrentPeriodEnd = now.Unix(), trialEnd.Unix()
	} else {
		r.enterPeriod(0)
	}
	s.fillDerived(r)
	return r
}

// begin writes a new subscription, and makes the invoice of its first period; see bill.
func (s *Service) begin(tx *engine.Tx, r *record, customer *account.Customer, payment string) (*subscription.Subscription, error) {
	types := []event.Type{event.SubscriptionCreated}
	if r.Status == subscription.Active {
		paid, err := s.bill(tx, r, customer, payment)
		if err != nil {
			return nil, err
		}
		if paid {
			types = append(types, event.SubscriptionPaymentSucceeded)
		}
	}
	if err := s.textBegun(tx, r); err != nil {
		return nil, err
	}
	if r.Status == subscription.Trialing && !r.trialWarningAt().After(tx.Now) {
		r.TrialWarned = true
		types = append(types, event.SubscriptionTrialWillEnd)
		if err := s.textTrialEnds(tx, r); err != nil {
			return nil, err
		}
	}
	s.schedule(tx, r)
	if err := s.rememberTrial(tx, r); err != nil {
		return nil, err
	}
	if _, err := subscriptions.Insert(tx, engine.Scope(tx.Caller), r.ID, *r); err != nil {
		return nil, fmt.Errorf("subscription: create: %w", err)
	}
	return &r.Subscription, s.config.Events.Append(tx, &r.Subscription, types...)
}

// tokenLength is the length of the secret in a page's address, in characters of base 62: 190 bits.
const tokenLength = 32

// wantedTrialEnd returns the end of the trial. A time that is not after now stands for no trial.
func wantedTrialEnd(p *subscription.CreateParams, from, now time.Time, plan *catalog.Plan) (time.Time, error) {
	if !p.TrialEnd.IsZero() {
		end := second(p.TrialEnd)
		if err := check.Ahead("trial_end", end, now); err != nil {
			return end, err
		}
		if end.After(from.Add(offering.MaxTrialDays * day)) {
			return end, api.Invalid("trial_end", "trial_end must be at most %d days ahead.", offering.MaxTrialDays)
		}
		return end, nil
	}
	if p.TrialPeriodDays != nil {
		return trialEnd(from, p.TrialPeriodDays), nil
	}
	return trialEnd(from, plan.TrialPeriodDays), nil
}

// trialEnd returns the end of a trial of that many days; its start for nil.
func trialEnd(from time.Time, days *int64) time.Time {
	if days == nil {
		return from
	}
	return from.Add(time.Duration(*days) * day)
}

// takePlan copies a plan's terms into the subscription.
func (s *Service) takePlan(r *record, p *catalog.Plan) {
	r.Plan, r.Amount = p.ID, p.Amount
	r.Terms = terms{Name: p.Name, recurrence: recurrence{p.Interval, p.IntervalCount}, Taxable: p.Taxable != nil && *p.Taxable, TaxPercent: p.TaxPercent}
	engine.SetGiven(&r.Terms.Product, p.Product)
	if r.Terms.Taxable && r.Terms.TaxPercent == nil {
		// Without a rate, nothing is taxed. A default rate that the host sets later applies to later subscriptions.
		if r.Terms.Taxable = s.config.DefaultTax != nil; r.Terms.Taxable {
			r.Terms.TaxPercent = &api.Number{Decimal: *s.config.DefaultTax}
		}
	}
}

// takePhone sets the phone that is charged: the given one, or that of the customer.
func (r *record) takePhone(given string, customer *account.Customer) error {
	if given == "" && customer != nil {
		if number, _, err := check.MobileMoney("", customer.Phone, ""); err == nil {
			given = number
		}
	}
	r.setPhone(given)
	return r.checkPhone()
}

// checkPhone refuses an automatic charge without a phone.
func (r *record) checkPhone() error {
	if r.Phone == "" && r.CollectionMethod == invoice.ChargeAutomatically {
		return api.Errorf(api.ParameterMissing, "phone_number", "phone_number is required to charge automatically, since the customer has no phone with mobile money.")
	}
	return nil
}

// checkCharged refuses an automatic charge of a phone whose network the charger does not take.
func (s *Service) checkCharged(live bool, r *record) error {
	if r.Phone == "" || r.CollectionMethod != invoice.ChargeAutomatically {
		return nil
	}
	return s.config.Payments.CheckCharged(live, payment.MobileMoney{PhoneNumber: r.Phone})
}

func (r *record) setPhone(number string) {
	r.Phone, r.PhoneNumber = number, nil
	if number != "" {
		r.PhoneNumber = new(phone.Mask(number))
	}
}
