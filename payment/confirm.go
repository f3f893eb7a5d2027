package payment

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// ConfirmParams carry the code that a payer got by phone.
type ConfirmParams struct {
	Code string `json:"-" param:"code,required"` // at most 100 characters
}

// maxCodes is how many codes are passed on for one payment, so that a stranger cannot guess one.
const maxCodes = 5

// Confirm passes on a code that the payer got by phone, such as a voucher code, and returns the
// payment as the charger's answer leaves it. After a wrong code the payment stays processing and
// waits for another code. The payer may try five codes. The code is not stored. With an idempotency
// key it may be repeated safely; a replay does not look at the code. If the first call was lost but
// its code ended the payment, a repeat with the same key returns the payment.
//
// Refusals: parameter_missing, parameter_invalid, resource_missing; payment_not_confirmable if no
// code is asked for; otp_attempts_exceeded.
func (s *Service) Confirm(ctx context.Context, caller api.Caller, id string, p ConfirmParams) (*Payment, error) {
	op := engine.Operation{Name: "payment.confirm", Params: id}
	return confirm(ctx, s, caller, op, payments.Kind(), id, p, s.beginConfirm, s.Get)
}

// ConfirmTopUp is Confirm for a top-up. Call it as the caller that made the
// top-up: to any other it is resource_missing.
func (s *Service) ConfirmTopUp(ctx context.Context, caller api.Caller, id string, p ConfirmParams) (*TopUp, error) {
	op := engine.Operation{Name: "payment.confirm_top_up", Params: id}
	return confirm(ctx, s, caller, op, topUps.Kind(), id, p, topUpOrders{s}.beginConfirm, s.GetTopUp)
}

// confirm passes on a code for a payment or a top-up, and returns it afterwards. begin counts an
// attempt, and returns the call that passes the code on; nil if there is none to make.
func confirm[T any](
	ctx context.Context, s *Service, caller api.Caller, op engine.Operation, kind *storage.Kind, id string, p ConfirmParams,
	begin func(tx *engine.Tx, id, code string) (*dispatch.Call, error),
	get func(context.Context, api.Caller, string) (*T, error),
) (*T, error) {
	if p.Code == "" {
		return nil, api.Missing("code")
	}
	if err := check.Text("code", p.Code, api.MaxReference); err != nil {
		return nil, err
	}
	return engine.RunAndStoreAnswer(ctx, s.engine, caller, op, func() (*T, error) {
		if s.engine.Host != nil {
			return nil, fmt.Errorf("payment: confirm: %w", api.ErrNetworkInTx)
		}
		var call *dispatch.Call
		err := s.engine.Update(ctx, caller, func(tx *engine.Tx) (err error) {
			call, err = begin(tx, id, p.Code)
			return err
		})
		if err != nil {
			return nil, err
		}
		if call != nil {
			if err := s.engine.Runner.RunNow(ctx, kind, engine.Scope(caller), id, call); err != nil {
				return nil, err
			}
		}
		return get(ctx, caller, id)
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
	if r.Phoned == nil {
		return nil, errNoCodeAsked()
	}
	if counted, err := r.Phoned.codes.count(tx, dispatch.ChargerOf(charger, r.Route), r.NextAction); !counted {
		return nil, err
	}
	r.CountAttempt(tx.Now)
	r.Due = api.AtOrNil(tx.Now) // newCall leases it
	if err := s.write(tx, o); err != nil {
		return nil, err
	}
	return s.newCall(tx, o, charger, false, code)
}

// beginConfirm is that of payments for a top-up.
func (s topUpOrders) beginConfirm(tx *engine.Tx, id, code string) (*dispatch.Call, error) {
	o, err := getTopUp(tx, tx.Caller, id)
	if err != nil {
		return nil, err
	}
	r, charger := &o.Value, s.svc.charger(tx.Caller.Live)
	if counted, err := r.codes.count(tx, dispatch.ChargerOf(charger, r.Route), r.NextAction); !counted {
		return nil, err
	}
	r.CountAttempt(tx.Now)
	r.Due = api.AtOrNil(tx.Now) // newCall leases it
	if err := writeTopUp(tx, o); err != nil {
		return nil, err
	}
	return s.newCall(tx, o, charger, false, code)
}

// codes are the codes that were passed on for a charge.
type codes struct {
	// Codes counts them, and CodeKey is the idempotency key of the call that gave the last one.
	Codes   int    `json:"codes,omitempty"`
	CodeKey string `json:"code_key,omitempty"`
}

// count counts a code. It reports false, and no error, if the caller's key has given the last code,
// and none is asked for any more.
func (c *codes) count(tx *engine.Tx, charger provider.Charger, asked *NextAction) (bool, error) {
	key := tx.Caller.IdempotencyKey
	if _, confirms := charger.(provider.ChargeConfirmer); !confirms || asked == nil || asked.Type != EnterCode {
		if key != "" && c.CodeKey == key {
			return false, nil
		}
		return false, errNoCodeAsked()
	}
	if c.Codes++; c.Codes > maxCodes {
		return false, api.Errorf(api.OTPAttemptsExceeded, "", "Too many codes were tried for this payment. Start another one.")
	}
	c.CodeKey = key
	return true, nil
}

func errNoCodeAsked() error {
	return api.Errorf(api.PaymentNotConfirmable, "", "This payment asks for no code.")
}
