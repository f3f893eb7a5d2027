package checkout

import (
	"context"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
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

// TakesPayment reports whether a session is still to be paid, when its payer has approved a payment
// from a phone. A session whose time is over takes only a payment that still holds it, whether or not the
// worker has expired it. A deleted customer begins no subscription.
func (in *Internal) TakesPayment(tx *engine.Tx, p *payment.Incoming) (bool, error) {
	o, err := in.svc.get(tx, engine.Scope(tx.Caller), *p.CheckoutSession)
	if err != nil {
		return false, ignoreRemoved(err)
	}
	r := &o.Value
	switch {
	case r.Status != Open || r.over(tx.Now) && !p.HoldActive:
		return false, nil
	case r.Mode != ModeSubscription:
		return true, nil
	}
	deleted, err := r.customerDeleted(tx)
	return !deleted, err
}

// PaymentEnded books what the end of a payment from a phone means for its session: it is complete, or
// the redemption of its coupon is given back. A payment that was approved after its hold counts the
// redemption even above the coupon's limit.
func (in *Internal) PaymentEnded(tx *engine.Tx, p *payment.Ended) error {
	s := in.svc
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
		if r.Mode == ModeSubscription && p.Number != "" { // another phone may have been asked since
			r.Charged = p.Number
		}
		if r.Attempt != p.ID { // an earlier payer, who has entered something else
			r.Entered = nil
		}
		return s.complete(tx, o, &p.ID, p.ID)
	case r.Status != Open || r.Attempt != p.ID:
		return nil
	}
	return s.holdEnded(tx, o)
}

// holdEnded gives the redemption of an open session back when no payment holds it any more, and has
// the worker look again when the session expires. A session whose time is over expires.
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
	if err := s.returnRedemption(tx, r); err != nil {
		return err
	}
	r.Due = api.AtOrNil(r.expiry())
	return s.save(tx, o)
}

// expire ends an open session that no payment holds.
func (s *Service) expire(tx *engine.Tx, o *storage.Object[record]) error {
	r := &o.Value
	if err := r.enter(Expired); err != nil {
		return err
	}
	if err := s.returnRedemption(tx, r); err != nil {
		return err
	}
	return s.end(tx, o, event.CheckoutSessionExpired)
}

// Expire ends an open session, so that it can no longer be paid. With an idempotency key it may be
// repeated safely.
//
// Refusals: resource_missing, checkout_not_open, payment_in_progress (a payment from a phone holds it).
func (s *Service) Expire(ctx context.Context, caller api.Caller, id string) (*Session, error) {
	op := engine.Operation{Name: "checkout_session.expire", Params: id}
	return change(ctx, s, caller, op, id, func(v *Session) *Session { return v }, func(tx *engine.Tx, o *storage.Object[record]) error {
		if err := s.payable(tx, tx.Now, o); err != nil {
			return err
		}
		return s.expire(tx, o)
	})
}

// Jobs return the jobs that expire sessions, and that give redemptions back when holds end.
func (in *Internal) Jobs() []work.Job {
	const limit, atATime = time.Minute, 64
	return []work.Job{
		{Kind: sessions.Kind(), Timeout: limit, Batch: atATime, RunOne: in.svc.lookAgain},
		{Kind: in.svc.config.Payments.EndedHolds(), Timeout: limit, Batch: atATime, RunOne: in.svc.takeEndedHold},
	}
}

// lookAgain does what is due on a session.
func (s *Service) lookAgain(ctx context.Context, claimed storage.Record) error {
	caller := api.Caller{Merchant: claimed.Scope.Merchant, Live: claimed.Scope.Live}
	return s.engine.Update(ctx, caller, func(tx *engine.Tx) error { return s.lookAgainTx(tx, claimed.ID) })
}

func (s *Service) lookAgainTx(tx *engine.Tx, id string) error {
	o, err := s.get(tx, engine.Scope(tx.Caller), id)
	if err != nil || o.Value.Status != Open {
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
func (in *Internal) FindPayments(ctx context.Context, within engine.Within, ids map[string]bool) error {
	return in.rewritePaid(ctx, within, ids, func(o *storage.Object[record]) bool {
		ids[o.ID] = true
		return false
	})
}

// ErasePayments removes the payer's data from the sessions that were paid with these payments, or whose
// last payer has started one of them.
func (in *Internal) ErasePayments(ctx context.Context, within engine.Within, ids map[string]bool) error {
	return in.rewritePaid(ctx, within, ids, func(o *storage.Object[record]) bool { return o.Value.forget() })
}

// rewritePaid runs change for the sessions of payments, and writes those for which it returns true.
func (in *Internal) rewritePaid(ctx context.Context, within engine.Within, ids map[string]bool, change func(*storage.Object[record]) bool) error {
	return engine.Rewrite(ctx, in.svc.engine, sessions, within, func(o *storage.Object[record]) (bool, error) {
		r := &o.Value
		if !ids[r.Attempt] && (r.Payment == nil || !ids[*r.Payment]) {
			return false, nil
		}
		return change(o), nil
	})
}

// Erase removes a customer's personal data from sessions.
func (in *Internal) Erase(ctx context.Context, caller api.Caller, customer string) error {
	q := storage.Query{Where: engine.Where(nil, "customer", customer), Limit: api.MaxLimit}
	return engine.UpdateEach(ctx, in.svc.engine, caller, sessions, q, func(tx *engine.Tx, o *storage.Object[record]) error {
		if !o.Value.forget() {
			return nil
		}
		return in.svc.save(tx, o)
	})
}

// Retention returns the rules for sessions that have ended: one removes the phone number and the e-mail,
// and the other removes the session, keep after its creation.
func (in *Internal) Retention(keep time.Duration) []retention.Rule {
	return []retention.Rule{
		retention.PartRule(sessions, in.svc.engine.NumberRetention, func(r *record) (api.Time, bool) {
			return r.CreatedAt, r.Status != Open && r.hasNumber()
		}, (*record).forgetNumber),
		retention.NewRule(sessions, keep, func(r *record) (api.Time, bool) { return r.CreatedAt, r.Status != Open }),
	}
}
