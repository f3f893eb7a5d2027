package payout

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
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

// The limits of one-time codes. The specification sets the two lives.
const (
	otpVerifyWithin = 10 * time.Minute
	otpValidFor     = 10 * time.Minute
	otpGuesses      = 5  // wrong ones, of one code
	otpFailures     = 10 // wrong ones, of one day
	otpSends        = 5
	otpSendWindow   = 10 * time.Minute
)

// otp is the record of a merchant's code for a purpose, which is its id. A merchant has one valid
// code for a purpose: a new code replaces the old one.
type otp struct {
	// Code distinguishes one code from the next. MAC is the HMAC of its digits.
	Code       string    `json:"code"`
	MAC        []byte    `json:"mac"`
	VerifyBy   api.Time  `json:"verify_by"`
	ValidUntil *api.Time `json:"valid_until,omitempty"` // set by the verification
	Used       bool      `json:"used,omitempty"`        // by a payout, if SingleUse
	Guesses    int       `json:"guesses,omitempty"`     // wrong ones
	// Sent are the times of the last sends.
	Sent []api.Time `json:"sent"`
	// Failures counts wrong guesses on Day, over all codes.
	Day      string `json:"day,omitempty"`
	Failures int    `json:"failures,omitempty"`
}

var otps = storage.NewCollection[otp]("otps", nil)

// errNotVerified refuses a payout without a valid verified code.
func errNotVerified() *api.Error {
	return api.Errorf(api.OTPVerificationRequired, "otp_code", "A payout needs a one-time code that was verified within the last 10 minutes. Request one with POST /v1/otp/request, verify it with POST /v1/otp/verify, and send it as otp_code.")
}

func errTooManyGuesses(wait time.Duration) *api.Error {
	e := api.Errorf(api.OTPAttemptsExceeded, "code", "There were too many wrong entries. Request a new code.")
	if e.RetryAfter = wait; wait > 0 {
		e.Message = "There were too many wrong entries today. Try again tomorrow."
	}
	return e
}

// RequestOTP sends a new code by SMS to the merchant's registered phone. The new code replaces any
// earlier one, and must be verified within 10 minutes.
//
// Refusals: parameter_missing and parameter_invalid (purpose), rate_limited after
// 5 codes in 10 minutes, otp_attempts_exceeded after 10 wrong entries in a day,
// service_unavailable in live mode without a Texter.
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
		if err := o.locked(tx.Now); err != nil {
			err.Param = ""
			return nil, err
		}
		if err := o.countSend(tx.Now); err != nil {
			return nil, err
		}
		digits := sixDigits()
		o.Code, o.VerifyBy = tx.NewID("otp_"), api.At(tx.Now.Add(otpVerifyWithin))
		o.MAC = otpMAC(s.internal.config.ServerKeys[0], engine.Scope(caller), purpose, o.Code, digits)
		o.ValidUntil, o.Used, o.Guesses = nil, false, 0
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
// minutes. Verifying it again changes nothing.
//
// Refusals: parameter_missing of the purpose, parameter_invalid, otp_invalid, otp_expired,
// otp_attempts_exceeded. A wrong code stays counted, whatever the request's result.
func (s *Service) VerifyOTP(ctx context.Context, caller api.Caller, p OTPParams) (*OTP, error) {
	purpose, code := p.Purpose, p.Code
	if err := purpose.check(); err != nil {
		return nil, err
	}
	if err := checkSixDigits("code", code); err != nil {
		return nil, err
	}
	// The fingerprint holds no secret, but must differ for another code. So it uses the MAC.
	operation := func(key []byte) engine.Operation {
		return engine.Operation{Name: "otp.verify", Params: struct {
			Purpose Purpose `json:"purpose"`
			Code    []byte  `json:"code"`
		}{purpose, otpMAC(key, engine.Scope(caller), purpose, "fingerprint", code)}}
	}
	op := operation(s.internal.config.ServerKeys[0])
	verified, err := engine.ExecuteWithReplay(ctx, s.engine, caller, op, func() (*OTP, error) {
		return s.verifyOTP(ctx, caller, op, purpose, code)
	})
	if api.CodeOf(err) == api.IdempotencyKeyReused {
		// The server's key may have changed since the first call.
		for _, key := range s.internal.config.ServerKeys[1:] {
			if done, _ := engine.Replay[OTP](ctx, s.engine, caller, operation(key)); done != nil {
				return done, nil
			}
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
		if refusal = o.locked(tx.Now); refusal != nil {
			return nil
		}
		switch {
		case o.Guesses >= otpGuesses:
			refusal = errTooManyGuesses(0)
			return nil
		case o.expired(tx.Now):
			refusal = api.Errorf(api.OTPExpired, "code", "The code has expired. Request a new one.")
			return nil
		case s.matchesCode(o, engine.Scope(caller), purpose, code):
			codeID = o.Code
			return nil
		}
		o.Guesses++
		if today := dayOf(tx.Now); o.Day != today {
			o.Day, o.Failures = today, 0
		}
		o.Failures++
		refusal = api.Errorf(api.OTPInvalid, "code", "The code is wrong. %d more tries are left.", otpGuesses-o.Guesses)
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
func (s *Service) currentCode(tx *engine.Tx, purpose Purpose, codeID string) (*storage.Object[otp], error) {
	found, err := otps.Get(tx, engine.Scope(tx.Caller), string(purpose))
	if err != nil {
		return nil, fmt.Errorf("payout: read code: %w", err)
	}
	if o := &found.Value; o.Code != codeID || o.Guesses >= otpGuesses || o.expired(tx.Now) {
		return nil, nil
	}
	return found, nil
}

// verifiedCode returns the merchant's code, for a payout inside the host's transaction. A code
// cannot be entered there, because a rollback would lose the count of the guess. The payout
// relies on a code verified before.
func (s *Service) verifiedCode(tx *engine.Tx) (*storage.Object[otp], error) {
	found, err := otps.Get(tx, engine.Scope(tx.Caller), string(ForPayout))
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("payout: read code: %w", err)
	}
	if o := &found.Value; o.Guesses >= otpGuesses || o.expired(tx.Now) {
		return nil, nil
	}
	return found, nil
}

// requireOTP refuses a payout unless the compared code is verified.
func (s *Service) requireOTP(tx *engine.Tx, codeID string) error {
	var found *storage.Object[otp]
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

// expired reports whether a code can be neither verified nor used any more.
func (o *otp) expired(now time.Time) bool {
	if o.Used {
		return true
	}
	if o.ValidUntil != nil {
		return !now.Before(o.ValidUntil.Time)
	}
	return !now.Before(o.VerifyBy.Time)
}

// locked refuses a purpose for the rest of a day with too many wrong guesses.
func (o *otp) locked(now time.Time) *api.Error {
	if o.Day != dayOf(now) || o.Failures < otpFailures {
		return nil
	}
	tomorrow := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	return errTooManyGuesses(tomorrow.Sub(now))
}

func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// countSend records a send, or refuses it.
func (o *otp) countSend(now time.Time) error {
	var recent []api.Time
	for _, at := range o.Sent {
		if now.Sub(at.Time) < otpSendWindow {
			recent = append(recent, at)
		}
	}
	if len(recent) >= otpSends {
		e := api.Errorf(api.RateLimited, "", "%d codes were sent within 10 minutes. Wait before you request another.", otpSends)
		e.RetryAfter = recent[0].Add(otpSendWindow).Sub(now)
		return e
	}
	o.Sent = append(recent, api.At(now))
	return nil
}

// matchesCode reports whether the digits are a code's, under any of the server's keys.
func (s *Service) matchesCode(o *otp, scope storage.Scope, purpose Purpose, digits string) bool {
	for _, key := range s.internal.config.ServerKeys {
		if hmac.Equal(o.MAC, otpMAC(key, scope, purpose, o.Code, digits)) {
			return true
		}
	}
	return false
}

// otpMAC authenticates a code for one merchant, mode and purpose.
func otpMAC(key []byte, scope storage.Scope, purpose Purpose, id, digits string) []byte {
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "otp\x00%s\x00%t\x00%s\x00%s\x00%s", scope.Merchant, scope.Live, purpose, id, digits)
	return h.Sum(nil)
}

// sixDigits returns a random code.
func sixDigits() string {
	// The error is always nil: crypto/rand never fails.
	n, _ := rand.Int(rand.Reader, big.NewInt(1_000_000))
	return fmt.Sprintf("%06d", n.Int64())
}

// checkSixDigits refuses text that cannot be a code. Such text does not count as a guess.
func checkSixDigits(param, code string) error {
	ok := len(code) == 6
	for i := 0; ok && i < len(code); i++ {
		ok = code[i] >= '0' && code[i] <= '9'
	}
	if !ok {
		return api.Invalid(param, "%s must be a string of six digits.", param)
	}
	return nil
}
