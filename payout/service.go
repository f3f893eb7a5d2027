package payout

import (
	"context"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/message"
)

// Config is what the service works with.
type Config struct {
	Outgoing *Outgoing
	Messages *message.Service
	// Keys are the server's secrets. The first authenticates new one-time codes; codes
	// of the others are accepted.
	Keys [][]byte
	// SingleUse makes a one-time code good for one payout, instead of for 10
	// minutes.
	SingleUse bool
}

// Service makes payouts, and the one-time codes they need. It is safe for
// concurrent use.
type Service struct {
	engine    *engine.Engine
	outgoing  *Outgoing
	messages  *message.Service
	keys      [][]byte
	singleUse bool
}

// New returns the service.
func New(e *engine.Engine, c Config) *Service {
	return &Service{engine: e, outgoing: c.Outgoing, messages: c.Messages, keys: c.Keys, singleUse: c.SingleUse}
}

// CreateParams describe a payout.
type CreateParams struct {
	// Amount is in GHS.
	Amount      decimal.Decimal   `json:"amount"`
	Currency    string            `json:"currency,omitempty"` // GHS when empty
	Destination DestinationParams `json:"destination"`
	// OTPCode is a verified one-time code.
	OTPCode     string       `json:"-"`
	Description string       `json:"description,omitempty"` // at most 500 characters
	Metadata    api.Metadata `json:"metadata,omitempty"`
}

// Create sends money out. A payout to a wallet or float is completed when it
// returns; any other is pending, its amount and fee reserved, until the rail has
// carried it. With an idempotency key it may be repeated safely; a repetition
// needs no one-time code.
//
// Refusals: those of a wrong parameter, amount_too_small, amount_too_large,
// invalid_phone_number, invalid_destination, invalid_service_id,
// otp_verification_required; and, only with a verified code, recipient_unavailable,
// service_id_not_found, service_id_not_payable, subagent_not_payable,
// account_not_found, wallet_not_active, daily_limit_exceeded, insufficient_balance;
// and service_unavailable in live mode without a rail.
func (s *Service) Create(ctx context.Context, caller api.Caller, p CreateParams) (*Transfer, error) {
	if p.OTPCode != "" {
		if err := checkSixDigits("otp_code", p.OTPCode); err != nil {
			return nil, err
		}
	}
	if err := s.outgoing.CheckSize(Payouts, p.Amount); err != nil {
		return nil, err
	}
	call := engine.Call{Name: "payout.create", Params: p}
	return engine.Once(ctx, s.engine, caller, call, func() (*Transfer, error) {
		return s.create(ctx, caller, call, p)
	})
}

// create is Create of what is no repetition.
func (s *Service) create(ctx context.Context, caller api.Caller, call engine.Call, p CreateParams) (*Transfer, error) {
	prepared, err := s.outgoing.Prepare(caller.Live, Payouts, Draft{
		Amount: p.Amount, Currency: p.Currency, Destination: p.Destination,
		Description: p.Description, Metadata: p.Metadata,
	})
	if err != nil {
		return nil, err
	}
	// Whether there is such a recipient is told only to one who has the code: in the
	// transaction, after the code.
	var right string
	switch {
	case s.engine.Host != nil:
		if p.OTPCode != "" {
			return nil, fmt.Errorf("payout: %w", engine.ErrHost)
		}
	case p.OTPCode == "":
		return nil, errNotVerified()
	default:
		right, err = s.guess(ctx, caller, ForPayout, p.OTPCode)
	}
	if api.CodeOf(err) != "" {
		return nil, errNotVerified().WithCause(err)
	}
	if err != nil {
		return nil, err
	}
	if err := s.outgoing.Ask(ctx, caller, prepared); err != nil {
		return nil, err
	}
	return engine.Do(ctx, s.engine, caller, call, func(tx *engine.Tx) (*Transfer, error) {
		if err := s.useOTP(tx, right); err != nil {
			return nil, err
		}
		var recipient *account.Recipient
		if recipient, err = prepared.RecipientTx(tx, caller.Live); err != nil {
			return nil, err
		}
		return s.outgoing.CreateTx(tx, prepared, recipient)
	})
}

// Get returns one payout.
func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*Transfer, error) {
	return s.outgoing.Get(ctx, caller, Payouts, id)
}

// List returns payouts, newest first.
func (s *Service) List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Transfer], error) {
	return s.outgoing.List(ctx, caller, Payouts, p)
}

// Cancel takes back a payout that the rail has not been told of; else it is
// payout_not_cancellable.
func (s *Service) Cancel(ctx context.Context, caller api.Caller, id string) (*Transfer, error) {
	return s.outgoing.Cancel(ctx, caller, Payouts, id)
}

// Settle plays the rail in test mode; see [Outgoing.Settle].
func (s *Service) Settle(ctx context.Context, caller api.Caller, id string, result Result) (*Transfer, error) {
	return s.outgoing.Settle(ctx, caller, Payouts, id, result)
}

// Notify books what a rail's callback reports of a payout or disbursement; see
// [Outgoing.Notify].
func (s *Service) Notify(ctx context.Context, id string, result Result) error {
	return s.outgoing.Notify(ctx, id, result)
}

// Stuck lists payouts and disbursements of all merchants that have been on their
// way for too long, or that the rail contradicted; see [Outgoing.Stuck].
func (s *Service) Stuck(ctx context.Context) ([]Stuck, error) { return s.outgoing.Stuck(ctx) }

// Resolve takes a payout or disbursement that the rail contradicted off the list of Stuck;
// see [Outgoing.Resolve].
func (s *Service) Resolve(ctx context.Context, id string) error { return s.outgoing.Resolve(ctx, id) }

// Reconcile compares a provider's statement with what was sent; see
// [Outgoing.Reconcile].
func (s *Service) Reconcile(ctx context.Context, rows RowReader, p ReconcileParams) (*Reconciliation, error) {
	return s.outgoing.Reconcile(ctx, rows, p)
}

// Banks lists the banks that can be paid.
func (s *Service) Banks() *api.List[Bank] {
	return api.NewList("/v1/lookup/banks", s.outgoing.config.Banks.Banks(), false)
}
