package payout

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/otp"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/storage"
)

// Purpose is the use that a one-time code allows.
type Purpose string

// ForPayout is the only purpose.
const ForPayout Purpose = "PAYOUT"

func (p Purpose) check() error {
	switch p {
	case "":
		return api.Missing("purpose")
	case ForPayout:
		return nil
	}
	return api.Invalid("purpose", "The only purpose is %s.", ForPayout)
}

// OTP describes a one-time code without its digits.
type OTP struct {
	Object  string  `json:"object"` // always "otp"
	Purpose Purpose `json:"purpose"`
	Status  string  `json:"status"` // "sent" or "verified"
	// Phone is the merchant's registered number, masked.
	Phone string `json:"phone"`
	// ExpiresAt is the deadline to verify a sent code, or to use a verified one.
	ExpiresAt api.Time `json:"expires_at"`
}

// otpValidFor is how long a verified code can be used.
const otpValidFor = 10 * time.Minute

// otpRecord is the record of a merchant's code for a purpose, which is its id. A merchant has one valid
// code for a purpose: a new code replaces the old one.
type otpRecord struct {
	otp.State
	VerifyBy   api.Time  `json:"verify_by"`
	ValidUntil *api.Time `json:"valid_until,omitempty"` // set by the verification
	Used       bool      `json:"used,omitempty"`        // by a payout, if SingleUse
	// Phone is the phoneMAC of the number that got the code; empty for a code of an earlier release.
	Phone []byte `json:"phone,omitempty"`
}

var otps = storage.NewCollection[otpRecord]("otps", nil)

// errNotVerified refuses a payout without a valid verified code.
func errNotVerified() *api.Error {
	return api.Errorf(api.OTPVerificationRequired, "otp_code", "A payout needs a one-time code that was verified within the last 10 minutes. Request one with POST /v1/otp/request, verify it with POST /v1/otp/verify, and send it as otp_code.")
}

// RequestOTP sends a new code by SMS to the merchant's registered phone. The new code replaces any
// earlier one, and must be verified within 10 minutes. It expires when the merchant gets another phone.
//
// Refusals: parameter_missing and parameter_invalid (purpose), invalid_phone_number for a merchant
// without a registered phone, rate_limited after 5 codes in 10 minutes, otp_attempts_exceeded after 10
// wrong entries in a day (UTC), and service_unavailable in live mode without a Texter.
func (s *Service) RequestOTP(ctx context.Context, caller api.Caller, purpose Purpose) (*OTP, error) {
	if err := purpose.check(); err != nil {
		return nil, err
	}
	if !s.internal.config.Messages.CanText(caller.Live) {
		return nil, api.Errorf(api.Unavailable, "", "One-time codes cannot be sent in live mode at the moment. Try again later, or ask the operator.")
	}
	op := engine.Operation{Name: "otp.request", Params: purpose}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*OTP, error) {
		m, err := s.internal.config.Accounts.Merchant(tx, caller.Merchant)
		if err != nil {
			return nil, fmt.Errorf("payout: merchant of a code: %w", err)
		}
		if m.Phone == "" {
			return nil, api.Errorf(api.InvalidPhoneNumber, "", "This merchant has no registered phone number. Ask the operator to register one.")
		}
		found, err := otps.GetOrNew(tx, engine.Scope(caller), string(purpose))
		if err != nil {
			return nil, fmt.Errorf("payout: read code: %w", err)
		}
		o := &found.Value
		if err := o.Start(tx.Now, tx.NewID("otp_"), 0); err != nil {
			return nil, err
		}
		digits := o.Draw(s.engine.ServerKeys[0], boundTo(engine.Scope(caller), purpose, o.Code)...)
		o.VerifyBy, o.ValidUntil, o.Used = api.At(tx.Now.Add(otp.Life)), nil, false
		o.Phone = o.phoneMAC(s.engine.ServerKeys[0], engine.Scope(caller), m.Phone)
		if err := otps.Put(tx, found); err != nil {
			return nil, fmt.Errorf("payout: keep code: %w", err)
		}
		text := fmt.Sprintf("%s is your code to confirm a payout. It is valid for 10 minutes. Do not tell it to anybody.", digits)
		if err := s.internal.config.Messages.Text(tx, "", m.Phone, text); err != nil {
			return nil, err
		}
		return &OTP{Object: "otp", Purpose: purpose, Status: "sent", Phone: phone.Mask(m.Phone), ExpiresAt: o.VerifyBy}, nil
	})
}

// OTPParams are a one-time code as a person entered it.
type OTPParams struct {
	// Code has six digits.
	Code    string  `json:"-" param:"code,required"`
	Purpose Purpose `json:"purpose" param:",required"`
}

// VerifyOTP checks a code that the merchant has entered. A verified code may be used for 10
// minutes. Verifying it again changes nothing. Five wrong entries end a code, also a verified one;
// the merchant then requests a new code. Each wrong entry counts, also one in Create.
//
// Refusals: parameter_missing (purpose), parameter_invalid, otp_invalid, otp_expired, and
// otp_attempts_exceeded after five wrong entries of the code or ten in a day (UTC).
func (s *Service) VerifyOTP(ctx context.Context, caller api.Caller, p OTPParams) (*OTP, error) {
	purpose, code := p.Purpose, p.Code
	if err := purpose.check(); err != nil {
		return nil, err
	}
	if err := otp.CheckDigits("code", code); err != nil {
		return nil, err
	}
	// The fingerprint holds no secret, but must differ for another code. So it uses the MAC.
	operation := func(key []byte) engine.Operation {
		return engine.Operation{Name: "otp.verify", Params: struct {
			Purpose Purpose `json:"purpose"`
			Code    []byte  `json:"code"`
		}{purpose, otp.MAC(key, append(boundTo(engine.Scope(caller), purpose, "fingerprint"), code)...)}}
	}
	op := operation(s.engine.ServerKeys[0])
	verified, err := engine.ExecuteWithReplay(ctx, s.engine, caller, op, func() (*OTP, error) {
		return s.verifyOTP(ctx, caller, op, purpose, code)
	})
	if api.CodeOf(err) == api.IdempotencyKeyReused {
		if done := engine.ReplayByOlderKeys[OTP](ctx, s.engine, caller, operation); done != nil {
			return done, nil
		}
		// A used idempotency key must not reveal whether a code is right without counting a wrong
		// one.
		if _, wrong := s.checkCode(ctx, caller, purpose, code); wrong != nil {
			return nil, wrong
		}
	}
	return verified, err
}

// verifyOTP runs VerifyOTP for a call that is not a replay.
func (s *Service) verifyOTP(ctx context.Context, caller api.Caller, op engine.Operation, purpose Purpose, code string) (*OTP, error) {
	codeID, err := s.checkCode(ctx, caller, purpose, code)
	if err != nil {
		return nil, err
	}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*OTP, error) {
		found, err := s.currentCode(tx, purpose, codeID)
		if err != nil {
			return nil, err
		}
		if found == nil {
			return nil, api.Errorf(api.OTPExpired, "code", "A newer code was sent a moment ago. Enter that one.")
		}
		if found.Value.ValidUntil == nil {
			found.Value.ValidUntil = after(tx.Now, otpValidFor)
			if err := otps.Replace(tx, found); err != nil {
				return nil, fmt.Errorf("payout: verify code: %w", err)
			}
		}
		m, err := s.internal.config.Accounts.Merchant(tx, caller.Merchant)
		if err != nil {
			return nil, fmt.Errorf("payout: merchant of a code: %w", err)
		}
		return &OTP{
			Object: "otp", Purpose: purpose, Status: "verified",
			Phone: phone.Mask(m.Phone), ExpiresAt: *found.Value.ValidUntil,
		}, nil
	})
}

// checkCode compares a code, and returns its id. It counts a wrong one in the transaction of the
// comparison. So the service compares at most five of many concurrent guesses, and the count
// stays although the request is refused.
func (s *Service) checkCode(ctx context.Context, caller api.Caller, purpose Purpose, code string) (codeID string, err error) {
	if s.engine.Host != nil {
		return "", fmt.Errorf("payout: %w", api.ErrSecretInTx)
	}
	var refusal *api.Error
	err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		codeID, refusal = "", nil
		found, err := otps.Get(tx, engine.Scope(caller), string(purpose))
		if errors.Is(err, storage.ErrNotFound) {
			refusal = api.Errorf(api.OTPInvalid, "code", "No code was requested. Request one with POST /v1/otp/request.")
			return nil
		}
		if err != nil {
			return fmt.Errorf("payout: read code: %w", err)
		}
		o := &found.Value
		expired, err := s.expired(tx, o)
		if err != nil {
			return err
		}
		var counted bool
		counted, refusal = o.Check(tx.Now, expired, s.engine.ServerKeys, code, boundTo(engine.Scope(caller), purpose, o.Code)...)
		if codeID = o.Code; !counted {
			return nil
		}
		return otps.Replace(tx, found)
	})
	if err != nil {
		return "", err
	}
	if refusal != nil {
		return "", refusal
	}
	return codeID, nil
}

// currentCode reads the code again in the transaction that relies on it. It returns nil if a
// newer code has replaced the compared one, or if the code is no longer valid.
func (s *Service) currentCode(tx *engine.Tx, purpose Purpose, codeID string) (*storage.Object[otpRecord], error) {
	found, err := otps.Get(tx, engine.Scope(tx.Caller), string(purpose))
	if err != nil {
		return nil, fmt.Errorf("payout: read code: %w", err)
	}
	o := &found.Value
	expired, err := s.expired(tx, o)
	if err != nil || expired || o.Code != codeID || o.Exhausted(tx.Now) {
		return nil, err
	}
	return found, nil
}

// verifiedCode returns the merchant's code, for a payout inside the host's transaction. A code
// cannot be entered there, because a rollback would lose the count of the guess. The payout
// relies on a code verified before.
func (s *Service) verifiedCode(tx *engine.Tx) (*storage.Object[otpRecord], error) {
	found, err := engine.OrNil(otps.Get(tx, engine.Scope(tx.Caller), string(ForPayout)))
	if found == nil || err != nil {
		return nil, err
	}
	expired, err := s.expired(tx, &found.Value)
	if err != nil || expired || found.Value.Exhausted(tx.Now) {
		return nil, err
	}
	return found, nil
}

// requireOTP refuses a payout unless the compared code is verified.
func (s *Service) requireOTP(tx *engine.Tx, codeID string) error {
	var found *storage.Object[otpRecord]
	var err error
	if s.engine.Host != nil {
		found, err = s.verifiedCode(tx)
	} else {
		found, err = s.currentCode(tx, ForPayout, codeID)
	}
	if err != nil {
		return err
	}
	if found == nil || found.Value.ValidUntil == nil {
		return errNotVerified()
	}
	if !s.internal.config.SingleUse {
		return nil
	}
	found.Value.Used = true
	return otps.Replace(tx, found)
}

// expired reports whether a code can be neither verified nor used any more. That includes a code of a
// merchant who has another phone by now: the old one may be in the hands of a thief.
func (s *Service) expired(tx *engine.Tx, o *otpRecord) (bool, error) {
	if o.expired(tx.Now) || len(o.Phone) == 0 {
		return o.expired(tx.Now), nil
	}
	m, err := s.internal.config.Accounts.Merchant(tx, tx.Caller.Merchant)
	if err != nil {
		return false, fmt.Errorf("payout: merchant of a code: %w", err)
	}
	for _, key := range s.engine.ServerKeys {
		if hmac.Equal(o.Phone, o.phoneMAC(key, engine.Scope(tx.Caller), m.Phone)) {
			return false, nil
		}
	}
	return true, nil
}

// expired reports whether the time of a code is over, or a payout has used it.
func (o *otpRecord) expired(now time.Time) bool {
	if o.Used {
		return true
	}
	if o.ValidUntil != nil {
		return !now.Before(o.ValidUntil.Time)
	}
	return !now.Before(o.VerifyBy.Time)
}

// phoneMAC authenticates the number that got the code.
func (o *otpRecord) phoneMAC(key []byte, scope storage.Scope, number string) []byte {
	return otp.MAC(key, append(boundTo(scope, "phone", o.Code), number)...)
}

// boundTo is what a code is for: a merchant, a mode and a purpose.
func boundTo(scope storage.Scope, purpose Purpose, code string) []string {
	return []string{"otp", scope.Merchant, strconv.FormatBool(scope.Live), string(purpose), code}
}
