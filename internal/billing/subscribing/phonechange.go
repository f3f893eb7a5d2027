package subscribing

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
	"github.com/seed-7082ffec/payments/subscription"
)

// confirms returns what the code for a new phone confirms.
func confirms(o *storage.Object[record]) otp.Purpose {
	return otp.Purpose{What: "subscription phone", Scope: o.Scope, ID: o.ID}
}

func (s *Service) StartPhoneChange(ctx context.Context, caller api.Caller, id string, p subscription.StartPhoneChangeParams) (*subscription.PhoneChange, error) {
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
	var started *subscription.PhoneChange
	err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		o, err := s.getUncancelled(tx, id)
		if err != nil {
			return err
		}
		r := &o.Value
		r.PhoneChange = cmp.Or(r.PhoneChange, &otp.Phone{})
		err = s.sendCode(tx, r.PhoneChange, confirms(o), CodeParams{
			Number: number, From: p.From, Customer: r.Customer, Plan: r.Terms.Name,
		})
		if err != nil {
			return err
		}
		started = &subscription.PhoneChange{PhoneNumber: phone.Mask(number), ExpiresAt: r.PhoneChange.ExpiresAt}
		return s.write(tx, o)
	})
	if err != nil {
		return nil, err
	}
	return started, nil
}

func (s *Service) ConfirmPhone(ctx context.Context, caller api.Caller, id, code string) (*subscription.Subscription, error) {
	if s.engine.Host != nil {
		return nil, fmt.Errorf("subscription: %w", api.ErrSecretInTx)
	}
	if err := otp.CheckDigits("code", code); err != nil {
		return nil, err
	}
	if _, _, err := s.workBefore(ctx, caller, id, true); err != nil {
		return nil, err
	}
	var changed *subscription.Subscription
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
			return s.write(tx, o) // the count stays, although the request is refused
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
	if err == nil && o.Value.Status == subscription.Cancelled {
		err = errCancelled()
	}
	return o, err
}
