package transfer

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/otp"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage"
)

// knownPurpose returns the purpose as it is kept. It may be given in any case.
func knownPurpose(p payout.Purpose) (payout.Purpose, error) {
	switch p := payout.Purpose(strings.ToUpper(string(p))); p {
	case "":
		return "", api.Missing("purpose")
	case payout.ForPayout:
		return p, nil
	}
	return "", api.Invalid("purpose", "The only purpose is %s.", payout.ForPayout)
}

// otpValidFor is how long a verified code can be used.
const otpValidFor = 10 * time.Minute

// otpRecord is the record of a merchant's codes for a purpose, which is its id. The code that was sent last
// replaces one that is not verified yet. Verified ones live on beside it.
type otpRecord struct {
	sentCode
	otp.Counts
	// Verified are the codes before the last that can still be used, the newest first.
	Verified []sentCode `json:"verified,omitempty"`
}

// sentCode is a code with its times.
type sentCode struct {
	otp.Code
	VerifyBy   api.Time  `json:"verify_by"`
	ValidUntil *api.Time `json:"valid_until,omitempty"` // set by the verification
	Used       bool      `json:"used,omitempty"`        // by a payout, if SingleUse
	// Phone is the phoneMAC of the number that got the code.
	Phone []byte `json:"phone,omitempty"`
}

var otps = storage.NewCollection[otpRecord]("otps", nil)

// errNotVerified refuses a payout without a valid verified code.
func errNotVerified() *api.Error {
	return api.Errorf(api.OTPVerificationRequired, "otp_code", "A payout needs a one-time code that was verified within the last 10 minutes. Request one with POST /v1/otp/request, verify it with POST /v1/otp/verify, and send it as otp_code.")
}

func (s *Payouts) RequestOTP(ctx context.Context, caller api.Caller, purpose payout.Purpose) (*payout.OTP, error) {
	purpose, err := knownPurpose(purpose)
	if err != nil {
		return nil, err
	}
	if !s.config.Messages.CanText(caller.Live) {
		return nil, api.Errorf(api.Unavailable, "", "One-time codes cannot be sent in live mode at the moment. Try again later, or ask the operator.")
	}
	op := engine.Operation{Name: "otp.request", Params: purpose}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*payout.OTP, error) {
		m, err := s.config.Accounts.Merchant(tx, caller.Merchant)
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
		if err := o.Send(tx.Now, caller.Live, 0); err != nil {
			return nil, err
		}
		o.keepVerified(tx.Now)
		o.sentCode = sentCode{Code: otp.Code{ID: tx.NewID("otp_")}, VerifyBy: api.At(tx.Now.Add(otp.Life))}
		digits := o.Draw(s.engine.ServerKeys[0], boundTo(engine.Scope(caller), purpose, o.ID)...)
		o.Phone = o.phoneMAC(s.engine.ServerKeys[0], engine.Scope(caller), m.Phone)
		if err := otps.Put(tx, found); err != nil {
			return nil, fmt.Errorf("payout: keep code: %w", err)
		}
		text := fmt.Sprintf("%s is your code to confirm a payout. It is valid for 10 minutes. Do not tell it to anybody.", digits)
		if err := s.config.Messages.Text(tx, "", m.Phone, text); err != nil {
			return nil, err
		}
		return &payout.OTP{Object: "otp", Purpose: purpose, Status: "sent", Phone: phone.Mask(m.Phone), ExpiresAt: o.VerifyBy}, nil
	})
}

func (s *Payouts) VerifyOTP(ctx context.Context, caller api.Caller, p payout.OTPParams) (*payout.OTP, error) {
	code := p.Code
	purpose, err := knownPurpose(p.Purpose)
	if err != nil {
		return nil, err
	}
	if err := otp.CheckDigits("code", code); err != nil {
		return nil, err
	}
	// The fingerprint holds no secret, but must differ for another code. So it uses the MAC.
	operation := func(key []byte) engine.Operation {
		return engine.Operation{Name: "otp.verify", Params: struct {
			Purpose payout.Purpose `json:"purpose"`
			Code    []byte         `json:"code"`
		}{purpose, otp.MAC(key, append(boundTo(engine.Scope(caller), purpose, "fingerprint"), code)...)}}
	}
	op := operation(s.engine.ServerKeys[0])
	verified, err := engine.ExecuteWithReplay(ctx, s.engine, caller, op, func() (*payout.OTP, error) {
		return s.verifyOTP(ctx, caller, op, purpose, code)
	})
	if api.CodeOf(err) == api.IdempotencyKeyReused {
		if done := engine.ReplayByOlderKeys[payout.OTP](ctx, s.engine, caller, operation); done != nil {
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
func (s *Payouts) verifyOTP(ctx context.Context, caller api.Caller, op engine.Operation, purpose payout.Purpose, code string) (*payout.OTP, error) {
	codeID, err := s.checkCode(ctx, caller, purpose, code)
	if err != nil {
		return nil, err
	}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*payout.OTP, error) {
		found, code, err := s.currentCode(tx, purpose, codeID)
		if err != nil {
			return nil, err
		}
		if code == nil {
			return nil, api.Errorf(api.OTPExpired, "code", "A newer code was sent a moment ago. Enter that one.")
		}
		if code.ValidUntil == nil {
			code.ValidUntil = after(tx.Now, otpValidFor)
			if err := otps.Replace(tx, found); err != nil {
				return nil, fmt.Errorf("payout: verify code: %w", err)
			}
		}
		m, err := s.config.Accounts.Merchant(tx, caller.Merchant)
		if err != nil {
			return nil, fmt.Errorf("payout: merchant of a code: %w", err)
		}
		return &payout.OTP{
			Object: "otp", Purpose: purpose, Status: "verified",
			Phone: phone.Mask(m.Phone), ExpiresAt: *code.ValidUntil,
		}, nil
	})
}

// checkCode compares a code, and returns its id. It counts a wrong one in the transaction of the
// comparison. So the service compares at most five of many concurrent guesses, and the count
// stays although the request is refused.
func (s *Payouts) checkCode(ctx context.Context, caller api.Caller, purpose payout.Purpose, code string) (codeID string, err error) {
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
		var candidates []otp.Candidate
		for c := range o.codes() {
			expired, err := s.expired(tx, c)
			if err != nil {
				return err
			}
			candidates = append(candidates, otp.Candidate{Code: &c.Code, Expired: expired, About: boundTo(engine.Scope(caller), purpose, c.ID)})
		}
		var right *otp.Code
		var counted bool
		right, counted, refusal = o.Guess(tx.Now, caller.Live, s.engine.ServerKeys, code, candidates)
		if right != nil {
			codeID = right.ID
		}
		if !counted {
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

// currentCode reads the compared code again in the transaction that relies on it. The code is nil if a
// newer one has replaced it, or if it is no longer valid.
func (s *Payouts) currentCode(tx *engine.Tx, purpose payout.Purpose, codeID string) (*storage.Object[otpRecord], *sentCode, error) {
	return s.validCode(tx, purpose, func(c *sentCode) bool { return c.ID == codeID })
}

// verifiedCode returns a verified code of the merchant's, for a payout inside the host's transaction. A code
// cannot be entered there, because a rollback would lose the count of the guess. The payout
// relies on a code verified before.
func (s *Payouts) verifiedCode(tx *engine.Tx) (*storage.Object[otpRecord], *sentCode, error) {
	return s.validCode(tx, payout.ForPayout, func(c *sentCode) bool { return c.ValidUntil != nil })
}

// validCode returns the newest code that is as wanted and valid, with its record; nil for none.
func (s *Payouts) validCode(tx *engine.Tx, purpose payout.Purpose, wanted func(*sentCode) bool) (*storage.Object[otpRecord], *sentCode, error) {
	found, err := engine.OrNil(otps.Get(tx, engine.Scope(tx.Caller), string(purpose)))
	if err != nil {
		return nil, nil, fmt.Errorf("payout: read code: %w", err)
	}
	if found == nil || found.Value.Locked(tx.Now, tx.Caller.Live) != nil {
		return nil, nil, nil
	}
	for c := range found.Value.codes() {
		if !wanted(c) || c.Exhausted() {
			continue
		}
		expired, err := s.expired(tx, c)
		if err != nil {
			return nil, nil, err
		}
		if !expired {
			return found, c, nil
		}
	}
	return nil, nil, nil
}

// requireOTP refuses a payout unless the compared code is verified.
func (s *Payouts) requireOTP(tx *engine.Tx, codeID string) error {
	var found *storage.Object[otpRecord]
	var code *sentCode
	var err error
	if s.engine.Host != nil {
		found, code, err = s.verifiedCode(tx)
	} else {
		found, code, err = s.currentCode(tx, payout.ForPayout, codeID)
	}
	if err != nil {
		return err
	}
	if code == nil || code.ValidUntil == nil {
		return errNotVerified()
	}
	if !s.config.SingleUse {
		return nil
	}
	code.Used = true
	return otps.Replace(tx, found)
}

// expired reports whether a code can be neither verified nor used any more. That includes a code of a
// merchant who has another phone by now: the old one may be in the hands of a thief.
func (s *Payouts) expired(tx *engine.Tx, o *sentCode) (bool, error) {
	if o.expired(tx.Now) {
		return true, nil
	}
	m, err := s.config.Accounts.Merchant(tx, tx.Caller.Merchant)
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

// codes yields the code that was sent last, and then the verified ones before it.
func (r *otpRecord) codes() iter.Seq[*sentCode] {
	return func(yield func(*sentCode) bool) {
		if !yield(&r.sentCode) {
			return
		}
		for i := range r.Verified {
			if !yield(&r.Verified[i]) {
				return
			}
		}
	}
}

// keepVerified keeps the code that was sent last among the verified ones, if it is one, and drops those
// whose time is over.
func (r *otpRecord) keepVerified(now time.Time) {
	var kept []sentCode
	for c := range r.codes() {
		if c.ValidUntil != nil && !c.expired(now) {
			kept = append(kept, *c)
		}
	}
	r.Verified = kept
}

// expired reports whether the time of a code is over, or a payout has used it.
func (o *sentCode) expired(now time.Time) bool {
	if o.Used {
		return true
	}
	if o.ValidUntil != nil {
		return !now.Before(o.ValidUntil.Time)
	}
	return !now.Before(o.VerifyBy.Time)
}

// phoneMAC authenticates the number that got the code.
func (o *sentCode) phoneMAC(key []byte, scope storage.Scope, number string) []byte {
	return otp.MAC(key, append(boundTo(scope, "phone", o.ID), number)...)
}

// boundTo is what a code is for: a merchant, a mode and a purpose.
func boundTo(scope storage.Scope, purpose payout.Purpose, code string) []string {
	return []string{"otp", scope.Merchant, strconv.FormatBool(scope.Live), string(purpose), code}
}
