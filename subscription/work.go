package subscription

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

// giveUpAfter is how long after its due date an invoice that was sent is given up.
const giveUpAfter = 30 * day

// trialWarning is how long before its end the end of a trial is announced.
const trialWarning = 3 * day

// step is the next thing to do for a subscription.
type step struct {
	at time.Time
	// act does it, and returns the events. Nil for nothing to do.
	act func(*Service, *turn, *record) ([]event.Type, error)
	// ends says that it ends a period. It waits for charges of earlier times.
	ends bool
}

// turn is the transaction of a step.
type turn struct {
	tx *engine.Tx
	// at is the time of the step, which may be long past.
	at time.Time
	// person reads the customer; nil if the host's directory was not asked.
	person person
}

// next returns the step with the earliest time. Of equal times, an invoice is given up, or overdue,
// before the period ends.
func (s *Service) next(r *record) step {
	var first step
	consider := func(n step) {
		if first.act == nil || n.at.Before(first.at) {
			first = n
		}
	}
	if r.Status == Cancelled {
		return first
	}
	for i := range r.Unpaid {
		if u := &r.Unpaid[i]; u.At != 0 {
			act := (*Service).markOverdue
			if u.Overdue {
				act = (*Service).giveUp
			}
			consider(step{at: time.Unix(u.At, 0), act: act})
		}
	}
	if r.Status == Trialing && !r.TrialWarned {
		at := time.Unix(max(r.Created, *r.TrialEnd-int64(trialWarning/time.Second)), 0)
		consider(step{at: at, act: (*Service).warnOfTrialEnd})
	}
	if s.notices(r) {
		consider(step{at: s.chargeTime(r).Add(-day), act: (*Service).notice})
	}
	switch {
	case r.CancelAtPeriodEnd:
		consider(step{at: r.periodEnd(), act: (*Service).cancelAtPeriodEnd, ends: true})
	case r.Status != Paused:
		consider(step{at: r.periodEnd(), act: (*Service).renew, ends: true})
	}
	if r.Discount != nil && r.Discount.End != nil {
		consider(step{at: time.Unix(*r.Discount.End, 0), act: (*Service).endDiscount})
	}
	return first
}

// renew begins the next period, or the first after a trial, with its invoice.
func (s *Service) renew(t *turn, r *record) ([]event.Type, error) {
	if t.person == nil {
		return nil, errPersonUnread
	}
	customer, err := t.person(t.tx)
	if api.CodeOf(err) == api.ResourceMissing { // deleted a moment ago, or by the host
		return []event.Type{event.SubscriptionCanceled}, s.cancel(t.tx, r, t.at)
	}
	if err != nil {
		return nil, err
	}
	if r.Status == Trialing {
		r.Status = Active
		r.enterPeriod(0)
	} else {
		r.enterPeriod(r.Period + 1)
	}
	paid, err := s.bill(t.tx, r, customer, "")
	types := []event.Type{event.SubscriptionUpdated}
	if paid {
		types = append(types, event.SubscriptionPaymentSucceeded)
	}
	return types, err
}

// errPersonUnread says that a step needs the customer, for whom the host's directory must be asked
// outside of the transaction.
var errPersonUnread = errors.New("subscription: the customer was not read")

func (s *Service) cancelAtPeriodEnd(t *turn, r *record) ([]event.Type, error) {
	return []event.Type{event.SubscriptionCanceled}, s.cancel(t.tx, r, t.at)
}

// dueInvoice returns the invoice whose time has come.
func (r *record) dueInvoice(at time.Time) *unpaid {
	for i := range r.Unpaid {
		if r.Unpaid[i].At == at.Unix() {
			return &r.Unpaid[i]
		}
	}
	return nil
}

// markOverdue notes that an invoice was not paid until its due date. If it is not open any more, its
// outcome is about to be booked.
func (s *Service) markOverdue(t *turn, r *record) ([]event.Type, error) {
	u := r.dueInvoice(t.at)
	v, err := s.config.Invoices.Find(t.tx, engine.Scope(t.tx.Caller), u.Invoice)
	if err != nil {
		return nil, err
	}
	if v.Status != invoice.Open {
		u.At = 0
		return nil, nil
	}
	u.Overdue, u.At = true, t.at.Add(giveUpAfter).Unix()
	types := []event.Type{event.SubscriptionPaymentFailed}
	was := r.Status
	if r.settleStatus(); r.Status != was {
		types = append(types, event.SubscriptionUpdated)
	}
	return types, nil
}

// whileHeld is how long an invoice that is to be given up waits for a payment under way.
const whileHeld = 10 * time.Minute

// giveUp makes an invoice uncollectible, long after its due date, and cancels the subscription.
func (s *Service) giveUp(t *turn, r *record) ([]event.Type, error) {
	u := r.dueInvoice(t.at)
	_, err := s.config.Invoices.MarkUncollectible(t.tx, u.Invoice)
	switch code := api.CodeOf(err); {
	case code == api.PaymentInProgress || code == api.InvoicePaymentInProgress:
		u.At = second(t.tx.Now.Add(whileHeld)).Unix()
		return nil, nil
	case code != "": // it is not open any more, and its outcome is about to be booked
		u.At = 0
		return nil, nil
	case err != nil:
		return nil, err
	case s.config.KeepPastDue:
		u.At, u.GivenUp = 0, true
		return nil, nil
	}
	return []event.Type{event.SubscriptionCanceled}, s.cancel(t.tx, r, t.at)
}

func (s *Service) warnOfTrialEnd(_ *turn, r *record) ([]event.Type, error) {
	r.TrialWarned = true
	return []event.Type{event.SubscriptionTrialWillEnd}, nil
}

func (s *Service) endDiscount(_ *turn, r *record) ([]event.Type, error) {
	r.Discount, r.Coupon = nil, nil
	return []event.Type{event.SubscriptionUpdated}, nil
}

// Jobs are the background work of subscriptions.
func (in *Internal) Jobs() []work.Job {
	const atATime = 64
	s := in.svc
	return []work.Job{
		{Kind: subscriptions.Kind(), Timeout: time.Minute, Batch: atATime, RunOne: s.runDue},
		{Kind: s.config.Invoices.OutcomeKind(), Timeout: time.Minute, Batch: atATime, RunOne: s.bookOutcome},
		{Kind: pii.Departures.Kind(), Timeout: time.Minute, Batch: atATime, RunOne: s.depart, RunBegun: s.departAtOnce},
	}
}

// runDue does what is due of a claimed subscription, in the order of the times.
func (s *Service) runDue(ctx context.Context, claimed storage.Record) error {
	o, err := subscriptions.Decode(claimed)
	if err != nil {
		return err
	}
	caller := api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live}
	stop := func() bool { return work.HalfOver(ctx, time.Minute) }
	return s.runSteps(ctx, caller, o.ID, o.Value.Customer, time.Time{}, stop)
}

// workThrough does what is due of a subscription, and returns its customer.
func (s *Service) workThrough(ctx context.Context, caller api.Caller, id string) (customer string, err error) {
	due := false
	err = s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		o, err := s.get(tx, engine.Scope(caller), id)
		if err == nil {
			customer, due = o.Value.Customer, o.Value.NextAt != nil && !o.Value.NextAt.After(tx.Now)
		}
		return err
	})
	if err == nil && due {
		as := api.Caller{Merchant: caller.Merchant, Live: caller.Live} // events are not of this call
		err = s.runSteps(ctx, as, id, customer, time.Time{}, func() bool { return false })
	}
	return customer, err
}

// runSteps does one due step after another, each in its own transaction. So a crash between any two of
// them loses nothing, and years that nobody worked take no long transaction. It does those of times before
// a time; all for zero.
func (s *Service) runSteps(ctx context.Context, caller api.Caller, id, customer string, before time.Time, stop func() bool) error {
	var find person
	var err error
	if s.config.Customers == nil { // else the host is asked, if a step needs the customer
		find, err = s.config.Accounts.FindCustomer(ctx, caller, nil, customer)
	}
	for more := true; more && err == nil && !stop(); {
		more, err = s.runStep(ctx, caller, id, before, find)
		if errors.Is(err, errPersonUnread) {
			more = true
			if find, err = s.config.Accounts.FindCustomer(ctx, caller, s.config.Customers, customer); api.CodeOf(err) == api.ResourceMissing {
				missing := err
				find, err = func(storage.ReadTx) (*account.Customer, error) { return nil, missing }, nil
			}
		}
	}
	return err
}

// runStep does the next step of a subscription, if it is due, and reports whether another is due then.
func (s *Service) runStep(ctx context.Context, caller api.Caller, id string, before time.Time, find person) (more bool, err error) {
	err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		more = false
		o, err := s.get(tx, engine.Scope(caller), id)
		if err != nil {
			return err
		}
		r := &o.Value
		if r.NextAt == nil || r.NextAt.After(tx.Now) {
			return nil
		}
		next := s.next(r)
		if next.act != nil && !before.IsZero() && !next.at.Before(before) {
			return nil
		}
		var types []event.Type
		if next.act != nil && !next.at.After(tx.Now) {
			if next.ends {
				until, err := s.awaitedCharge(tx, r, next.at)
				if err != nil {
					return err
				}
				if !until.IsZero() {
					r.NextAt = api.AtOrNil(until)
					return subscriptions.Replace(tx, o)
				}
			}
			if types, err = next.act(s, &turn{tx, next.at, find}, r); err != nil {
				return err
			}
		}
		if err := s.write(tx, o, types...); err != nil {
			return err
		}
		if more = r.NextAt != nil && !r.NextAt.After(tx.Now); more {
			err = subscriptions.Lease(tx, o, s.engine.Clock().Add(work.LeaseDuration))
		}
		if err != nil {
			return fmt.Errorf("subscription: lease: %w", err)
		}
		return nil
	})
	return more, err
}

// awaitedCharge returns until when the end of a period waits for an automatic charge that was to be
// made before, and zero for none. Its outcome may cancel the subscription before the period ends. The
// booking of the outcome ends the wait at once.
func (s *Service) awaitedCharge(tx *engine.Tx, r *record, end time.Time) (until time.Time, err error) {
	for i := range r.Unpaid {
		if !r.Unpaid[i].charged() {
			continue
		}
		if until, err = s.config.Invoices.AwaitsCharge(tx, r.Unpaid[i].Invoice, end); err != nil || !until.IsZero() {
			return until, err
		}
	}
	return time.Time{}, nil
}
