// Package disbursement sends a merchant's money out without a one-time code, for
// servers: to the same destinations as a payout, and to a consumer whose QR code
// was scanned.
//
// It owns the calls. What a disbursement is, and what becomes of it, it shares
// with payouts: see [payout.Transfer].
package disbursement

import (
	"context"
	"errors"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
)

// Service makes disbursements. It is safe for concurrent use.
type Service struct {
	engine   *engine.Engine
	outgoing *payout.Outgoing
	codes    *qrcode.Service
	// Events records what happens to batches. It is set before the first one is made.
	Events *event.Service
}

// New returns the service.
func New(e *engine.Engine, outgoing *payout.Outgoing, codes *qrcode.Service) *Service {
	return &Service{engine: e, outgoing: outgoing, codes: codes}
}

// CreateParams describe a disbursement.
type CreateParams struct {
	// Amount is in GHS.
	Amount      decimal.Decimal          `json:"amount"`
	Currency    string                   `json:"currency,omitempty"` // GHS when empty
	Destination payout.DestinationParams `json:"destination"`
	Description string                   `json:"description,omitempty"` // at most 500 characters
	Reference   string                   `json:"reference,omitempty"`   // at most 100 characters
	Metadata    api.Metadata             `json:"metadata,omitempty"`
}

// Create sends money out. A disbursement to a wallet or float is completed when
// it returns; any other is pending, its amount and fee reserved, until the rail
// has carried it. With an idempotency key it may be repeated safely.
//
// Refusals: those of [payout.Service.Create] but for one-time codes and the daily
// limit.
func (s *Service) Create(ctx context.Context, caller api.Caller, p CreateParams) (*payout.Transfer, error) {
	return s.create(ctx, caller, p, nil)
}

// create is Create with what is to be written in the same transaction; nil for
// nothing. It is not written when the call is a repetition.
func (s *Service) create(ctx context.Context, caller api.Caller, p CreateParams, also func(*engine.Tx, *payout.Transfer) error) (*payout.Transfer, error) {
	if err := s.outgoing.CheckSize(payout.Disbursements, p.Amount); err != nil {
		return nil, err
	}
	call := engine.Call{Name: "disbursement.create", Params: p}
	prepared, err := s.prepare(caller.Live, &p)
	create := func() (*payout.Transfer, error) {
		if err != nil {
			return nil, err
		}
		if err := s.outgoing.Ask(ctx, caller, prepared); err != nil {
			return nil, err
		}
		return engine.Do(ctx, s.engine, caller, call, func(tx *engine.Tx) (*payout.Transfer, error) {
			recipient, err := prepared.RecipientTx(tx, caller.Live)
			if err != nil {
				return nil, err
			}
			made, err := s.outgoing.CreateTx(tx, prepared, recipient)
			if err == nil && also != nil {
				err = also(tx, made)
			}
			return made, err
		})
	}
	if err == nil && !prepared.External() {
		return create()
	}
	// A repetition is answered though limits, banks or the rail have changed since,
	// and the rail is not asked again.
	return engine.Once(ctx, s.engine, caller, call, create)
}

func (s *Service) prepare(live bool, p *CreateParams) (*payout.Prepared, error) {
	return s.outgoing.Prepare(live, payout.Disbursements, payout.Draft{
		Amount: p.Amount, Currency: p.Currency, Destination: p.Destination,
		Description: p.Description, Reference: &p.Reference, Metadata: p.Metadata,
	})
}

// QRParams describe a disbursement to a consumer whose code was scanned.
type QRParams struct {
	// Payload is the text of the consumer's QR code.
	Payload string `json:"qr_payload"`
	// Amount is in GHS and goes before the code's; nil takes the code's.
	Amount      *decimal.Decimal `json:"amount,omitempty"`
	Currency    string           `json:"currency,omitempty"`
	Description string           `json:"description,omitempty"`
	Reference   string           `json:"reference,omitempty"`
	Metadata    api.Metadata     `json:"metadata,omitempty"`
}

// CreateQR pays the consumer whose code was scanned, at once. The code's use is
// counted in the same transaction.
//
// Refusals: invalid_qr, invalid_consumer_qr, qr_inactive, qr_expired,
// qr_limit_reached, amount_required, amount_too_small, amount_too_large,
// account_not_found, wallet_not_active, insufficient_balance.
func (s *Service) CreateQR(ctx context.Context, caller api.Caller, p QRParams) (*payout.Transfer, error) {
	id, err := s.codes.Scan(caller.Live, p.Payload)
	if err != nil {
		return nil, err
	}
	draft := payout.Draft{
		Currency: p.Currency, Scanned: true,
		Description: p.Description, Reference: &p.Reference, Metadata: p.Metadata,
	}
	if p.Amount != nil {
		draft.Amount = *p.Amount
		if _, err := s.outgoing.Prepare(caller.Live, payout.Disbursements, draft); err != nil {
			return nil, err
		}
	}
	call := engine.Call{Name: "disbursement.create_qr", Params: p}
	return engine.Do(ctx, s.engine, caller, call, func(tx *engine.Tx) (*payout.Transfer, error) {
		shown, err := qrcode.UseTx(tx, id)
		if err != nil {
			return nil, err
		}
		draft := draft
		if p.Amount == nil {
			if shown.Amount == nil {
				return nil, api.Errorf(api.AmountRequired, "amount", "This QR code has no fixed amount. Give the amount in GHS.")
			}
			draft.Amount = decimal.New(*shown.Amount, -2)
		}
		prepared, err := s.outgoing.Prepare(caller.Live, payout.Disbursements, draft)
		if err != nil {
			return nil, err
		}
		recipient, err := account.RecipientTx(tx, caller.Live, account.WalletRef{AccountID: shown.Account})
		if err != nil {
			return nil, named("qr_payload", err)
		}
		return s.outgoing.CreateTx(tx, prepared, recipient)
	})
}

// named names the parameter that the recipient followed from in a refusal.
func named(param string, err error) error {
	var refusal *api.Error
	if !errors.As(err, &refusal) {
		return err
	}
	ofCode := *refusal
	ofCode.Param = param
	return &ofCode
}

// Get returns one disbursement.
func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*payout.Transfer, error) {
	return s.outgoing.Get(ctx, caller, payout.Disbursements, id)
}

// Statuses are the statuses of disbursements, for filters: those of payouts but
// succeeded, in whose place a disbursement is completed.
func Statuses() []payout.Status {
	return slices.DeleteFunc(payout.Statuses(), func(s payout.Status) bool { return s == payout.Succeeded })
}

// List returns disbursements, newest first.
func (s *Service) List(ctx context.Context, caller api.Caller, p payout.ListParams) (*api.List[payout.Transfer], error) {
	return s.outgoing.List(ctx, caller, payout.Disbursements, p)
}

// Cancel takes back a disbursement that the rail has not been told of; else it
// is disbursement_not_cancellable.
func (s *Service) Cancel(ctx context.Context, caller api.Caller, id string) (*payout.Transfer, error) {
	return s.outgoing.Cancel(ctx, caller, payout.Disbursements, id)
}

// Settle plays the rail in test mode; see [payout.Outgoing.Settle].
func (s *Service) Settle(ctx context.Context, caller api.Caller, id string, result payout.Result) (*payout.Transfer, error) {
	return s.outgoing.Settle(ctx, caller, payout.Disbursements, id, result)
}
