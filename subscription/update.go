package subscription

import (
	"context"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

// Proration says whether a change of plan or quantity is charged for the rest of the period.
type Proration string

// The ways of proration.
const (
	CreateProrations Proration = "create_prorations"
	NoProration      Proration = "none"
)

// UpdateParams change a subscription. Nil keeps a field.
type UpdateParams struct {
	// Plan is the id of an active plan. One of another interval starts a new period at once, unless
	// the subscription is in its trial or paused. The present plan changes nothing, also if it is
	// inactive or was deleted.
	Plan     *string `json:"plan,omitempty"`
	Quantity *int64  `json:"quantity,omitempty"` // as for Create
	// Coupon is the id of a coupon that can be redeemed. An empty one takes the discount off; that of
	// the present discount changes nothing.
	Coupon *string `json:"coupon,omitempty" param:",clear"`
	// CollectionMethod counts for later invoices. SendInvoice in place of ChargeAutomatically also ends
	// the charges of open invoices, which are then due DaysUntilDue from now.
	CollectionMethod *invoice.CollectionMethod `json:"collection_method,omitempty"`
	// PhoneNumber is the phone to charge from now on, also for open invoices. Nil keeps the present
	// one; if there is none, ChargeAutomatically takes the customer's. The empty text removes it, which
	// is parameter_missing with ChargeAutomatically.
	PhoneNumber  *string `json:"phone_number,omitempty" param:",clear"`
	DaysUntilDue *int64  `json:"days_until_due,omitempty"` // as for Create
	// CancelAtPeriodEnd ends the subscription with its period, a paused one at once.
	CancelAtPeriodEnd *bool `json:"cancel_at_period_end,omitempty"`
	// Metadata is merged: a key with nil or "" is dropped.
	Metadata api.Metadata `json:"metadata,omitempty"`
	// Proration is CreateProrations when empty. It counts for a change of Plan or Quantity.
	Proration Proration `json:"proration,omitempty"`
}

func (p *UpdateParams) check() error {
	if p.Plan != nil && *p.Plan == "" {
		return api.Invalid("plan", "plan is empty. Give it a value or leave it out.")
	}
	if p.Quantity != nil {
		if err := checkQuantity(*p.Quantity); err != nil {
			return err
		}
	}
	if p.CollectionMethod != nil {
		if err := checkCollection(*p.CollectionMethod); err != nil {
			return err
		}
	}
	if p.PhoneNumber != nil && *p.PhoneNumber != "" {
		number, _, err := check.MobileMoney("", *p.PhoneNumber, "")
		if err != nil {
			return err
		}
		p.PhoneNumber = &number
	}
	if p.DaysUntilDue != nil {
		if err := checkDaysUntilDue(*p.DaysUntilDue); err != nil {
			return err
		}
	}
	switch p.Proration {
	case "", CreateProrations, NoProration:
	default:
		return api.Invalid("proration", "proration must be create_prorations or none.")
	}
	return check.Metadata(p.Metadata, true)
}

// Update changes a subscription. A change of the quantity, or of the plan within the same interval,
// keeps the period. With prorations the next invoice gets two more lines. One is credit for the rest of
// the period at the old price, if it was paid. The other charges that rest at the new price. A plan of
// another interval starts a new period at once, with an invoice that also has the credit. While the
// subscription is in its trial or paused, nothing is prorated and no period starts.
//
// Refusals: resource_missing (also of plan and coupon), parameter_invalid, parameter_missing,
// invalid_phone_number, coupon_not_redeemable, subscription_cancelled.
func (s *Service) Update(ctx context.Context, caller api.Caller, id string, p UpdateParams) (*Subscription, error) {
	op := engine.Operation{Name: "subscription.update", Params: withID[UpdateParams]{id, p}}
	if err := p.check(); err != nil {
		return nil, err
	}
	return s.change(ctx, caller, op, id, call{
		// What else there is to change counts for an invoice that is still to be made, too.
		anyway: p.Plan == nil && p.Quantity == nil && p.Coupon == nil,
		do: func(tx *engine.Tx, o *storage.Object[record], person person) (event.Type, error) {
			return s.update(tx, o, p, person)
		},
	})
}

// update changes a subscription, and returns the event of the call.
func (s *Service) update(tx *engine.Tx, o *storage.Object[record], p UpdateParams, person person) (event.Type, error) {
	r := &o.Value
	if p.Coupon != nil && (r.Discount == nil || *p.Coupon != r.Discount.Coupon) {
		r.Discount, r.Coupon = nil, nil
		if *p.Coupon != "" {
			if err := s.redeem(tx, r, *p.Coupon); err != nil {
				return "", err
			}
		}
	}
	sends := false
	if p.CollectionMethod != nil {
		sends = r.CollectionMethod == invoice.ChargeAutomatically && *p.CollectionMethod == invoice.SendInvoice
		r.CollectionMethod = *p.CollectionMethod
	}
	if p.PhoneNumber != nil && *p.PhoneNumber != r.Phone {
		r.setPhone(*p.PhoneNumber)
		if r.Phone != "" {
			if err := s.config.Invoices.ChangeChargedPhone(tx, r.charged(), r.Phone); err != nil {
				return "", err
			}
		}
	}
	if r.Phone == "" && r.CollectionMethod == invoice.ChargeAutomatically {
		if err := r.takeCustomersPhone(tx, p.PhoneNumber, person); err != nil {
			return "", err
		}
	}
	engine.SetGiven(&r.DaysUntilDue, p.DaysUntilDue)
	if sends {
		if err := s.sendInstead(tx, r); err != nil {
			return "", err
		}
	}
	if len(p.Metadata) > 0 {
		r.Metadata = r.Metadata.Merge(p.Metadata)
		if err := check.Metadata(r.Metadata, false); err != nil {
			return "", err
		}
	}
	if err := s.changeTerms(tx, r, p, person); err != nil {
		return "", err
	}
	if p.CancelAtPeriodEnd != nil {
		r.CancelAtPeriodEnd = *p.CancelAtPeriodEnd
		if r.CancelAtPeriodEnd && r.Status == Paused {
			return event.SubscriptionCanceled, s.cancel(tx, r, tx.Now)
		}
	}
	return event.SubscriptionUpdated, nil
}

// sendInstead ends the automatic charges of open invoices, which are due DaysUntilDue from now.
func (s *Service) sendInstead(tx *engine.Tx, r *record) error {
	due, charged := second(tx.Now).Add(time.Duration(r.DaysUntilDue)*day), r.charged()
	for i := range r.Unpaid {
		u := &r.Unpaid[i]
		if !u.charged() {
			continue
		}
		u.At = due.Unix()
		if u.Overdue {
			u.At = due.Add(giveUpAfter).Unix()
		}
	}
	return s.config.Invoices.SendInstead(tx, charged, due)
}

func (s *Service) changeTerms(tx *engine.Tx, r *record, p UpdateParams, person person) error {
	old := *r
	engine.SetGiven(&r.Quantity, p.Quantity)
	if p.Plan != nil && *p.Plan != r.Plan {
		plan, err := s.config.Catalog.Plan(tx, engine.Scope(tx.Caller), *p.Plan)
		if err != nil {
			return err
		}
		s.takePlan(r, plan)
	}
	if r.Plan == old.Plan && r.Quantity == old.Quantity {
		return nil
	}
	if err := checkPeriodAmount(r.Amount, r.Quantity); err != nil {
		return err
	}
	if r.Status != Active && r.Status != PastDue {
		return s.checkNext(r)
	}
	now := second(tx.Now)
	if p.Proration != NoProration {
		if err := s.prorate(tx, r, &old, now); err != nil {
			return err
		}
	}
	if r.Terms.recurrence == old.Terms.recurrence {
		return s.checkNext(r)
	}
	return s.restart(tx, r, now, person)
}

// prorate adds the lines of a change to those that wait. A plan of another interval gets the credit
// alone, since its new period starts at once.
func (s *Service) prorate(tx *engine.Tx, r, old *record, now time.Time) error {
	cost := *r.Paid
	if !cost.Changed {
		v, err := s.config.Invoices.Find(tx, engine.Scope(tx.Caller), cost.Invoice)
		if err != nil {
			return err
		}
		if v.Status != invoice.Paid {
			cost.Amount = 0
		}
	}
	left, whole := old.periodEnd().Sub(now), old.periodEnd().Sub(old.periodStart())
	r.wait("Unused time on ", &cost.Terms, money.Prorate(-cost.Amount, left, whole))
	if r.Terms.recurrence != old.Terms.recurrence {
		return nil
	}
	amount := r.Amount * r.Quantity
	r.wait("Remaining time on ", &r.Terms, money.Prorate(amount, left, whole))
	r.Paid = &periodCost{Invoice: cost.Invoice, Amount: amount, Changed: true, Terms: r.Terms}
	return nil
}

// wait adds a line for the next invoice, unless its amount is 0.
func (r *record) wait(what string, t *terms, amount int64) {
	if amount != 0 {
		r.Waiting = append(r.Waiting, waitingLine{Description: what + t.Name, Amount: amount, Product: t.Product, Taxable: t.Taxable, TaxPercent: t.TaxPercent})
	}
}

// takeCustomersPhone sets the phone that is charged to that of the customer, unless the call has given
// none on purpose.
func (r *record) takeCustomersPhone(tx *engine.Tx, given *string, person person) error {
	if given != nil {
		return r.checkPhone()
	}
	if person == nil {
		return errPersonUnread
	}
	customer, err := person(tx)
	if err != nil {
		return err
	}
	return r.takePhone("", customer)
}

// restart begins a new period and anchor, with its invoice.
func (s *Service) restart(tx *engine.Tx, r *record, now time.Time, person person) error {
	if person == nil {
		return errPersonUnread
	}
	customer, err := person(tx)
	if err != nil {
		return err
	}
	r.BillingAnchor = now.Unix()
	r.enterPeriod(0)
	if err := s.checkNext(r); err != nil {
		return err
	}
	if _, err := s.bill(tx, r, customer, ""); err != nil {
		return err
	}
	return nil
}

type person = func(storage.ReadTx) (*account.Customer, error)

// withID names a subscription in the data of an operation.
type withID[P any] struct {
	ID     string `json:"id"`
	Params P      `json:"params"`
}
