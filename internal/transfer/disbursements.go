package transfer

import (
	"context"
	"errors"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/payout"
)

// Disbursements implements [disbursement.Service].
type Disbursements struct{ transfers }

var _ disbursement.Service = (*Disbursements)(nil)

// Disbursements returns the disbursements of the service.
func (s *Service) Disbursements() *Disbursements {
	return &Disbursements{transfers{s, Disbursement}}
}

func (s *Disbursements) Create(ctx context.Context, caller api.Caller, p disbursement.CreateParams) (*payout.Transfer, error) {
	return s.createWith(ctx, caller, p, nil)
}

// createWith makes the disbursement and runs then, if not nil, in the same transaction. On a
// replay the effect of then is rolled back, if it ran at all.
func (s *Disbursements) createWith(ctx context.Context, caller api.Caller, p disbursement.CreateParams, then func(*engine.Tx, *payout.Transfer) error) (*payout.Transfer, error) {
	if err := s.checkDigits(Disbursement, p.Amount); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "disbursement.create", Params: p}
	prepared, prepareErr := s.prepare(caller.Live, Disbursement, payoutParams(&p), &p.Reference)
	run := func() (*payout.Transfer, error) {
		if prepareErr != nil {
			return nil, prepareErr
		}
		if err := s.verifyDestination(ctx, caller, prepared); err != nil {
			return nil, err
		}
		return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*payout.Transfer, error) {
			recipient, err := prepared.recipient(tx)
			if err != nil {
				return nil, err
			}
			made, err := s.make(tx, prepared, recipient)
			if err == nil && then != nil {
				err = then(tx, made)
			}
			return made, err
		})
	}
	if prepareErr == nil && !prepared.asksRail() {
		return run() // Execute answers a replay, and nothing is asked before it
	}
	// ExecuteWithReplay looks for the stored answer before it calls run. So a replay is answered
	// though limits, banks or the rail have changed since and prepare fails now. Nor is the
	// rail called again.
	return engine.ExecuteWithReplay(ctx, s.engine, caller, op, run)
}

// payoutParams returns the request as that of a payout, of which a disbursement is a variant.
func payoutParams(p *disbursement.CreateParams) payout.CreateParams {
	return payout.CreateParams{
		Amount: p.Amount, Currency: p.Currency, Destination: p.Destination,
		Description: p.Description, Metadata: p.Metadata,
	}
}

func (s *Disbursements) CreateQR(ctx context.Context, caller api.Caller, p disbursement.CreateQRParams) (*payout.Transfer, error) {
	if p.Amount != nil {
		if err := s.checkDigits(Disbursement, *p.Amount); err != nil {
			return nil, err
		}
	}
	params := payout.CreateParams{Currency: p.Currency, Description: p.Description, Metadata: p.Metadata}
	op := engine.Operation{Name: "disbursement.create_qr", Params: p}
	id, err := s.config.QRCodes.Decode(caller.Live, p.Payload)
	if err == nil && p.Amount != nil {
		params.Amount = *p.Amount
		_, err = s.prepareScanned(caller.Live, Disbursement, params, &p.Reference)
	}
	if err != nil {
		// A replay gets its answer even if limits or the codec have changed since.
		if done, replayErr := engine.Replay[payout.Transfer](ctx, s.engine, caller, op); done != nil || replayErr != nil {
			return done, replayErr
		}
		return nil, err
	}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*payout.Transfer, error) {
		shown, err := s.config.QRCodes.Redeem(tx, id)
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
		prepared, err := s.prepareScanned(caller.Live, Disbursement, params, &p.Reference)
		if err != nil {
			return nil, err
		}
		recipient, err := s.config.Accounts.Recipient(tx, caller.Live, account.WalletRef{AccountID: shown.Account})
		if err != nil {
			return nil, withParam("qr_payload", err)
		}
		return s.make(tx, prepared, recipient)
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
