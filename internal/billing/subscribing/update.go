package subscribing

import (
	"cmp"
	"context"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/subscription"
)

func checkUpdate(p *subscription.UpdateParams) error {
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
	case "", subscription.CreateProrations, subscription.NoProration:
	default:
		return api.Invalid("proration", "proration must be create_prorations or none.")
	}
	return check.Metadata(p.Metadata, true)
}

func (s *Service) Update(ctx context.Context, caller api.Caller, id string, p subscription.UpdateParams) (*subscription.Subscription, error) {
	op := engine.Operation{Name: "subscription.update", Params: engine.WithID[subscription.UpdateParams]{ID: id, Params: p}}
	if err := checkUpdate(&p); err != nil {
		return nil, err
	}
	if err := cmp.Or(check.OptionalReads(caller, "plans", "plan", p.Plan), check.OptionalReads(caller, "coupons", "coupon", p.Coupon)); err != nil {
		return nil, err
	}
	return s.change(ctx, caller, op, id, call{
		// The other fields also apply to an invoice that is still to be made.
		anyway: p.Plan == nil && p.Quantity == nil && p.Coupon == nil,
		do: func(tx *engine.Tx, o *storage.Object[record], readCustomer customerReader) ([]event.Type, error) {
			return s.update(tx, o, p, readCustomer)
		},
	})
}

// update changes a subscription, and returns the events of the call.
func (s *Service) update(tx *engine.Tx, o *storage.Object[record], p subscription.UpdateParams, readCustomer customerReader) ([]event.Type, error) {
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
		if err := r.takeCustomersPhone(tx, p.PhoneNumber, readCustomer); err != nil {
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
	paid, err := s.changeTerms(tx, r, p, readCustomer)
	if err != nil {
		return nil, err
	}
	if p.CancelAtPeriodEnd != nil {
		r.CancelAtPeriodEnd = *p.CancelAtPeriodEnd
		if r.CancelAtPeriodEnd && r.Status == subscription.Paused {
			return []event.Type{event.SubscriptionCanceled}, s.cancelAtOnce(tx, r, tx.Now, readCustomer)
		}
	}
	return withPayment(paid, event.SubscriptionUpdated), nil
}

// sendInstead ends the automatic charges of open invoices, and makes them due DaysUntilDue from now.
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
func (s *Service) changeTerms(tx *engine.Tx, r *record, p subscription.UpdateParams, readCustomer customerReader) (paid bool, err error) {
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
	if r.Status != subscription.Active && r.Status != subscription.PastDue {
		return false, s.checkNext(r)
	}
	now := second(tx.Now)
	if p.Proration != subscription.NoProration {
		if err := s.prorate(tx, r, &old, now); err != nil {
			return false, err
		}
	}
	if r.Terms.recurrence == old.Terms.recurrence {
		return false, s.checkNext(r)
	}
	return s.restart(tx, r, now, readCustomer)
}

// takeCustomersPhone sets the phone that is charged to that of the customer. It refuses a call that has
// removed the phone itself.
func (r *record) takeCustomersPhone(tx *engine.Tx, given *string, readCustomer customerReader) error {
	if given != nil {
		return r.checkPhone()
	}
	customer, err := readCustomer(tx)
	if err != nil {
		return err
	}
	return r.takePhone("", customer)
}

// restart begins a new period and anchor, with its invoice, and reports whether that is paid.
func (s *Service) restart(tx *engine.Tx, r *record, now time.Time, readCustomer customerReader) (paid bool, err error) {
	customer, err := readCustomer(tx)
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
