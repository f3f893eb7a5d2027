// Package disbursement sends a merchant's money out without a one-time code, for servers. It pays
// the same destinations as a payout, and a consumer whose QR code was scanned.
//
// It owns the calls that make disbursements, and batches with their rows. Package payout owns the
// life of payouts and disbursements alike: see [payout.Transfer].
package disbursement

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/transfer"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
)

// Service makes disbursements. It is safe for concurrent use.
type Service struct {
	engine   *engine.Engine
	accounts *account.Internal
	payouts  *payout.Internal
	codes    *qrcode.Internal
	events   *event.Internal
}

// Internal holds the methods for siblings.
type Internal struct{ svc *Service }

// New returns the service and the methods for siblings.
func New(e *engine.Engine, accounts *account.Internal, payouts *payout.Internal, codes *qrcode.Internal, events *event.Internal) (*Service, *Internal) {
	s := &Service{engine: e, accounts: accounts, payouts: payouts, codes: codes, events: events}
	return s, &Internal{s}
}

// CreateParams describe a disbursement.
type CreateParams struct {
	// Amount is in GHS.
	Amount      decimal.Decimal          `json:"amount" param:",required"`
	Currency    string                   `json:"currency,omitempty"` // GHS when empty
	Destination payout.DestinationParams `json:"destination" param:",required"`
	Description string                   `json:"description,omitempty"` // at most 500 characters
	Reference   string                   `json:"reference,omitempty"`   // at most 100 characters
	Metadata    api.Metadata             `json:"metadata,omitempty"`
}

// Create sends money out. A disbursement to a wallet or float is completed when Create returns.
// For any other disbursement, Create reserves amount and fee, and a worker submits the disbursement
// to the rail, often right after the commit. The answer always says pending, even if a worker is
// already submitting the disbursement. Such a disbursement can no longer be cancelled. With an
// idempotency key the call may be repeated safely.
//
// Refusals: those of [payout.Service.Create] but for one-time codes and the daily
// limit.
func (s *Service) Create(ctx context.Context, caller api.Caller, p CreateParams) (*payout.Transfer, error) {
	return s.createWith(ctx, caller, p, nil)
}

// createWith makes the disbursement and runs then, if not nil, in the same transaction. On a
// replay the effect of then is rolled back, if it ran at all.
func (s *Service) createWith(ctx context.Context, caller api.Caller, p CreateParams, then func(*engine.Tx, *payout.Transfer) error) (*payout.Transfer, error) {
	if err := s.payouts.CheckDigits(transfer.Disbursement, p.Amount); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "disbursement.create", Params: p}
	prepared, prepareErr := s.payouts.Prepare(caller.Live, transfer.Disbursement, p.payoutParams(), &p.Reference)
	run := func() (*payout.Transfer, error) {
		if prepareErr != nil {
			return nil, prepareErr
		}
		if err := s.payouts.CheckDestination(ctx, caller, prepared); err != nil {
			return nil, err
		}
		return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*payout.Transfer, error) {
			recipient, err := prepared.Recipient(tx)
			if err != nil {
				return nil, err
			}
			made, err := s.payouts.Create(tx, prepared, recipient)
			if err == nil && then != nil {
				err = then(tx, made)
			}
			return made, err
		})
	}
	if prepareErr == nil && !prepared.AsksRail() {
		return run() // Execute answers a replay, and nothing is asked before it
	}
	// ExecuteWithReplay looks for the stored answer before it calls run. So a replay is answered
	// though limits, banks or the rail have changed since and Prepare fails now. Nor is the
	// rail called again.
	return engine.ExecuteWithReplay(ctx, s.engine, caller, op, run)
}

// payoutParams returns the request as package payout takes it.
func (p *CreateParams) payoutParams() payout.CreateParams {
	return payout.CreateParams{
		Amount: p.Amount, Currency: p.Currency, Destination: p.Destination,
		Description: p.Description, Metadata: p.Metadata,
	}
}

// CreateQRParams describe a disbursement to a consumer whose code was scanned.
type CreateQRParams struct {
	// Payload is the text of the consumer's QR code.
	Payload string `json:"qr_payload" param:",required"`
	// Amount is in GHS and overrides the code's; nil takes the code's.
	Amount      *decimal.Decimal `json:"amount,omitempty"`
	Currency    string           `json:"currency,omitempty"`    // GHS when empty
	Description string           `json:"description,omitempty"` // at most 500 characters
	Reference   string           `json:"reference,omitempty"`   // at most 100 characters
	Metadata    api.Metadata     `json:"metadata,omitempty"`
}

// CreateQR pays the consumer whose code was scanned, at once. The same transaction counts the use
// of the code.
//
// Refusals: parameter_missing, parameter_invalid, currency_not_supported, invalid_qr, invalid_consumer_qr, qr_inactive, qr_expired,
// qr_limit_reached, amount_required, amount_too_small, amount_too_large,
// account_not_found, wallet_not_active, insufficient_balance.
func (s *Service) CreateQR(ctx context.Context, caller api.Caller, p CreateQRParams) (*payout.Transfer, error) {
	if p.Amount != nil {
		if err := s.payouts.CheckDigits(transfer.Disbursement, *p.Amount); err != nil {
			return nil, err
		}
	}
	params := payout.CreateParams{Currency: p.Currency, Description: p.Description, Metadata: p.Metadata}
	op := engine.Operation{Name: "disbursement.create_qr", Params: p}
	id, err := s.codes.Decode(caller.Live, p.Payload)
	if err == nil && p.Amount != nil {
		params.Amount = *p.Amount
		_, err = s.payouts.PrepareScanned(caller.Live, transfer.Disbursement, params, &p.Reference)
	}
	if err != nil {
		// A replay gets its answer even if limits or the codec have changed since.
		if done, replayErr := engine.Replay[payout.Transfer](ctx, s.engine, caller, op); done != nil || replayErr != nil {
			return done, replayErr
		}
		return nil, err
	}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*payout.Transfer, error) {
		shown, err := s.codes.Redeem(tx, id)
		if err != nil {
			return nil, err
		}
		params := params
		if p.Amount == nil {
			if shown.Amount == nil {
				return nil, api.Errorf(api.AmountRequired, "amount", "This QR code has no fixed amount. Give the amount in GHS.")
			}
			params.Amount = decimal.New(*shown.Amount, -2)
		}
		prepared, err := s.payouts.PrepareScanned(caller.Live, transfer.Disbursement, params, &p.Reference)
		if err != nil {
			return nil, err
		}
		recipient, err := s.accounts.Recipient(tx, caller.Live, account.WalletRef{AccountID: shown.Account})
		if err != nil {
			return nil, withParam("qr_payload", err)
		}
		return s.payouts.Create(tx, prepared, recipient)
	})
}

// withParam sets the parameter of a refusal to the one that named the recipient.
func withParam(param string, err error) error {
	var refusal *api.Error
	if !errors.As(err, &refusal) {
		return err
	}
	copied := *refusal
	copied.Param = param
	return &copied
}

// Get returns one disbursement.
func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*payout.Transfer, error) {
	return s.payouts.Get(ctx, caller, transfer.Disbursement, id)
}

// RecipientNumber is [payout.Service.RecipientNumber] for a disbursement.
func (s *Service) RecipientNumber(ctx context.Context, caller api.Caller, id string) (string, error) {
	return s.payouts.RecipientNumber(ctx, caller, transfer.Disbursement, id)
}

// GetJSON writes the JSON of what Get returns, at less cost; see package payments.
func (s *Service) GetJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return s.payouts.GetJSON(ctx, caller, transfer.Disbursement, id, w)
}

// Statuses are the statuses of disbursements, for filters: those of payouts except succeeded. An
// external disbursement ends in completed instead.
func Statuses() []payout.Status {
	return slices.DeleteFunc(payout.Statuses(), func(s payout.Status) bool { return s == payout.Succeeded })
}

// List returns disbursements, newest first.
func (s *Service) List(ctx context.Context, caller api.Caller, p payout.ListParams) (*api.List[payout.Transfer], error) {
	return s.payouts.List(ctx, caller, transfer.Disbursement, p)
}

// ListJSON writes the JSON of what List returns, at less cost; see package payments.
func (s *Service) ListJSON(ctx context.Context, caller api.Caller, p payout.ListParams, w io.Writer) error {
	return s.payouts.ListJSON(ctx, caller, transfer.Disbursement, p, w)
}

// Cancel cancels a disbursement that was not yet submitted to the rail, and releases amount and fee. It
// refuses any other disbursement with disbursement_not_cancellable.
func (s *Service) Cancel(ctx context.Context, caller api.Caller, id string) (*payout.Transfer, error) {
	return s.payouts.Cancel(ctx, caller, transfer.Disbursement, id)
}
