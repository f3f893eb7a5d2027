package subscribing

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/subscription"
)

// applyAtOnce applies an outcome of an invoice in the transaction that brings it about. It returns false if a
// worker must apply it: a step of the subscription was due before, or a final invoice needs the customer from
// the host.
func (s *Service) applyAtOnce(tx *engine.Tx, is *invoicing.Outcome) (applied bool, err error) {
	o, err := s.get(tx, engine.Scope(tx.Caller), is.Subscription)
	if err != nil || o.Value.dueBefore(is) {
		return false, err
	}
	readCustomer := unneededCustomer
	if mayEnd(is) && len(o.Value.Waiting) > 0 { // without waiting lines, there is no final invoice
		if s.config.Accounts.HostsCustomers() {
			return false, nil
		}
		readCustomer = func(tx storage.ReadTx) (*account.Customer, error) {
			return s.config.Accounts.Customer(tx, o.Scope, o.Value.Customer)
		}
	}
	return true, s.apply(tx, o, is, readCustomer)
}

// mayEnd reports whether an outcome may end the subscription. The end may need a final invoice.
func mayEnd(is *invoicing.Outcome) bool {
	return slices.Contains(is.Types, invoicing.OutcomeUncollectible)
}

// dueBefore reports whether a step was due before a failed charge. That charge may end the subscription.
func (r *record) dueBefore(is *invoicing.Outcome) bool {
	return is.Scheduled != nil && r.NextAt != nil && r.NextAt.Before(is.Scheduled.Time)
}

// applyQueued applies a queued outcome. It first applies the earlier outcomes of the subscription's invoices.
func (s *Service) applyQueued(ctx context.Context, claimed storage.Record) error {
	o, err := s.config.Invoices.Outcome(claimed)
	if err != nil {
		return err
	}
	for { // earlier outcomes of the subscription may have been claimed at the same time
		var earlier *invoicing.Outcome
		err := s.engine.View(ctx, o.Caller(), func(tx *engine.ReadTx) (err error) {
			earlier, err = s.config.Invoices.EarlierOutcome(tx, o)
			return err
		})
		if err != nil {
			return err
		}
		if earlier == nil {
			return s.applyNext(ctx, o)
		}
		if err := s.applyNext(ctx, earlier); err != nil {
			return err
		}
	}
}

// applyNext applies the oldest outcome of a subscription. A host's directory is asked only for an outcome that may
// end the subscription, and not for the frequent ones of paid invoices.
func (s *Service) applyNext(ctx context.Context, o *invoicing.Outcome) error {
	readCustomer := unneededCustomer
	if o.Scheduled != nil || mayEnd(o) {
		customer, err := s.doBefore(ctx, o)
		if err != nil {
			return err
		}
		if mayEnd(o) {
			readCustomer = s.findCustomer(ctx, o.Caller(), customer)
		}
	}
	err := s.engine.Update(ctx, o.Caller(), func(tx *engine.Tx) error {
		if err := s.config.Invoices.FinishOutcome(tx, o); err != nil {
			return err
		}
		found, err := s.get(tx, engine.Scope(tx.Caller), o.Subscription)
		if err != nil {
			return err
		}
		return s.apply(tx, found, o, readCustomer)
	})
	if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) {
		return nil // another worker has applied it
	}
	return err
}

// doBefore runs the steps of a subscription that were due before a failed charge, even if no worker has run for a
// long time: the charge may end the subscription. It returns the customer's id.
func (s *Service) doBefore(ctx context.Context, o *invoicing.Outcome) (customer string, err error) {
	caller := o.Caller()
	caller.RequestID, caller.IdempotencyKey = "", "" // the events are not of that request
	due := false
	err = s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		found, err := s.get(tx, engine.Scope(caller), o.Subscription)
		if err != nil {
			return err
		}
		customer, due = found.Value.Customer, found.Value.dueBefore(o)
		return nil
	})
	if err != nil || !due {
		return customer, err
	}
	return customer, s.runSteps(ctx, caller, o.Subscription, customer, rush{before: o.Scheduled.Time})
}

// apply applies an outcome of an invoice to its subscription. It reads the customer only if the outcome may end
// the subscription; see mayEnd.
func (s *Service) apply(tx *engine.Tx, o *storage.Object[record], is *invoicing.Outcome, readCustomer customerReader) error {
	r := &o.Value
	was, credit, discount := r.Status, r.CreditBalance, r.Discount
	var types []event.Type
	givenUp, failed := false, false
	for _, t := range is.Types {
		switch t {
		case invoicing.OutcomePaid:
			types = append(types, event.SubscriptionPaymentSucceeded)
			r.paid(is.Invoice)
		case invoicing.OutcomePaymentFailed:
			types = append(types, event.SubscriptionPaymentFailed)
			// A charge off schedule comes from a payer on the invoice's page, or from a call of the merchant.
			u := r.unpaid(is.Invoice)
			switch {
			case is.Scheduled == nil:
			case u != nil && u.charged():
				u.Overdue, failed = true, true
			case r.Status == subscription.Cancelled: // its last invoices are charged after its end
				failed = true
			}
		case invoicing.OutcomeUncollectible:
			// Without a failed charge, the merchant has marked the invoice uncollectible.
			givenUp = slices.Contains(is.Types, invoicing.OutcomePaymentFailed)
			if u := r.unpaid(is.Invoice); u != nil && givenUp && s.config.KeepPastDue {
				givenUp = false
				r.giveUp(u)
			} else if u != nil && !givenUp {
				r.writeOff(u)
			}
		case invoicing.OutcomeVoided:
			if u := r.unpaid(is.Invoice); u != nil && u.Used != nil && r.Status != subscription.Cancelled {
				if err := s.giveBack(tx, r, u.Used); err != nil {
					return err
				}
			}
			r.forget(is.Invoice)
		}
	}
	if !slices.Equal(is.Types, []invoicing.OutcomeType{invoicing.OutcomePaid}) { // this most frequent outcome changes no credit
		if err := s.revalue(tx, r, is.Invoice); err != nil {
			return err
		}
	}
	if r.updateStatus(); r.Status != was || r.CreditBalance != credit || r.Discount != discount {
		types = append(types, event.SubscriptionUpdated)
	}
	if givenUp && r.Status != subscription.Cancelled {
		if err := s.config.Events.Append(tx, &r.Subscription, types...); err != nil {
			return err
		}
		if err := s.textEnded(tx, r, is); err != nil {
			return err
		}
		if err := s.cancelAtOnce(tx, r, tx.Now, readCustomer); err != nil {
			return err
		}
		types = []event.Type{event.SubscriptionCanceled}
	} else if failed {
		if err := s.textFailed(tx, r, is); err != nil {
			return err
		}
	}
	return s.write(tx, o, types...)
}

// unpaid returns the entry of an invoice in Unpaid; nil for none.
func (r *record) unpaid(id string) *unpaid {
	for i := range r.Unpaid {
		if r.Unpaid[i].Invoice == id {
			return &r.Unpaid[i]
		}
	}
	return nil
}

// paid removes a paid invoice from Unpaid. It writes off the earlier invoices that were given up.
func (r *record) paid(id string) {
	i := slices.IndexFunc(r.Unpaid, func(u unpaid) bool { return u.Invoice == id })
	if i < 0 {
		return
	}
	r.forget(id)
	for i--; i >= 0; i-- {
		if u := &r.Unpaid[i]; u.GivenUp {
			r.writeOff(u)
		}
	}
}

// keptGivenUp bounds the invoices in Unpaid that were given up. A subscription that stays past_due may have any
// number of them.
const keptGivenUp = 20

// giveUp marks an invoice as given up while the subscription goes on. Above keptGivenUp, it writes off the oldest.
func (r *record) giveUp(u *unpaid) {
	u.At, u.GivenUp = 0, true
	givenUp := 0
	for i := range r.Unpaid {
		if r.Unpaid[i].GivenUp {
			givenUp++
		}
	}
	if givenUp > keptGivenUp {
		i := slices.IndexFunc(r.Unpaid, func(u unpaid) bool { return u.GivenUp })
		r.writeOff(&r.Unpaid[i])
	}
}

// writeOff keeps only what a void of the invoice would give back. If that is nothing, it removes the invoice.
func (r *record) writeOff(u *unpaid) {
	if u.Used == nil {
		r.forget(u.Invoice)
		return
	}
	*u = unpaid{Invoice: u.Invoice, Used: u.Used, WrittenOff: true}
}

// forget removes an invoice from Unpaid.
func (r *record) forget(id string) {
	r.Unpaid = slices.DeleteFunc(r.Unpaid, func(u unpaid) bool { return u.Invoice == id })
	r.dropCredits()
}
