package transfer

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/otp"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
)

// Payouts implements [payout.Service].
type Payouts struct{ transfers }

var _ payout.Service = (*Payouts)(nil)

// Payouts returns the payouts of the service.
func (s *Service) Payouts() *Payouts { return &Payouts{transfers{s, Payout}} }

func (s *Payouts) Create(ctx context.Context, caller api.Caller, p payout.CreateParams) (*payout.Transfer, error) {
	if p.OTPCode != "" {
		if err := otp.CheckDigits("otp_code", p.OTPCode); err != nil {
			return nil, err
		}
	}
	if err := s.checkDigits(Payout, p.Amount); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "payout.create", Params: p}
	return engine.ExecuteWithReplay(ctx, s.engine, caller, op, func() (*payout.Transfer, error) {
		return s.create(ctx, caller, op, p)
	})
}

// create runs Create for a call that is not a replay.
func (s *Payouts) create(ctx context.Context, caller api.Caller, op engine.Operation, p payout.CreateParams) (*payout.Transfer, error) {
	prepared, err := s.prepare(caller.Live, Payout, p, nil)
	if err != nil {
		return nil, err
	}
	// Only a caller with a valid code may learn whether the recipient exists. So the transaction
	// checks the code first.
	var codeID string
	switch {
	case s.engine.Host != nil:
		if p.OTPCode != "" {
			return nil, fmt.Errorf("payout: %w", api.ErrSecretInTx)
		}
	case p.OTPCode == "":
		return nil, errNotVerified()
	default:
		codeID, err = s.checkCode(ctx, caller, payout.ForPayout, p.OTPCode)
	}
	if api.IsRefusal(err) {
		return nil, errNotVerified().WithCause(err)
	}
	if err != nil {
		return nil, err
	}
	if err := s.verifyDestination(ctx, caller, prepared); err != nil {
		return nil, err
	}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*payout.Transfer, error) {
		if err := s.requireOTP(tx, codeID); err != nil {
			return nil, err
		}
		var recipient *party.Recipient
		if recipient, err = prepared.recipient(tx); err != nil {
			return nil, err
		}
		return s.make(tx, prepared, recipient)
	})
}

func (s *Payouts) ListBanks(context.Context, api.Caller) (*api.List[provider.Bank], error) {
	return api.NewList("/v1/lookup/banks", s.config.Banks.Banks(), false), nil
}
