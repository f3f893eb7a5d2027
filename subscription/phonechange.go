package subscription

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"math/big"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pace"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/storage"
)

// The limits of the codes that confirm a new phone. They are those of one-time codes of payouts.
const (
	codeLife        = 10 * time.Minute
	codeGuesses     = 5  // wrong ones, of one code
	codeFailures    = 10 // wrong ones, of one day
	codeSendWindow  = 10 * time.Minute
	codeSends       = 5 // in the window
	codeSendsPerDay = 20
)

// phoneChange is a new phone, until its holder has confirmed it, and what was tried before.
type phoneChange struct {
	// Number is the new number, +233…; empty when none waits for its code.
	Number string `json:"number,omitempty"`
	// Code distinguishes one code from the next. MAC authenticates its digits.
	Code      string   `json:"code,omitempty"`
	MAC       []byte   `json:"mac,omitempty"`
	ExpiresAt api.Time `json:"expires_at,omitzero"`
	Guesses   int      `json:"guesses,omitempty"` // wrong ones
	// Sent are the times of the sends of the last day.
	Sent []api.Time `json:"sent,omitempty"`
	// Failures counts wrong guesses on Day, over all codes.
	Day      string `json:"day,omitempty"`
	Failures int    `json:"failures,omitempty"`
}

// PhoneChange is a new phone that waits for its confirmation.
type PhoneChange struct {
	// PhoneNumber is masked.
	PhoneNumber string
	// ExpiresAt is the end of the code's life.
	ExpiresAt api.Time
}

// StartPhoneChange sends a code by SMS to a new phone, which [Service.ConfirmPhone] takes. The new code
// replaces an earlier one.
//
// Refusals: resource_missing, parameter_missing, invalid_phone_number, subscription_cancelled,
// rate_limited after 5 codes in 10 minutes or 20 in a day, otp_attempts_exceeded after 10 wrong entries
// in a day (UTC), service_unavailable in live mode without a Texter.
func (s *Service) StartPhoneChange(ctx context.Context, caller api.Caller, id, phoneNumber string) (*PhoneChange, error) {
	number, _, err := check.MobileMoney("", phoneNumber, "")
	if err != nil {
		return nil, err
	}
	if !s.config.Messages.CanText(caller.Live) {
		return nil, api.Errorf(api.Unavailable, "", "Codes cannot be sent in live mode at the moment. Try again later.")
	}
	var started *PhoneChange
	err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		o, err := s.getUncancelled(tx, id)
		if err != nil {
			return err
		}
		r := &o.Value
		c := phoneChange{Number: number, Code: tx.NewID("otp_"), ExpiresAt: api.At(tx.Now.Add(codeLife))}
		if was := r.PhoneChange; was != nil {
			if err := was.locked(tx.Now); err != nil {
				return err
			}
			c.Sent, c.Day, c.Failures = was.Sent, was.Day, was.Failures
		}
		if c.Sent, err = takeSend(c.Sent, tx.Now); err != nil {
			return err
		}
		digits := sixDigits()
		c.MAC = codeMAC(s.config.ServerKeys[0], o.Scope, id, &c, digits)
		r.PhoneChange = &c
		m, err := s.config.Accounts.Merchant(tx, caller.Merchant)
		if err != nil {
			return fmt.Errorf("subscription: merchant: %w", err)
		}
		text := fmt.Sprintf("%s is your code to let %s charge this phone for %s. It is valid for 10 minutes. Do not tell it to anybody.", digits, m.Name, r.Terms.Name)
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

// takeSend counts a send, or refuses it.
func takeSend(sent []api.Time, now time.Time) ([]api.Time, error) {
	if wait := max(pace.Wait(sent, now, codeSends, codeSendWindow), pace.Wait(sent, now, codeSendsPerDay, day)); wait > 0 {
		e := api.Errorf(api.RateLimited, "", "Too many codes were sent: at most %d in 10 minutes and %d in a day. Wait before you request another.", codeSends, codeSendsPerDay)
		e.RetryAfter = wait
		return nil, e
	}
	kept := append([]api.Time(nil), sent[max(0, len(sent)+1-codeSendsPerDay):]...)
	return append(kept, api.At(now)), nil
}

// ConfirmPhone has the phone charged from now on to which the code was sent. Each wrong code counts,
// also concurrent ones. It cannot be called in a host's transaction, whose rollback would lose the
// count.
//
// Refusals: resource_missing, parameter_invalid, otp_invalid, otp_expired, otp_attempts_exceeded,
// subscription_cancelled.
func (s *Service) ConfirmPhone(ctx context.Context, caller api.Caller, id, code string) (*Subscription, error) {
	if s.engine.Host != nil {
		return nil, fmt.Errorf("subscription: %w", api.ErrSecretInTx)
	}
	if len(code) != 6 || !isDigits(code) {
		return nil, api.Invalid("code", "code must be six digits.")
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
		switch {
		case c == nil || c.Number == "":
			return api.Errorf(api.OTPInvalid, "code", "No code was requested. Request one first.")
		case c.Guesses >= codeGuesses:
			return tooManyGuesses(0)
		case !tx.Now.Before(c.ExpiresAt.Time):
			return api.Errorf(api.OTPExpired, "code", "The code has expired. Request a new one.")
		}
		if err := c.locked(tx.Now); err != nil {
			return err
		}
		if !s.matches(o.Scope, id, c, code) {
			c.countGuess(tx.Now)
			refusal = api.Errorf(api.OTPInvalid, "code", "The code is wrong. %d more tries are left.", codeGuesses-c.Guesses)
			return s.write(tx, o) // the count stays though the request is refused
		}
		r.setPhone(c.Number)
		c.Number, c.Code, c.MAC, c.Guesses = "", "", nil, 0
		if err := s.config.Invoices.ChangeChargedPhone(tx, r.ID, r.Phone); err != nil {
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

// locked refuses codes for the rest of a day with too many wrong guesses.
func (c *phoneChange) locked(now time.Time) error {
	if c.Day != now.UTC().Format(time.DateOnly) || c.Failures < codeFailures {
		return nil
	}
	return tooManyGuesses(now.UTC().Truncate(day).Add(day).Sub(now))
}

func (c *phoneChange) countGuess(now time.Time) {
	c.Guesses++
	if today := now.UTC().Format(time.DateOnly); c.Day != today {
		c.Day, c.Failures = today, 0
	}
	c.Failures++
}

func tooManyGuesses(wait time.Duration) error {
	e := api.Errorf(api.OTPAttemptsExceeded, "code", "There were too many wrong entries. Request a new code.")
	if e.RetryAfter = wait; wait > 0 {
		e.Message = "There were too many wrong entries today. Try again tomorrow."
	}
	return e
}

// matches reports whether the digits are a code's, under any of the server's keys.
func (s *Service) matches(scope storage.Scope, id string, c *phoneChange, digits string) bool {
	for _, key := range s.config.ServerKeys {
		if hmac.Equal(c.MAC, codeMAC(key, scope, id, c, digits)) {
			return true
		}
	}
	return false
}

// codeMAC authenticates a code for one subscription and number.
func codeMAC(key []byte, scope storage.Scope, id string, c *phoneChange, digits string) []byte {
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "subscription phone\x00%s\x00%t\x00%s\x00%s\x00%s\x00%s", scope.Merchant, scope.Live, id, c.Code, c.Number, digits)
	return h.Sum(nil)
}

// sixDigits returns a random code.
func sixDigits() string {
	// The error is always nil: crypto/rand never fails.
	n, _ := rand.Int(rand.Reader, big.NewInt(1_000_000))
	return fmt.Sprintf("%06d", n.Int64())
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
