package collect

import (
	"context"
	"fmt"
	"strconv"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/internal/otp"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
)

// maxCodes bounds the codes that are passed on for one payment, so that a stranger cannot guess one.
const maxCodes = 5

func (s *Service) Confirm(ctx context.Context, caller api.Caller, id string, p payment.ConfirmParams) (*payment.Payment, error) {
	return confirm(ctx, s, caller, "payment.confirm", s.orders(), id, p, listing("").Show, func(r *record) (provider.Charge, *codeAttempts, *payment.NextAction) {
		if r.Phoned == nil {
			return provider.Charge{}, nil, nil
		}
		return r.charge(), &r.Phoned.codeAttempts, r.NextAction
	})
}

func (s *Service) ConfirmTopUp(ctx context.Context, caller api.Caller, id string, p payment.ConfirmParams) (*payment.TopUp, error) {
	return confirm(ctx, s, caller, "payment.confirm_top_up", s.topUps.Orders, id, p, topUpListing.Show, func(r *topUpRecord) (provider.Charge, *codeAttempts, *payment.NextAction) {
		return r.charge(), &r.codeAttempts, r.NextAction
	})
}

// confirm passes on a code for a payment or a top-up, and returns the payment or top-up afterwards. operation names the
// call for its idempotency key. about is as for confirmCall.
func confirm[R, T any](
	ctx context.Context, s *Service, caller api.Caller, operation string, of *orders.Orders[R], id string, p payment.ConfirmParams,
	show func(*R) T, about func(*R) (provider.Charge, *codeAttempts, *payment.NextAction),
) (*T, error) {
	if p.Code == "" {
		return nil, api.Missing("code")
	}
	if err := check.Text("code", p.Code, api.MaxReference); err != nil {
		return nil, err
	}
	op := func(key []byte) engine.Operation { return confirmOperation(key, caller, operation, id, p.Code) }
	newest := op(s.engine.ServerKeys[0])
	confirmed, err := engine.ExecuteWithReplay(ctx, s.engine, caller, newest, func() (*T, error) {
		if s.engine.Host != nil {
			return nil, fmt.Errorf("payment: confirm: %w", api.ErrNetworkInTx)
		}
		var call *orders.Call
		err := s.engine.Update(ctx, caller, func(tx *engine.Tx) (err error) {
			call, err = confirmCall(tx, of, s.Charger(caller.Live), id, p.Code, about)
			return err
		})
		if err != nil {
			return nil, err
		}
		if call != nil {
			if err := s.engine.Runner.RunNow(ctx, of.Kind(), engine.Scope(caller), id, func(ctx context.Context) error { return call.Work(ctx, s.engine, of.Apply) }); err != nil {
				return nil, err
			}
		}
		return engine.ReadAndStoreAnswer(ctx, s.engine, caller, newest, func(tx *engine.ReadTx) (*T, error) {
			o, err := of.Get(tx, caller, id)
			if err != nil {
				return nil, err
			}
			return new(show(&o.Value)), nil
		})
	})
	if api.CodeOf(err) == api.IdempotencyKeyReused {
		if done := engine.ReplayByOlderKeys[T](ctx, s.engine, caller, op); done != nil {
			return done, nil
		}
	}
	return confirmed, err
}

// confirmOperation identifies a code by its MAC under one of the server's keys: an idempotency key
// stores no code, but must not replay the answer to another one.
func confirmOperation(key []byte, caller api.Caller, operation, id, code string) engine.Operation {
	return engine.Operation{Name: operation, Params: struct {
		ID   string `json:"id"`
		Code []byte `json:"code"`
	}{id, otp.MAC(key, operation, caller.Merchant, strconv.FormatBool(caller.Live), id, code)}}
}

// confirmCall counts an attempt with a code, and returns the call that passes the code on. The call is nil if
// an earlier call with the caller's idempotency key passed the last code on, and the charge asks for no code
// any more. about returns the charge, its attempts (nil if it takes no code) and the payer's next action.
func confirmCall[T any](
	tx *engine.Tx, of *orders.Orders[T], charger provider.Charger, id, code string, about func(*T) (provider.Charge, *codeAttempts, *payment.NextAction),
) (*orders.Call, error) {
	o, err := of.Get(tx, tx.Caller, id)
	if err != nil {
		return nil, err
	}
	c, attempts, next := about(&o.Value)
	if attempts == nil {
		return nil, errNoCodeAsked()
	}
	submission := of.Rules.State(&o.Value).Submission
	if counted, err := attempts.count(tx, orders.ChargerOf(charger, submission.Route), next); !counted {
		return nil, err
	}
	submission.CountAttempt(tx.Now)
	submission.Due = api.AtOrNil(tx.Now) // Call leases it
	if err := of.Write(tx, o); err != nil {
		return nil, err
	}
	by := orders.ChargeBy(charger, c)
	confirmer, confirms := charger.(provider.ChargeConfirmer)
	if confirms {
		by.Submit = func(ctx context.Context, order provider.Order) (provider.Result, error) {
			c.Order = order
			return confirmer.ConfirmCharge(ctx, c, code)
		}
	}
	return of.Call(tx, o, by, confirms)
}

// codeAttempts counts the codes that were passed on for a charge.
type codeAttempts struct {
	// Codes is their number, and CodeKey the idempotency key of the call that gave the last one.
	Codes   int    `json:"codes,omitempty"`
	CodeKey string `json:"code_key,omitempty"`
}

// count counts a code. It reports false without an error if a call with the caller's idempotency key gave the
// last code, and the charge asks for no code any more.
func (c *codeAttempts) count(tx *engine.Tx, charger provider.Charger, next *payment.NextAction) (bool, error) {
	key := tx.Caller.IdempotencyKey
	if _, confirms := charger.(provider.ChargeConfirmer); !confirms || next == nil || next.Type != payment.EnterCode {
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
