package payment

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/provider"
)

// ConfirmParams carry the code that a payer got by phone.
type ConfirmParams struct {
	Code string `json:"-" param:"code,required"` // at most 100 characters
}

// Confirm passes on a code that the payer got by phone, such as a voucher code, and returns the
// payment as the charger's answer leaves it. After a wrong code the payment is processing, and asks
// again. With an idempotency key it may be repeated safely; a replay does not look at the code. A
// repetition of a call that did not return, but whose code has ended the payment, returns the payment.
//
// Refusals: parameter_missing, parameter_invalid, resource_missing; payment_not_confirmable if no
// code is asked for.
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
		err := s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
			o, err := get(tx, engine.Scope(caller), id)
			if err != nil {
				return err
			}
			r := &o.Value
			if _, ok := s.charger(caller.Live).(provider.ChargeConfirmer); !ok || r.NextAction == nil || r.NextAction.Type != EnterCode {
				if key := caller.IdempotencyKey; key != "" && r.Phoned != nil && r.Phoned.CodeKey == key {
					return nil
				}
				return api.Errorf(api.PaymentNotConfirmable, "", "This payment asks for no code.")
			}
			if r.Phoned.Code, err = s.seal(p.Code); err != nil {
				return err
			}
			r.Phoned.CodeKey = caller.IdempotencyKey
			r.Due = api.AtOrNil(tx.Now)
			return s.write(tx, o)
		})
		if err != nil {
			return nil, err
		}
		if err := s.engine.Runner.RunNow(context.WithoutCancel(ctx), payments.Kind(), engine.Scope(caller), id); err != nil {
			return nil, err
		}
		return s.Get(ctx, caller, id)
	})
}

// seal encrypts a payer's code for the time until the worker passes it on, so that the database
// does not show it.
func (s *Service) seal(code string) ([]byte, error) {
	sealer, err := codeCipher(s.config.ServerKeys[0])
	if err != nil {
		return nil, err
	}
	return sealer.Seal(nil, nil, []byte(code), nil), nil
}

// open decrypts what seal has encrypted. It returns "" if no key fits, as after a change of keys.
// The payer is then asked again.
func (s *Service) open(sealed []byte) (string, error) {
	for _, key := range s.config.ServerKeys {
		sealer, err := codeCipher(key)
		if err != nil {
			return "", err
		}
		if code, err := sealer.Open(nil, nil, sealed, nil); err == nil {
			return string(code), nil
		}
	}
	return "", nil
}

func codeCipher(serverKey []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, serverKey, nil, "payments: payer's code", 32)
	if err != nil {
		return nil, fmt.Errorf("payment: key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("payment: cipher: %w", err)
	}
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("payment: cipher: %w", err)
	}
	return sealer, nil
}
