package payment

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/provider"
)

// ConfirmParams carry the code that a payer got by phone.
type ConfirmParams struct {
	Code string `json:"-" param:"code,required"` // at most 100 characters
}

// maxCodes is how many codes are passed on for one payment, so that a stranger cannot guess one.
const maxCodes = 5

// Confirm passes on a code that the payer got by phone, such as a voucher code, and returns the
// payment as the charger's answer leaves it. After a wrong code the payment is processing, and asks
// again, for at most five codes. The code is not stored. With an idempotency key it may be repeated
// safely; a replay does not look at the code. A repetition of a call that did not return, but whose
// code has ended the payment, returns the payment.
//
// Refusals: parameter_missing, parameter_invalid, resource_missing; payment_not_confirmable if no
// code is asked for; otp_attempts_exceeded.
func (s *Service) Confirm(ctx context.Context, caller api.Caller, id string, p ConfirmParams) (*Payment, error) {
	if p.Code == "" {
		return nil, api.Missing("code")
	}
	if err := check.Text("code", p.Code, api.MaxReference); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "payment.confirm", Params: id}
	return engine.RunAndStoreAnswer(ctx, s.engine, caller, op, func() (*Payment, error) {
		if s.engine.Host != nil {
			return nil, fmt.Errorf("payment: confirm: %w", api.ErrNetworkInTx)
		}
		var call *dispatch.Call
		err := s.engine.Update(ctx, caller, func(tx *engine.Tx) (err error) {
			call, err = s.beginConfirm(tx, id, p.Code)
			return err
		})
		if err != nil {
			return nil, err
		}
		if call != nil {
			if err := s.engine.Runner.RunNow(ctx, payments.Kind(), engine.Scope(caller), id, call); err != nil {
				return nil, err
			}
		}
		return s.Get(ctx, caller, id)
	})
}

// beginConfirm counts an attempt with a code, and returns the call that passes the code on; nil if
// the caller's key has ended the payment before.
func (s *Service) beginConfirm(tx *engine.Tx, id, code string) (*dispatch.Call, error) {
	o, err := get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return nil, err
	}
	r, charger := &o.Value, s.charger(tx.Caller.Live)
	if _, confirms := charger.(provider.ChargeConfirmer); !confirms || r.NextAction == nil || r.NextAction.Type != EnterCode {
		if key := tx.Caller.IdempotencyKey; key != "" && r.Phoned != nil && r.Phoned.CodeKey == key {
			return nil, nil
		}
		return nil, api.Errorf(api.PaymentNotConfirmable, "", "This payment asks for no code.")
	}
	if r.Phoned.Codes++; r.Phoned.Codes > maxCodes {
		return nil, api.Errorf(api.OTPAttemptsExceeded, "", "Too many codes were tried for this payment. Start another one.")
	}
	r.Phoned.CodeKey = tx.Caller.IdempotencyKey
	r.CountAttempt(tx.Now)
	r.Due = api.AtOrNil(tx.Now) // newCall leases it
	if err := s.write(tx, o); err != nil {
		return nil, err
	}
	return s.newCall(tx, o, charger, false, code)
}
