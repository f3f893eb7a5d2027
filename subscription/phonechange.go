package subscription

import (
	"context"
	"fmt"
	"strconv"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/otp"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/storage"
)

// codesPerDay bounds the codes of a subscription in a day.
const codesPerDay = 20

// phoneChange is a new phone, until its holder has confirmed it, and what was tried before.
type phoneChange struct {
	// Number is the new number, +233…; empty when none waits for its code.
	Number string `json:"number,omitempty"`
	// State is that of the code which the number's holder confirms it with.
	otp.State
	ExpiresAt api.Time `json:"expires_at,omitzero"`
}

// forget forgets the number and its code, and keeps the counts.
func (c *phoneChange) forget() { c.Number, c.Code, c.MAC, c.Guesses = "", "", nil, 0 }

// boundTo is what a code is for: a subscription and a number.
func (c *phoneChange) boundTo(scope storage.Scope, id string) []string {
	return []string{"subscription phone", scope.Merchant, strconv.FormatBool(scope.Live), id, c.Code, c.Number}
}

// PhoneChange is a new phone that waits for its confirmation.
type PhoneChange struct {
	// PhoneNumber is masked.
	PhoneNumber string
	// ExpiresAt is the end of the code's life.
	ExpiresAt api.Time
}

// StartPhoneChange sends a code by SMS to a new phone, for [Service.ConfirmPhone]. The new code
// replaces an earlier one. At most 5 codes are sent in 10 minutes, and 20 in a day. These limits count
// the codes of the subscription. In live mode they also count those to the number, over all merchants. It
// ignores an idempotency key: each call sends a new code.
//
// Refusals: resource_missing, parameter_missing, invalid_phone_number, subscription_cancelled,
// rate_limited, otp_attempts_exceeded after 10 wrong entries in a day (UTC), and service_unavailable in
// live mode without a Texter.
func (s *Service) StartPhoneChange(ctx context.Context, caller api.Caller, id, phoneNumber string) (*PhoneChange, error) {
	number, _, err := check.MobileMoney("", phoneNumber, "")
	if err != nil {
		return nil, err
	}
	if !s.config.Messages.CanText(caller.Live) {
		return nil, api.Errorf(api.Unavailable, "", "Codes cannot be sent in live mode at the moment. Try again later.")
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
		c := phoneChange{Number: number, ExpiresAt: api.At(tx.Now.Add(otp.Life))}
		if r.PhoneChange != nil {
			c.State = r.PhoneChange.State
		}
		if err := c.Start(tx.Now, tx.NewID("otp_"), codesPerDay); err != nil {
			return err
		}
		if err := s.config.Payments.CountCode(tx, number); err != nil {
			return err
		}
		digits := c.Draw(s.engine.ServerKeys[0], c.boundTo(o.Scope, id)...)
		r.PhoneChange = &c
		m, err := s.config.Accounts.Merchant(tx, caller.Merchant)
		if err != nil {
			return fmt.Errorf("subscription: merchant: %w", err)
		}
		text := fmt.Sprintf("%s is your code to let %s charge this phone for %s. It is valid for 10 minutes. Do not tell it to anybody.",
			digits, s.config.Messages.Name(m.Name), s.config.Messages.Name(r.Terms.Name))
		if err := s.config.Messages.Text(tx, r.Customer, number, text); err != nil {
			return err
		}
		started = &PhoneChange{PhoneNumber: phone.Mask(number), ExpiresAt: c.ExpiresAt}
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
		c := r.PhoneChange
		if c == nil || c.Number == "" {
			return api.Errorf(api.OTPInvalid, "code", "No code was requested. Request one first.")
		}
		var counted bool
		counted, refusal = c.Check(tx.Now, !tx.Now.Before(c.ExpiresAt.Time), s.engine.ServerKeys, code, c.boundTo(o.Scope, id)...)
		switch {
		case counted:
			return s.write(tx, o) // the count stays though the request is refused
		case refusal != nil:
			return nil
		}
		r.setPhone(c.Number)
		c.forget()
		if err := s.config.Invoices.ChangeChargedPhone(tx, r.charged(), r.Phone); err != nil {
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
