package session

import (
	"context"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

// ignoreRemoved leaves out the error of a session that was removed after Config.CheckoutRetention. It had
// ended, so that it takes no payment.
func ignoreRemoved(err error) error {
	if api.CodeOf(err) == api.ResourceMissing {
		return nil
	}
	return err
}

// TakesPayment returns why a session is no longer to be paid, when its payer has approved a payment from a
// phone; "" if it is. A session whose time is over takes only a payment that still holds it, whether or not
// the worker has expired it. A coupon whose redemption was given back may have been used up since. A deleted
// customer begins no subscription.
func (s *Service) TakesPayment(tx *engine.Tx, p *collect.Incoming) (why string, err error) {
	o, err := s.get(tx, engine.Scope(tx.Caller), *p.CheckoutSession)
	if err != nil {
		return collect.SessionExpired, ignoreRemoved(err)
	}
	r := &o.Value
	switch {
	case r.Status == checkout.Complete:
		return collect.PaidTwice, nil
	case r.Status != checkout.Open || r.over(tx.Now) && !p.HoldActive:
		return collect.SessionExpired, nil
	}
	if r.Mode == checkout.ModeSubscription {
		deleted, err := r.customerDeleted(tx)
		if err != nil || deleted {
			return collect.CustomerDeleted, err
		}
	}
	if r.Coupon == nil || r.Redeemed {
		return "", nil
	}
	left, err := s.config.Catalog.RedemptionLeft(tx, *r.Coupon)
	if err != nil || left {
		return "", err
	}
	return collect.CouponUsedUp, nil
}

// PaymentEnded applies the end of a payment from a phone to its session. The session is complete, or
// gives the redemption of its coupon back once no other payment of it may be approved in time. A
// payment that was approved after the redemption was given back counts another, which TakesPayment has seen.
func (s *Service) PaymentEnded(tx *engine.Tx, p *collect.Ended) error {
	o, err := s.get(tx, engine.Scope(tx.Caller), *p.CheckoutSession)
	if err != nil {
		return ignoreRemoved(err)
	}
	r := &o.Value
	switch {
	case p.Status == payment.Completed:
		if r.Coupon != nil && !r.Redeemed {
			if err := s.config.Catalog.RedeemLate(tx, *r.Coupon); err != nil {
				return err
			}
			r.Redeemed = true
		}
		if r.Mode == checkout.ModeSubscription && p.Number != "" { // another phone may have been asked since
			r.Charged = p.Number
		}
		if r.hasTrial() && !r.NoTrial { // another phone, which has a trial, was entered since
			if err := s.priceTrial(tx, r, false); err != nil {
				return err
			}
		}
		if r.Attempt != p.ID { // an earlier payer, who has entered something else
			r.Entered = nil
		}
		return s.complete(tx, o, &p.ID, p.ID)
	case r.Status != checkout.Open || r.Attempt != p.ID && !r.Redeemed:
		return nil
	}
	return s.holdEnded(tx, o)
}

// holdEnded looks at an open session whose hold, or whose payment, has ended. A session whose time is over
// expires, unless another payment holds it. The session keeps the redemption of its coupon as long as one of
// its payments may be approved in time: also one whose payer has chosen another way. The worker looks again
// at the end of the hold or of that time, or when the session expires.
func (s *Service) holdEnded(tx *engine.Tx, o *storage.Object[record]) error {
	r := &o.Value
	until, err := s.config.Payments.HeldUntil(tx, o.Scope, tx.Now, o.ID)
	if err != nil {
		return err
	}
	if !until.IsZero() {
		r.Due = api.AtOrNil(until)
		return s.save(tx, o)
	}
	if r.over(tx.Now) {
		return s.expire(tx, o)
	}
	due := r.expiry()
	if r.Redeemed {
		if until, err = s.config.Payments.OpenUntil(tx, o.Scope, tx.Now, o.ID); err != nil {
			return err
		}
		switch {
		case until.IsZero():
			if err := s.returnRedemption(tx, r); err != nil {
				return err
			}
		case until.Before(due):
			due = until
		}
	}
	r.Due = api.AtOrNil(due)
	return s.save(tx, o)
}

// expire ends an open session that no payment holds.
func (s *Service) expire(tx *engine.Tx, o *storage.Object[record]) error {
	r := &o.Value
	if err := r.enter(checkout.Expired); err != nil {
		return err
	}
	if err := s.returnRedemption(tx, r); err != nil {
		return err
	}
	return s.end(tx, o, event.CheckoutSessionExpired)
}

func (s *Service) Expire(ctx context.Context, caller api.Caller, id string) (*checkout.Session, error) {
	op := engine.Operation{Name: "checkout_session.expire", Params: id}
	return change(ctx, s, caller, op, id, func(v *checkout.Session) *checkout.Session { return v }, func(tx *engine.Tx, o *storage.Object[record]) error {
		if err := s.payable(tx, tx.Now, o); err != nil {
			return err
		}
		return s.expire(tx, o)
	})
}

// Jobs return the jobs that expire sessions, and that give redemptions back when holds end.
func (s *Service) Jobs() []work.Job {
	const limit, atATime = time.Minute, 64
	return []work.Job{
		{Kind: sessions.Kind(), Timeout: limit, Batch: atATime, RunOne: s.lookAgain},
		{Kind: s.config.Payments.EndedHolds(), Timeout: limit, Batch: atATime, RunOne: s.takeEndedHold},
	}
}

// lookAgain does what is due on a session.
func (s *Service) lookAgain(ctx context.Context, claimed storage.Record) error {
	caller := api.Caller{Merchant: claimed.Scope.Merchant, Live: claimed.Scope.Live}
	return s.engine.Update(ctx, caller, func(tx *engine.Tx) error { return s.lookAgainTx(tx, claimed.ID) })
}

func (s *Service) lookAgainTx(tx *engine.Tx, id string) error {
	o, err := s.get(tx, engine.Scope(tx.Caller), id)
	if err != nil || o.Value.Status != checkout.Open {
		return ignoreRemoved(err)
	}
	defer tx.AttributeEvents(o.Value.RequestID, o.Value.IdempotencyKey)()
	return s.holdEnded(tx, o)
}

// takeEndedHold looks at the session of a payment that has ended its hold.
func (s *Service) takeEndedHold(ctx context.Context, claimed storage.Record) error {
	caller := api.Caller{Merchant: claimed.Scope.Merchant, Live: claimed.Scope.Live}
	return s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		session, err := s.config.Payments.TakeEndedHold(tx, claimed.ID)
		if err != nil || session == "" {
			return err
		}
		return s.lookAgainTx(tx, session)
	})
}

// FindPayments adds to ids the ids of the sessions that were paid with these payments, or whose last payer
// has started one of them. The payer's data stands in the copies of these sessions, too.
func (s *Service) FindPayments(ctx context.Context, within engine.Within, ids map[string]bool) error {
	return s.rewritePaid(ctx, within, ids, func(o *storage.Object[record]) bool {
		ids[o.ID] = true
		return false
	})
}

// ErasePayments removes the payer's data from the sessions that were paid with these payments, or whose
// last payer has started one of them.
func (s *Service) ErasePayments(ctx context.Context, within engine.Within, ids map[string]bool) error {
	return s.rewritePaid(ctx, within, ids, func(o *storage.Object[record]) bool { return o.Value.forget() })
}

// rewritePaid runs change for the sessions of payments, and writes those for which it returns true.
func (s *Service) rewritePaid(ctx context.Context, within engine.Within, ids map[string]bool, change func(*storage.Object[record]) bool) error {
	return engine.Rewrite(ctx, s.engine, sessions, within, func(o *storage.Object[record]) (bool, error) {
		r := &o.Value
		if !ids[r.Attempt] && (r.Payment == nil || !ids[*r.Payment]) {
			return false, nil
		}
		return change(o), nil
	})
}

// Erase removes a customer's personal data from sessions.
func (s *Service) Erase(ctx context.Context, caller api.Caller, customer string) error {
	q := storage.Query{Where: engine.Where(nil, "customer", customer), Limit: api.MaxLimit}
	return engine.UpdateEach(ctx, s.engine, caller, sessions, q, func(tx *engine.Tx, o *storage.Object[record]) error {
		if !o.Value.forget() {
			return nil
		}
		return s.save(tx, o)
	})
}

// Retention returns the rules for sessions that have ended: one removes the phone number and the e-mail,
// and the other removes the session, keep after its creation.
func (s *Service) Retention(keep time.Duration) []retention.Rule {
	return []retention.Rule{
		retention.PartRule(sessions, s.engine.NumberRetention, func(r *record) (api.Time, bool) {
			return r.CreatedAt, r.Status != checkout.Open && r.hasNumber()
		}, (*record).forgetNumber),
		retention.NewRule(sessions, keep, func(r *record) (api.Time, bool) { return r.CreatedAt, r.Status != checkout.Open }),
	}
}
