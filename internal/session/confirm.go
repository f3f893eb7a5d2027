package session

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/billing/subscribing"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/otp"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/storage"
)

// testCode is the code of test mode.
const testCode = "123456"

// confirms is what a code is for.
func confirms(o *storage.Object[record]) otp.Purpose {
	return otp.Purpose{What: "checkout phone", Scope: o.Scope, ID: o.ID}
}

// sendCode sends a code to the phone of a session for which nothing is due now, and writes the session. from is the
// network address of a payer on a page; empty for any other call.
func (s *Service) sendCode(tx *engine.Tx, o *storage.Object[record], from string) error {
	r := &o.Value
	r.Confirmation = cmp.Or(r.Confirmation, &otp.Phone{})
	p := subscribing.CodeParams{Number: r.Charged, From: from, Customer: r.FutureCustomer, Plan: r.PlanTerms.Name}
	engine.SetGiven(&p.Customer, r.Customer)
	if !tx.Caller.Live {
		p.Digits = testCode
	}
	if err := s.config.Subscriptions.SendCode(tx, r.Confirmation, confirms(o), p); err != nil {
		return err
	}
	return s.save(tx, o)
}

func (s *Service) ConfirmPhone(ctx context.Context, caller api.Caller, id, code string) (*checkout.Session, error) {
	if s.engine.Host != nil {
		return nil, fmt.Errorf("checkout: %w", api.ErrSecretInTx)
	}
	if err := otp.CheckDigits("code", code); err != nil {
		return nil, err
	}
	var confirmed *checkout.Session
	var refusal *api.Error
	err := s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		confirmed, refusal = nil, nil
		o, err := s.get(tx, engine.Scope(caller), id)
		if err != nil {
			return err
		}
		r := &o.Value
		if err := s.payable(tx, tx.Now, o); err != nil {
			return err
		}
		var counted bool
		counted, refusal = r.Confirmation.Confirm(tx.Now, s.engine.ServerKeys, code, confirms(o))
		switch {
		case counted:
			return s.save(tx, o) // the count stays though the request is refused
		case refusal != nil:
			return nil
		}
		r.Charged = r.Confirmation.Number
		if err := s.beginConfirmed(tx, o); err != nil {
			return err
		}
		confirmed = &r.Session
		return nil
	})
	if err == nil && refusal != nil {
		err = refusal
	}
	if err != nil {
		return nil, err
	}
	return confirmed, nil
}

// beginConfirmed completes a session whose phone is confirmed, unless something is due now after all.
func (s *Service) beginConfirmed(tx *engine.Tx, o *storage.Object[record]) error {
	r := &o.Value
	r.Confirmation.Forget()
	deleted, err := r.customerDeleted(tx)
	if err != nil {
		return err
	}
	if deleted {
		return notOpen("is of a customer who was deleted")
	}
	changed, err := s.priceForPhone(tx, r)
	if err != nil {
		return err
	}
	if changed || r.Total > 0 {
		return s.save(tx, o)
	}
	if err := s.redeem(tx, r); err != nil {
		return err
	}
	return s.complete(tx, o, nil, r.ID)
}

// confirming returns the phone that waits for its code; nil for none.
func (r *record) confirming(tx *engine.ReadTx) *checkout.Confirming {
	c := r.Confirmation
	if !c.Waits(tx.Now) {
		return nil
	}
	return &checkout.Confirming{PhoneNumber: phone.Mask(c.Number), ExpiresAt: c.ExpiresAt}
}

// hasTrial reports whether the plan of the session has a trial, for phones that had none.
func (r *record) hasTrial() bool {
	return r.PlanTerms != nil && r.PlanTerms.TrialPeriodDays != nil && *r.PlanTerms.TrialPeriodDays > 0
}

// priceForPhone prices a session anew if the phone that is charged has had its trial of the plan, or if it
// has not, and another one had. It reports whether that has changed what the session costs now.
func (s *Service) priceForPhone(tx *engine.Tx, r *record) (changed bool, err error) {
	if r.Mode != checkout.ModeSubscription || !r.hasTrial() {
		return false, nil
	}
	had, err := s.config.Subscriptions.HadTrial(tx, engine.Scope(tx.Caller), r.PlanTerms.ID, r.Charged)
	if err != nil || had == r.NoTrial {
		return false, err
	}
	return true, s.priceTrial(tx, r, !had)
}

// priceTrial prices a session anew, with the trial of its plan or without.
func (s *Service) priceTrial(tx *engine.Tx, r *record, with bool) error {
	r.NoTrial = !with
	priced, err := s.pricePlan(tx, subscribing.StartParams{Plan: r.planTerms(), Quantity: *r.Quantity, Coupon: r.CouponTerms})
	if err != nil {
		return err
	}
	r.setLines(priced)
	return nil
}
