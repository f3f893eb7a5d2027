package subscribing

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/subscription"
)

// call is an API call that changes a subscription.
type call struct {
	// do returns the events of the call.
	do func(tx *engine.Tx, o *storage.Object[record], readCustomer customerReader) ([]event.Type, error)
	// anyway lets the call go on if a step that was due before it fails.
	anyway bool
}

// change runs a call that changes a subscription. It first runs the due steps, so that the call finds the
// subscription as if the worker had been in time.
func (s *Service) change(ctx context.Context, caller api.Caller, op engine.Operation, id string, c call) (*subscription.Subscription, error) {
	return engine.ExecuteWithReplay(ctx, s.engine, caller, op, func() (*subscription.Subscription, error) {
		for {
			customer, undone, err := s.workBefore(ctx, caller, id, c.anyway)
			if err != nil {
				return nil, err
			}
			readCustomer := s.findCustomer(ctx, caller, customer)
			changed, err := engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*subscription.Subscription, error) {
				o, err := s.get(tx, engine.Scope(caller), id)
				if err != nil {
					return nil, err
				}
				r := &o.Value
				if r.Status == subscription.Cancelled {
					return nil, errCancelled()
				}
				if !undone && s.isDue(r, tx.Now) {
					return nil, errBehind
				}
				old := *r
				types, err := c.do(tx, o, readCustomer)
				if err != nil {
					return nil, err
				}
				if err := s.textChanges(tx, &old, r); err != nil {
					return nil, err
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

// workBefore runs the due steps of a subscription before a call changes it, and returns the customer's id. If a
// step fails and anyway is set, it logs the error and returns undone: the worker repeats the step. It refuses a
// cancelled subscription.
func (s *Service) workBefore(ctx context.Context, caller api.Caller, id string, anyway bool) (customer string, undone bool, err error) {
	customer, err = s.workThrough(ctx, caller, id)
	if !anyway || !errors.Is(err, errUndone) || ctx.Err() != nil {
		return customer, false, err
	}
	s.engine.Log.LogAttrs(ctx, slog.LevelWarn, "subscription changed before what was due of it", slog.String("subscription", id), slog.Any("error", err))
	return customer, true, nil
}

func errCancelled() error {
	return api.Errorf(api.SubscriptionCancelled, "", "This subscription is cancelled, and can no longer be changed. Create another.")
}

// withPayment returns the events of a call that has made an invoice.
func withPayment(paid bool, of event.Type) []event.Type {
	if paid {
		return []event.Type{of, event.SubscriptionPaymentSucceeded}
	}
	return []event.Type{of}
}

// errBehind says that a step became due after change had run the due steps.
var errBehind = errors.New("subscription: something is due")

func (s *Service) Cancel(ctx context.Context, caller api.Caller, id string, p subscription.CancelParams) (*subscription.Subscription, error) {
	op := engine.Operation{Name: "subscription.cancel", Params: engine.WithID[subscription.CancelParams]{ID: id, Params: p}}
	return s.change(ctx, caller, op, id, call{anyway: true, do: func(tx *engine.Tx, o *storage.Object[record], readCustomer customerReader) ([]event.Type, error) {
		r := &o.Value
		if p.AtPeriodEnd && r.Status != subscription.Paused {
			r.CancelAtPeriodEnd = true
			return []event.Type{event.SubscriptionUpdated}, nil
		}
		return []event.Type{event.SubscriptionCanceled}, s.cancelAtOnce(tx, r, tx.Now, readCustomer)
	}})
}

// cancel ends a subscription as of a time, with its final invoice. The caller writes the subscription.
func (s *Service) cancel(tx *engine.Tx, r *record, at time.Time, readCustomer customerReader) error {
	if err := s.billUsed(tx, r, at, readCustomer); err != nil {
		return err
	}
	r.Status, r.CancelledAt = subscription.Cancelled, new(at.Unix())
	r.Waiting, r.CreditBalance, r.Credits, r.Unpaid, r.PeriodCost = nil, 0, nil, nil, nil
	r.Discount, r.Coupon, r.AwaitsSince = nil, nil, nil
	r.Phone, r.PhoneChange = "", nil // what is left is masked
	return nil
}

// cancelAtOnce is cancel, and also ends the automatic charges of the invoices that were open before.
func (s *Service) cancelAtOnce(tx *engine.Tx, r *record, at time.Time, readCustomer customerReader) error {
	charged := r.charged()
	if err := s.cancel(tx, r, at, readCustomer); err != nil {
		return err
	}
	return s.config.Invoices.StopCharges(tx, charged)
}

func (s *Service) Pause(ctx context.Context, caller api.Caller, id string) (*subscription.Subscription, error) {
	op := engine.Operation{Name: "subscription.pause", Params: id}
	return s.change(ctx, caller, op, id, call{anyway: true, do: func(tx *engine.Tx, o *storage.Object[record], _ customerReader) ([]event.Type, error) {
		r := &o.Value
		switch r.Status {
		case subscription.Paused:
			return nil, api.Errorf(api.SubscriptionPaused, "", "This subscription is paused already.")
		case subscription.Trialing:
			now := second(tx.Now).Unix()
			r.TrialEnd, r.CurrentPeriodEnd, r.BillingAnchor = &now, now, now
		}
		r.Status = subscription.Paused
		return []event.Type{event.SubscriptionPaused}, nil
	}})
}

func (s *Service) Resume(ctx context.Context, caller api.Caller, id string) (*subscription.Subscription, error) {
	op := engine.Operation{Name: "subscription.resume", Params: id}
	return s.change(ctx, caller, op, id, call{do: func(tx *engine.Tx, o *storage.Object[record], readCustomer customerReader) ([]event.Type, error) {
		r := &o.Value
		if r.Status != subscription.Paused {
			return nil, api.Errorf(api.SubscriptionNotPaused, "", "This subscription is %s, not paused.", r.Status)
		}
		r.Status = subscription.Active
		paid, err := s.restart(tx, r, second(tx.Now), readCustomer)
		if err != nil {
			return nil, err
		}
		r.updateStatus()
		return withPayment(paid, event.SubscriptionResumed), nil
	}})
}
