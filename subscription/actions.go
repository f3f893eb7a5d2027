package subscription

import (
	"context"
	"errors"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// change runs a call that changes a subscription. What is due of the subscription is done before, so
// that the call finds it as if the worker had been in time. do returns the event of the call. An invoice
// that is paid at once adds subscription.payment_succeeded. bills says that the call may make an invoice,
// for which it reads the customer.
func (s *Service) change(ctx context.Context, caller api.Caller, op engine.Operation, id string, bills bool, do func(*engine.Tx, *storage.Object[record], person) (event.Type, error)) (*Subscription, error) {
	return engine.ExecuteWithReplay(ctx, s.engine, caller, op, func() (*Subscription, error) {
		for {
			customer, err := s.workThrough(ctx, caller, id)
			if err != nil {
				return nil, err
			}
			var find person
			if bills {
				if find, err = s.config.Accounts.FindCustomer(ctx, caller, s.config.Customers, customer); err != nil {
					return nil, err
				}
			}
			changed, err := engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*Subscription, error) {
				o, err := s.get(tx, engine.Scope(caller), id)
				if err != nil {
					return nil, err
				}
				r := &o.Value
				if r.NextAt != nil && !r.NextAt.After(tx.Now) {
					return nil, errBehind
				}
				if r.Status == Cancelled {
					return nil, errCancelled()
				}
				before := r.LatestInvoice
				t, err := do(tx, o, find)
				if err != nil {
					return nil, err
				}
				types := []event.Type{t}
				if r.LatestInvoice != nil && (before == nil || *before != *r.LatestInvoice) && r.unpaid(*r.LatestInvoice) == nil {
					types = append(types, event.SubscriptionPaymentSucceeded)
				}
				if err := s.write(tx, o, types...); err != nil {
					return nil, err
				}
				return &r.Subscription, nil
			})
			if !errors.Is(err, errBehind) {
				return changed, err
			}
		}
	})
}

func errCancelled() error {
	return api.Errorf(api.SubscriptionCancelled, "", "This subscription is cancelled, and can no longer be changed. Create another.")
}

// errBehind says that something of the subscription has become due since it was worked through.
var errBehind = errors.New("subscription: something is due")

// CancelParams say when a subscription is cancelled.
type CancelParams struct {
	// AtPeriodEnd cancels at the end of the current period. Otherwise, and while the subscription is
	// paused, it is cancelled at once.
	AtPeriodEnd bool `json:"at_period_end,omitempty"`
}

// Cancel ends a subscription. At once, it gives no credit: lines that wait for the next invoice and the
// credit balance lapse. Open invoices stay payable, and are charged no more. At the period's end, no
// further invoice is made. With an idempotency key it may be repeated safely.
//
// Refusals: resource_missing, subscription_cancelled.
func (s *Service) Cancel(ctx context.Context, caller api.Caller, id string, p CancelParams) (*Subscription, error) {
	op := engine.Operation{Name: "subscription.cancel", Params: withID[CancelParams]{id, p}}
	return s.change(ctx, caller, op, id, false, func(tx *engine.Tx, o *storage.Object[record], _ person) (event.Type, error) {
		r := &o.Value
		if p.AtPeriodEnd && r.Status != Paused {
			r.CancelAtPeriodEnd = true
			return event.SubscriptionUpdated, nil
		}
		return event.SubscriptionCanceled, s.cancel(tx, r, tx.Now)
	})
}

// cancel ends a subscription as of a time. The caller writes it.
func (s *Service) cancel(tx *engine.Tx, r *record, at time.Time) error {
	r.Status, r.CancelledAt = Cancelled, new(at.Unix())
	r.Waiting, r.CreditBalance, r.Unpaid, r.Paid = nil, 0, nil, nil
	r.Phone, r.PhoneChange = "", nil // what is left is masked
	return s.config.Invoices.StopCharges(tx, r.ID)
}

// Pause stops the invoices of a subscription, and ends its trial. It gives no credit. Open invoices
// are collected as before.
//
// Refusals: resource_missing, subscription_paused, subscription_cancelled.
func (s *Service) Pause(ctx context.Context, caller api.Caller, id string) (*Subscription, error) {
	op := engine.Operation{Name: "subscription.pause", Params: id}
	return s.change(ctx, caller, op, id, false, func(tx *engine.Tx, o *storage.Object[record], _ person) (event.Type, error) {
		r := &o.Value
		switch r.Status {
		case Paused:
			return "", api.Errorf(api.SubscriptionPaused, "", "This subscription is paused already.")
		case Trialing:
			now := second(tx.Now).Unix()
			r.TrialEnd, r.CurrentPeriodEnd = &now, now
		}
		r.Status = Paused
		return event.SubscriptionPaused, nil
	})
}

// Resume begins a new period of a paused subscription, with its invoice and a new anchor.
//
// Refusals: resource_missing, subscription_not_paused, subscription_cancelled.
func (s *Service) Resume(ctx context.Context, caller api.Caller, id string) (*Subscription, error) {
	op := engine.Operation{Name: "subscription.resume", Params: id}
	return s.change(ctx, caller, op, id, true, func(tx *engine.Tx, o *storage.Object[record], person person) (event.Type, error) {
		r := &o.Value
		if r.Status != Paused {
			return "", api.Errorf(api.SubscriptionNotPaused, "", "This subscription is %s, not paused.", r.Status)
		}
		r.Status = Active
		if err := s.restart(tx, r, second(tx.Now), person); err != nil {
			return "", err
		}
		r.settleStatus()
		return event.SubscriptionResumed, nil
	})
}
