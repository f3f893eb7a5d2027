package payout

import (
	"context"
	"fmt"
	"io"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/otp"
	"github.com/seed-7082ffec/payments/internal/transfer"
	"github.com/seed-7082ffec/payments/provider"
)

// Service makes payouts, and the one-time codes that they need. It is safe for concurrent use.
type Service struct {
	engine   *engine.Engine
	internal *Internal
}

// New returns the service and the methods for siblings. It refuses an inconsistent configuration.
func New(e *engine.Engine, c Config) (*Service, *Internal, error) {
	in, err := newInternal(e, c)
	if err != nil {
		return nil, nil, err
	}
	return &Service{engine: e, internal: in}, in, nil
}

// CreateParams describe a payout.
type CreateParams struct {
	// Amount is in GHS.
	Amount      decimal.Decimal   `json:"amount" param:",required"`
	Currency    string            `json:"currency,omitempty"` // GHS when empty
	Destination DestinationParams `json:"destination" param:",required"`
	// OTPCode is the code that VerifyOTP accepted in the last 10 minutes; required. Inside a host's
	// transaction leave it empty: there the merchant's verified code counts.
	OTPCode     string       `json:"-"`
	Description string       `json:"description,omitempty"` // at most 500 characters
	Metadata    api.Metadata `json:"metadata,omitempty"`
}

// Create sends money out. A payout to a wallet or float is completed when Create returns. For any other
// payout, Create reserves amount and fee, and a worker submits the payout to the rail, often right
// after the commit. The answer always says pending, even if a worker is already submitting the payout.
// Such a payout can no longer be cancelled. With an idempotency key the call may be repeated safely; a
// replay needs no one-time code. A code that is missing, wrong or expired is otp_verification_required.
//
// Refusals: parameter_missing, parameter_invalid, currency_not_supported, amount_too_small,
// amount_too_large, invalid_phone_number, invalid_destination, invalid_service_id,
// otp_verification_required. Only with a verified code: recipient_unavailable, account_name_mismatch,
// service_id_not_found, service_id_not_payable, subagent_not_payable, account_not_found,
// wallet_not_active, daily_limit_exceeded, insufficient_balance. In live mode without a rail, or if
// MatchName is set and the rail does not tell the name: service_unavailable.
func (s *Service) Create(ctx context.Context, caller api.Caller, p CreateParams) (*Transfer, error) {
	if p.OTPCode != "" {
		if err := otp.CheckDigits("otp_code", p.OTPCode); err != nil {
			return nil, err
		}
	}
	if err := s.internal.CheckDigits(transfer.Payout, p.Amount); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "payout.create", Params: p}
	return engine.ExecuteWithReplay(ctx, s.engine, caller, op, func() (*Transfer, error) {
		return s.create(ctx, caller, op, p)
	})
}

// create runs Create for a call that is not a replay.
func (s *Service) create(ctx context.Context, caller api.Caller, op engine.Operation, p CreateParams) (*Transfer, error) {
	prepared, err := s.internal.Prepare(caller.Live, transfer.Payout, p, nil)
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
		codeID, err = s.checkCode(ctx, caller, ForPayout, p.OTPCode)
	}
	if api.IsRefusal(err) {
		return nil, errNotVerified().WithCause(err)
	}
	if err != nil {
		return nil, err
	}
	if err := s.internal.CheckDestination(ctx, caller, prepared); err != nil {
		return nil, err
	}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*Transfer, error) {
		if err := s.requireOTP(tx, codeID); err != nil {
			return nil, err
		}
		var recipient *account.Recipient
		if recipient, err = prepared.Recipient(tx); err != nil {
			return nil, err
		}
		return s.internal.Create(tx, prepared, recipient)
	})
}

// Get returns one payout.
func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*Transfer, error) {
	return s.internal.Get(ctx, caller, transfer.Payout, id)
}

// RecipientNumber returns the whole number to which a payout goes: +233XXXXXXXXX, or the digits of a
// bank account. It is "" for a wallet, and after payments.Config.NumberRetention or an erasure.
func (s *Service) RecipientNumber(ctx context.Context, caller api.Caller, id string) (string, error) {
	return s.internal.RecipientNumber(ctx, caller, transfer.Payout, id)
}

// GetJSON writes the JSON of what Get returns, at less cost; see package payments.
func (s *Service) GetJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return s.internal.GetJSON(ctx, caller, transfer.Payout, id, w)
}

// List returns payouts, newest first.
func (s *Service) List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Transfer], error) {
	return s.internal.List(ctx, caller, transfer.Payout, p)
}

// ListJSON writes the JSON of what List returns, at less cost; see package payments.
func (s *Service) ListJSON(ctx context.Context, caller api.Caller, p ListParams, w io.Writer) error {
	return s.internal.ListJSON(ctx, caller, transfer.Payout, p, w)
}

// Cancel cancels a payout that was not yet submitted to the rail, and releases amount and fee. It
// refuses any other payout with payout_not_cancellable.
func (s *Service) Cancel(ctx context.Context, caller api.Caller, id string) (*Transfer, error) {
	return s.internal.Cancel(ctx, caller, transfer.Payout, id)
}

// ListBanks lists the banks that can receive payouts.
func (s *Service) ListBanks(context.Context, api.Caller) (*api.List[provider.Bank], error) {
	return api.NewList("/v1/lookup/banks", s.internal.config.Banks.Banks(), false), nil
}
