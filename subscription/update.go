package subscription

import (
	"cmp"
	"context"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
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
	// Metadata is merged: a key with nil or "" is dropped. ClearMetadata drops all keys first.
	Metadata      api.Metadata `json:"metadata,omitempty"`
	ClearMetadata bool         `json:"clear_metadata,omitempty" param:"metadata,null"`
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
// keeps the period. With prorations the next invoice gets two more lines. One is credit for what the period
// charges for its rest, whether its invoice is paid already or not. The other charges that rest at the new
// price. Both carry the period's discount. A plan of another interval starts a new period at once, with an
// invoice that also has the credit. While the subscription is in its trial or paused, nothing is prorated
// and no period starts.
//
// A credit belongs to the invoice whose time it credits. It goes if that invoice is voided or becomes
// uncollectible. It falls in the proportion in which the invoice's payment is refunded or reversed. What an
// invoice has used of it stays used.
//
// Refusals: resource_missing (also of plan and coupon), parameter_invalid, parameter_missing,
// invalid_phone_number, coupon_not_redeemable, subscription_cancelled, permission_denied for a key that may
// not read plans or coupons it names.
func (s *Service) Update(ctx context.Context, caller api.Caller, id string, p UpdateParams) (*Subscription, error) {
	op := engine.Operation{Name: "subscription.update", Params: withID[UpdateParams]{id, p}}
	if err := p.check(); err != nil {
		return nil, err
	}
	if err := cmp.Or(check.OptionalReads(caller, "plans", "plan", p.Plan), check.OptionalReads(caller, "coupons", "coupon", p.Coupon)); err != nil {
		return nil, err
	}
	return s.change(ctx, caller, op, id, call{
		// What else there is to change counts for an invoice that is still to be made, too.
		anyway: p.Plan == nil && p.Quantity == nil && p.Coupon == nil,
		do: func(tx *engine.Tx, o *storage.Object[record], person person) ([]event.Type, error) {
			return s.update(tx, o, p, person)
		},
	})
}

// update changes a subscription, and returns the events of the call.
func (s *Service) update(tx *engine.Tx, o *storage.Object[record], p UpdateParams, person person) ([]event.Type, error) {
	r := &o.Value
	if p.Coupon != nil && (r.Discount == nil || *p.Coupon != r.Discount.Coupon) {
		r.Discount, r.Coupon = nil, nil
		if *p.Coupon != "" {
			if err := s.redeem(tx, r, *p.Coupon); err != nil {
				return nil, err
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
				return nil, err
			}
		}
	}
	if r.Phone == "" && r.CollectionMethod == invoice.ChargeAutomatically {
		if err := r.takeCustomersPhone(tx, p.PhoneNumber, person); err != nil {
			return nil, err
		}
	}
	if p.PhoneNumber != nil || p.CollectionMethod != nil {
		if err := s.checkCharged(tx.Caller.Live, r); err != nil {
			return nil, err
		}
	}
	engine.SetGiven(&r.DaysUntilDue, p.DaysUntilDue)
	if sends {
		if err := s.sendInstead(tx, r); err != nil {
			return nil, err
		}
	}
	if err := check.UpdateMetadata(&r.Metadata, p.ClearMetadata, p.Metadata); err != nil {
		return nil, err
	}
	paid, err := s.changeTerms(tx, r, p, person)
	if err != nil {
		return nil, err
	}
	if p.CancelAtPeriodEnd != nil {
		r.CancelAtPeriodEnd = *p.CancelAtPeriodEnd
		if r.CancelAtPeriodEnd && r.Status == Paused {
			return []event.Type{event.SubscriptionCanceled}, s.cancelAtOnce(tx, r, tx.Now, person)
		}
	}
	return withPayment(paid, event.SubscriptionUpdated), nil
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
			u.At = invoice.OverdueAt(due).Add(giveUpAfter).Unix()
		}
	}
	return s.config.Invoices.SendInstead(tx, charged, due)
}

// changeTerms changes plan and quantity. It reports whether it has made an invoice that is paid.
func (s *Service) changeTerms(tx *engine.Tx, r *record, p UpdateParams, person person) (paid bool, err error) {
	old := *r
	engine.SetGiven(&r.Quantity, p.Quantity)
	if p.Plan != nil && *p.Plan != r.Plan {
		plan, err := s.config.Catalog.Plan(tx, engine.Scope(tx.Caller), *p.Plan)
		if err != nil {
			return false, err
		}
		s.takePlan(r, plan)
	}
	if r.Plan == old.Plan && r.Quantity == old.Quantity {
		return false, nil
	}
	if err := checkPeriodAmount(r.Amount, r.Quantity); err != nil {
		return false, err
	}
	if r.Status != Active && r.Status != PastDue {
		return false, s.checkNext(r)
	}
	now := second(tx.Now)
	if p.Proration != NoProration {
		if err := s.prorate(tx, r, &old, now); err != nil {
			return false, err
		}
	}
	if r.Terms.recurrence == old.Terms.recurrence {
		return false, s.checkNext(r)
	}
	return s.restart(tx, r, now, person)
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

// restart begins a new period and anchor, with its invoice, and reports whether that is paid.
func (s *Service) restart(tx *engine.Tx, r *record, now time.Time, person person) (paid bool, err error) {
	if person == nil {
		return false, errPersonUnread
	}
	customer, err := person(tx)
	if err != nil {
		return false, err
	}
	r.BillingAnchor = now.Unix()
	r.enterPeriod(0)
	if err := s.checkNext(r); err != nil {
		return false, err
	}
	return s.bill(tx, r, customer, "")
}

type person = func(storage.ReadTx) (*account.Customer, error)

// withID names a subscription in the data of an operation.
type withID[P any] struct {
	ID     string `json:"id"`
	Params P      `json:"params"`
}
