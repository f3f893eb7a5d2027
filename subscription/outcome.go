package subscription

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

// bookOutcome books what has become of an invoice.
func (s *Service) bookOutcome(ctx context.Context, claimed storage.Record) error {
	o, err := s.config.Invoices.Outcome(claimed)
	if err != nil {
		return err
	}
	if o.Scheduled != nil {
		// What was due before the charge comes first, though nobody may have worked for long.
		if err := s.doBefore(ctx, o); err != nil {
			return err
		}
	}
	err = s.engine.Update(ctx, o.Caller(), func(tx *engine.Tx) error {
		if err := s.config.Invoices.FinishOutcome(tx, o); err != nil {
			return err
		}
		found, err := s.get(tx, engine.Scope(tx.Caller), o.Subscription)
		if err != nil {
			return err
		}
		return s.book(tx, found, o)
	})
	if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) {
		return nil // another worker has booked it
	}
	return err
}

// doBefore does what was due of a subscription before a failed charge of it, which may end it.
func (s *Service) doBefore(ctx context.Context, o *invoice.Outcome) error {
	caller := o.Caller()
	caller.RequestID, caller.IdempotencyKey = "", "" // the events are not of that request
	customer := ""
	err := s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		found, err := s.get(tx, engine.Scope(caller), o.Subscription)
		if err == nil && found.Value.NextAt != nil && found.Value.NextAt.Before(o.Scheduled.Time) {
			customer = found.Value.Customer
		}
		return err
	})
	if err != nil || customer == "" {
		return err
	}
	return s.runSteps(ctx, caller, o.Subscription, customer, o.Scheduled.Time, func() bool { return false })
}

// book changes a subscription as the outcome of an invoice demands.
func (s *Service) book(tx *engine.Tx, o *storage.Object[record], is *invoice.Outcome) error {
	r := &o.Value
	was := r.Status
	var types []event.Type
	givenUp := false
	for _, t := range is.Types {
		switch t {
		case invoice.OutcomePaid:
			types = append(types, event.SubscriptionPaymentSucceeded)
			r.paid(is.Invoice)
		case invoice.OutcomePaymentFailed:
			types = append(types, event.SubscriptionPaymentFailed)
			if u := r.unpaid(is.Invoice); u != nil && u.charged() {
				u.Overdue = true
			}
		case invoice.OutcomeUncollectible:
			// Without a failed charge it is the merchant who gave the invoice up.
			givenUp = slices.Contains(is.Types, invoice.OutcomePaymentFailed)
			if u := r.unpaid(is.Invoice); u != nil && givenUp && s.config.KeepPastDue {
				u.GivenUp, givenUp = true, false
			} else if !givenUp {
				r.forget(is.Invoice)
			}
		case invoice.OutcomeVoided:
			r.forget(is.Invoice)
		}
	}
	if r.settleStatus(); r.Status != was {
		types = append(types, event.SubscriptionUpdated)
	}
	if givenUp && r.Status != Cancelled {
		if err := s.config.Events.Record(tx, &r.Subscription, types...); err != nil {
			return err
		}
		if err := s.cancel(tx, r, tx.Now); err != nil {
			return err
		}
		types = []event.Type{event.SubscriptionCanceled}
	}
	return s.write(tx, o, types...)
}

// unpaid returns what is kept of an unpaid invoice; nil for none.
func (r *record) unpaid(id string) *unpaid {
	for i := range r.Unpaid {
		if r.Unpaid[i].Invoice == id {
			return &r.Unpaid[i]
		}
	}
	return nil
}

// paid removes an invoice from those that are not paid, with the earlier ones that were given up.
func (r *record) paid(id string) {
	i := slices.IndexFunc(r.Unpaid, func(u unpaid) bool { return u.Invoice == id })
	if i < 0 {
		return
	}
	later := slices.Clone(r.Unpaid[i+1:])
	r.Unpaid = append(slices.DeleteFunc(r.Unpaid[:i], func(u unpaid) bool { return u.GivenUp }), later...)
}

// forget removes an invoice from those that are not paid.
func (r *record) forget(id string) {
	r.Unpaid = slices.DeleteFunc(r.Unpaid, func(u unpaid) bool { return u.Invoice == id })
}
