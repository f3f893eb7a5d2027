package subscribing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/subscription"
)

// giveUpAfter is how long a sent invoice is overdue until it is given up.
const giveUpAfter = 30 * day

// keepNewPhone is how long a new phone is kept after its code has expired. Until then, the refusal of the code
// can say that it has expired.
const keepNewPhone = time.Hour

// trialWarning is how long before the end of a trial the warning comes.
const trialWarning = 3 * day

// step is the next thing to do for a subscription.
type step struct {
	at time.Time
	// act takes the step, and returns the events. It is nil if there is nothing to do.
	act func(*Service, *turn, *record) ([]event.Type, error)
	// ends says that the step ends a period. It waits for charges of earlier times.
	ends bool
}

// turn is the transaction of a step.
type turn struct {
	tx *engine.Tx
	// at is the time of the step, which may be long past.
	at           time.Time
	readCustomer customerReader
}

// next returns the step with the earliest time. If an invoice becomes overdue or is given up at the end of the
// period, that step comes first.
func (s *Service) next(r *record) step {
	var first step
	consider := func(n step) {
		if first.act == nil || n.at.Before(first.at) {
			first = n
		}
	}
	if r.Status == subscription.Cancelled {
		return first
	}
	for i := range r.Unpaid {
		if u := &r.Unpaid[i]; u.At != 0 {
			act := (*Service).markOverdue
			if u.Overdue {
				act = (*Service).giveUp
			}
			consider(step{at: u.stepAt(), act: act})
		}
	}
	if r.Status == subscription.Trialing && !r.TrialWarned {
		consider(step{at: r.trialWarningAt(), act: (*Service).warnOfTrialEnd})
	}
	if s.notices(r) {
		consider(step{at: s.chargeTime(r).Add(-day), act: (*Service).notice})
	}
	switch {
	case r.CancelAtPeriodEnd:
		consider(step{at: r.periodEnd(), act: (*Service).cancelAtPeriodEnd, ends: true})
	case r.Status != subscription.Paused:
		consider(step{at: r.periodEnd(), act: (*Service).renew, ends: true})
	}
	if c := r.PhoneChange; c != nil && c.Number != "" {
		consider(step{at: c.ExpiresAt.Add(keepNewPhone), act: (*Service).dropNewPhone})
	}
	if r.Discount != nil && r.Discount.End != nil {
		consider(step{at: time.Unix(*r.Discount.End, 0), act: (*Service).endDiscount})
	}
	return first
}

// renew begins the next period, or the first after a trial, and makes its invoice.
func (s *Service) renew(t *turn, r *record) ([]event.Type, error) {
	customer, err := t.readCustomer(t.tx)
	if api.CodeOf(err) == api.ResourceMissing { // deleted a moment ago, or by the host
		return []event.Type{event.SubscriptionCanceled}, s.cancelAtOnce(t.tx, r, t.at, t.readCustomer)
	}
	if err != nil {
		return nil, err
	}
	if r.Status == subscription.Trialing {
		r.Status = subscription.Active
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

// cancelAtPeriodEnd cancels the subscription, and leaves the charges of its open invoices as they are.
func (s *Service) cancelAtPeriodEnd(t *turn, r *record) ([]event.Type, error) {
	return []event.Type{event.SubscriptionCanceled}, s.cancel(t.tx, r, t.at, t.readCustomer)
}

// dueInvoice returns the invoice whose time has come.
func (r *record) dueInvoice(at time.Time) *unpaid {
	for i := range r.Unpaid {
		if u := &r.Unpaid[i]; u.At != 0 && u.stepAt().Equal(at) {
			return &r.Unpaid[i]
		}
	}
	return nil
}

// markOverdue notes that an invoice was not paid until the end of its due day. If it is not open any more, its
// outcome is about to be applied.
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
	if r.updateStatus(); r.Status != was {
		types = append(types, event.SubscriptionUpdated)
	}
	return types, nil
}

// whileHeld is how long an invoice that is to be given up waits for a payment under way.
const whileHeld = 10 * time.Minute

// giveUp makes an invoice uncollectible, long after its due date, and cancels the subscription.
func (s *Service) giveUp(t *turn, r *record) ([]event.Type, error) {
	u := r.dueInvoice(t.at)
	id := u.Invoice
	_, err := s.config.Invoices.GiveUp(t.tx, id)
	switch code := api.CodeOf(err); {
	case code == api.PaymentInProgress || code == api.InvoicePaymentInProgress:
		u.At = second(t.tx.Now.Add(whileHeld)).Unix()
		return nil, nil
	case code != "": // it is not open any more, and its outcome is about to be applied
		u.At = 0
		return nil, nil
	case err != nil:
		return nil, err
	}
	if s.config.KeepPastDue {
		r.giveUp(u)
		balance := r.CreditBalance
		if err := s.revalue(t.tx, r, id); err != nil || r.CreditBalance == balance {
			return nil, err
		}
		return []event.Type{event.SubscriptionUpdated}, nil
	}
	if err := s.revalue(t.tx, r, id); err != nil {
		return nil, err
	}
	return []event.Type{event.SubscriptionCanceled}, s.cancelAtOnce(t.tx, r, t.at, t.readCustomer)
}

// trialWarningAt returns the time of the warning that the trial ends.
func (r *record) trialWarningAt() time.Time {
	return time.Unix(max(r.Created, *r.TrialEnd-int64(trialWarning/time.Second)), 0)
}

func (s *Service) warnOfTrialEnd(t *turn, r *record) ([]event.Type, error) {
	r.TrialWarned = true
	return []event.Type{event.SubscriptionTrialWillEnd}, s.textTrialEnds(t.tx, r)
}

func (s *Service) endDiscount(_ *turn, r *record) ([]event.Type, error) {
	r.Discount, r.Coupon = nil, nil
	return []event.Type{event.SubscriptionUpdated}, nil
}

// dropNewPhone forgets a number that was not confirmed. It may be a stranger's.
func (s *Service) dropNewPhone(_ *turn, r *record) ([]event.Type, error) {
	r.PhoneChange.Forget()
	return nil, nil
}

// Jobs are the background work of subscriptions.
func (s *Service) Jobs() []work.Job {
	const atATime = 64
	return []work.Job{
		{Kind: subscriptions.Kind(), Timeout: time.Minute, Batch: atATime, RunOne: s.runDue},
		{Kind: s.config.Invoices.OutcomeKind(), Timeout: time.Minute, Batch: atATime, RunOne: s.applyQueued},
		{Kind: pii.Departures.Kind(), Timeout: time.Minute, Batch: atATime, RunOne: s.depart},
	}
}

// runDue runs the due steps of a claimed subscription, the earliest first.
func (s *Service) runDue(ctx context.Context, claimed storage.Record) error {
	o, err := subscriptions.Decode(claimed)
	if err != nil {
		return err
	}
	caller := api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live}
	stop := func() bool { return work.HalfOver(ctx, time.Minute) }
	return s.runSteps(ctx, caller, o.ID, o.Value.Customer, rush{stop: stop})
}

// maxStepsInCall bounds the due steps that a call runs before its own change.
const maxStepsInCall = 50

// errUndone says that a due step of a subscription has failed.
var errUndone = errors.New("subscription: what is due was not done")

// workThrough runs the due steps of a subscription before a call changes it, and returns the customer's id. It
// does not wait for charges under way. It fails with errUndone if a step failed, with service_unavailable if
// more than maxStepsInCall steps are due, and with subscription_cancelled if the subscription was cancelled before.
func (s *Service) workThrough(ctx context.Context, caller api.Caller, id string) (customer string, err error) {
	due := false
	err = s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		o, err := s.get(tx, engine.Scope(caller), id)
		if err != nil {
			return err
		}
		if o.Value.Status == subscription.Cancelled {
			return errCancelled()
		}
		customer, due = o.Value.Customer, s.isDue(&o.Value, tx.Now)
		return nil
	})
	if err != nil || !due {
		return customer, err
	}
	left := maxStepsInCall
	stop := func() bool { left--; return left == 0 }
	as := api.Caller{Merchant: caller.Merchant, Live: caller.Live} // events are not of this call
	if err := s.runSteps(ctx, as, id, customer, rush{inCall: true, stop: stop}); err != nil {
		return customer, fmt.Errorf("%w: %w", errUndone, err)
	}
	if left == 0 {
		if err := s.leaveToWorker(ctx, as, id); err != nil {
			return customer, err
		}
		return customer, api.Errorf(api.Unavailable, "", "Much became due of this subscription, and is being worked through. Try again in a moment.").After(5 * time.Second)
	}
	return customer, nil
}

// leaveToWorker ends the lease of a call on a subscription, and wakes a worker.
func (s *Service) leaveToWorker(ctx context.Context, caller api.Caller, id string) error {
	return s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		o, err := s.get(tx, engine.Scope(caller), id)
		if err != nil {
			return err
		}
		return s.write(tx, o)
	})
}

// isDue reports whether a step of a subscription is due, even if it waits for a charge.
func (s *Service) isDue(r *record, now time.Time) bool {
	next := s.next(r)
	return next.act != nil && !next.at.After(now)
}

// rush says which of the due steps are run.
type rush struct {
	// before limits the steps to those of earlier times; zero runs all.
	before time.Time
	// inCall says that a call waits for the steps. They then do not wait for charges, which may take days.
	inCall bool
	// stop is asked after each step, if more is due, and says whether to leave the rest to a worker; nil for never.
	stop func() bool
}

// runSteps does one due step after another, each in its own transaction. So a crash between any two of
// them loses nothing, and years without a worker take no long transaction.
//
// One step is done even if the host's directory has taken all the time: it may be one that needs no customer.
func (s *Service) runSteps(ctx context.Context, caller api.Caller, id, customer string, p rush) error {
	readCustomer := s.findCustomer(ctx, caller, customer)
	for {
		more, err := s.runStep(ctx, caller, id, p, readCustomer)
		if err != nil || !more || p.stop != nil && p.stop() {
			return err
		}
	}
}

// runStep does the next step of a subscription, if it is due, and reports whether another is due then.
func (s *Service) runStep(ctx context.Context, caller api.Caller, id string, p rush, readCustomer customerReader) (more bool, err error) {
	err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		more = false
		o, err := s.get(tx, engine.Scope(caller), id)
		if err != nil {
			return err
		}
		r := &o.Value
		due := r.NextAt != nil && !r.NextAt.After(tx.Now)
		if p.inCall {
			due = s.isDue(r, tx.Now)
		}
		if !due {
			return nil
		}
		next := s.next(r)
		if next.act != nil && !p.before.IsZero() && !next.at.Before(p.before) {
			return nil
		}
		var types []event.Type
		if next.act != nil && !next.at.After(tx.Now) {
			if next.ends && !p.inCall {
				waits, err := s.awaitCharge(tx, r, next.at)
				if err != nil {
					return err
				}
				if waits { // s.write would replace the time of the next look
					return subscriptions.Replace(tx, o)
				}
			}
			if types, err = next.act(s, &turn{tx, next.at, readCustomer}, r); err != nil {
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

// awaitAtMost bounds how long the end of a period waits for the charges of earlier times. They take five
// days, and longer while the phone must not be asked. awaitAtLeast is the least time until the next look.
// A look that comes lookLate after its time begins the wait anew: the workers were stopped, and made no
// charges either.
const (
	awaitAtMost  = 7 * day
	awaitAtLeast = time.Minute
	lookLate     = time.Hour
)

// awaitCharge makes the end of a period wait for the automatic charges of an earlier invoice, if the last of
// them was planned before that end. That charge may fail and cancel the subscription before the period ends.
//
// So a worker that runs again after a long time waits for the charges of one invoice before it makes the next.
// It asks no phone for invoices that workers on time would never have made. An outcome that is applied ends the
// wait at once. Otherwise each next look comes when the wait has become twice as long.
func (s *Service) awaitCharge(tx *engine.Tx, r *record, end time.Time) (waits bool, err error) {
	if s.config.KeepPastDue { // no charge cancels
		return false, nil
	}
	since := tx.Now
	if r.AwaitsSince != nil && tx.Now.Sub(r.NextAt.Time) < lookLate {
		since = r.AwaitsSince.Time
	}
	var until time.Time
	for i := range r.Unpaid {
		if !r.Unpaid[i].charged() {
			continue
		}
		if until, err = s.config.Invoices.AwaitsCharge(tx, r.Unpaid[i].Invoice, end, since); err != nil {
			return false, err
		}
		if !until.IsZero() {
			break
		}
	}
	if until.IsZero() {
		return false, nil
	}
	r.AwaitsSince = api.AtOrNil(since)
	if last := since.Add(awaitAtMost); last.Before(until) {
		until = last
	}
	if soon := tx.Now.Add(max(awaitAtLeast, tx.Now.Sub(since))); soon.Before(until) {
		until = soon
	}
	r.NextAt = api.AtOrNil(until)
	return until.After(tx.Now), nil
}
