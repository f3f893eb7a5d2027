package subscription

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/otp"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

// confirms is what a code is for.
func confirms(o *storage.Object[record]) otp.Purpose {
	return otp.Purpose{What: "subscription phone", Scope: o.Scope, ID: o.ID}
}

// PhoneChange is a new phone that waits for its confirmation.
type PhoneChange struct {
	// PhoneNumber is masked.
	PhoneNumber string
	// ExpiresAt is the end of the code's life.
	ExpiresAt api.Time
}

// StartPhoneChangeParams name the new phone.
type StartPhoneChangeParams struct {
	PhoneNumber string
	// From is the network address of a customer on a public page; empty for any other call.
	From string
}

// StartPhoneChange sends a code by SMS to a new phone, for [Service.ConfirmPhone]. The new code
// replaces an earlier one. At most 5 codes are sent in 10 minutes, and 20 in a day; in test mode 100 in 10
// minutes. These limits count the codes of the subscription. In live mode they also count those to the
// number, over all merchants. Of these, one network address may have 4 and 10 sent on pages. It ignores an
// idempotency key: each call sends a new code.
//
// Refusals: resource_missing, parameter_missing, invalid_phone_number, subscription_cancelled,
// rate_limited, otp_attempts_exceeded after 10 wrong entries in a day (UTC; in test mode 100 in 10 minutes),
// and service_unavailable in live mode without a Texter.
func (s *Service) StartPhoneChange(ctx context.Context, caller api.Caller, id string, p StartPhoneChangeParams) (*PhoneChange, error) {
	number, _, err := check.MobileMoney("", p.PhoneNumber, "")
	if err != nil {
		return nil, err
	}
	if err := s.config.Payments.CheckCharged(caller.Live, payment.MobileMoney{PhoneNumber: number}); err != nil {
		return nil, err
	}
	if err := s.canSendCodes(caller.Live); err != nil {
		return nil, err
	}
	if _, _, err := s.workBefore(ctx, caller, id, true); err != nil {
		return nil, err
	}
	var started *PhoneChange
	err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		o, err := s.getUncancelled(tx, id)
		if err != nil {
			return err
		}
		r := &o.Value
		r.PhoneChange = cmp.Or(r.PhoneChange, &otp.Phone{})
		err = s.sendCode(tx, r.PhoneChange, confirms(o), CodeParams{
			Number: number, From: p.From, Person: r.Customer, Plan: r.Terms.Name,
		})
		if err != nil {
			return err
		}
		started = &PhoneChange{PhoneNumber: phone.Mask(number), ExpiresAt: r.PhoneChange.ExpiresAt}
		return s.write(tx, o)
	})
	if err != nil {
		return nil, err
	}
	return started, nil
}

// ConfirmPhone checks the code of StartPhoneChange. If it is right, later charges ask the new phone.
// Each wrong code counts, also concurrent ones. It ignores an idempotency key: a call after a success is
// otp_invalid. It cannot be called in a host's transaction, whose
// rollback would lose the count.
//
// Refusals: resource_missing, parameter_invalid, otp_invalid, otp_expired, otp_attempts_exceeded,
// subscription_cancelled.
func (s *Service) ConfirmPhone(ctx context.Context, caller api.Caller, id, code string) (*Subscription, error) {
	if s.engine.Host != nil {
		return nil, fmt.Errorf("subscription: %w", api.ErrSecretInTx)
	}
	if err := otp.CheckDigits("code", code); err != nil {
		return nil, err
	}
	if _, _, err := s.workBefore(ctx, caller, id, true); err != nil {
		return nil, err
	}
	var changed *Subscription
	var refusal *api.Error
	err := s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		changed, refusal = nil, nil
		o, err := s.getUncancelled(tx, id)
		if err != nil {
			return err
		}
		r := &o.Value
		var counted bool
		counted, refusal = r.PhoneChange.Confirm(tx.Now, s.engine.ServerKeys, code, confirms(o))
		switch {
		case counted:
			return s.write(tx, o) // the count stays though the request is refused
		case refusal != nil:
			return nil
		}
		old := *r
		r.setPhone(r.PhoneChange.Number)
		r.PhoneChange.Forget()
		if err := s.config.Invoices.ChangeChargedPhone(tx, r.charged(), r.Phone); err != nil {
			return err
		}
		if err := s.textChanges(tx, &old, r); err != nil {
			return err
		}
		changed = &r.Subscription
		return s.write(tx, o, event.SubscriptionUpdated)
	})
	if err == nil && refusal != nil {
		err = refusal
	}
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// getUncancelled reads a subscription of the caller's, and refuses a cancelled one.
func (s *Service) getUncancelled(tx *engine.Tx, id string) (*storage.Object[record], error) {
	o, err := s.get(tx, engine.Scope(tx.Caller), id)
	if err == nil && o.Value.Status == Cancelled {
		err = errCancelled()
	}
	return o, err
}
