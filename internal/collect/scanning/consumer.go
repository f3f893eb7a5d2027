package scanning

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
)

// consumerCode is the record of a consumer's code.
type consumerCode struct {
	Account string      `json:"account"`
	Type    qrcode.Type `json:"type"`
	// Amount is in pesewas; nil lets the merchant choose it.
	Amount     *int64    `json:"amount,omitempty"`
	UsageLimit *int64    `json:"usage_limit,omitempty"`
	UsageCount int64     `json:"usage_count"`
	Active     bool      `json:"active"`
	ExpiresAt  *api.Time `json:"expires_at,omitempty"`
	CreatedAt  api.Time  `json:"created_at"`
}

// Consumers' codes belong to the operator, as consumers do.
var consumerCodes = storage.NewCollection[consumerCode]("consumer_qr_codes", nil)

func (s *Service) IssueConsumerCode(ctx context.Context, caller api.Caller, p qrcode.IssueConsumerCodeParams) (*qrcode.ConsumerCode, error) {
	if p.Type == "" {
		p.Type = qrcode.Static
	}
	if err := checkType(p.Type); err != nil {
		return nil, err
	}
	if err := checkLimit(&p.UsageLimit, p.Type); err != nil {
		return nil, err
	}
	c := consumerCode{
		Account: p.Account, Type: p.Type, UsageLimit: p.UsageLimit,
		Active: !p.Inactive, ExpiresAt: api.AtOrNil(p.ExpiresAt),
	}
	if p.Amount != nil {
		amount, err := check.Amount("amount", *p.Amount)
		if err != nil {
			return nil, err
		}
		c.Amount = &amount
	}
	op := engine.Operation{Name: "consumer_qr.issue", Params: p}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*qrcode.ConsumerCode, error) {
		if err := s.accounts.ConsumerExists(tx, caller.Live, p.Account); err != nil {
			return nil, err
		}
		id := tx.NewID("cqr_")
		text, err := s.codec.Encode(caller.Live, id)
		if err != nil {
			return nil, err
		}
		c.CreatedAt = api.At(tx.Now)
		if _, err := consumerCodes.Insert(tx, storage.Scope{Live: caller.Live}, id, c); err != nil {
			return nil, fmt.Errorf("qrcode: issue: %w", err)
		}
		return &qrcode.ConsumerCode{ID: id, Object: "consumer_qr", Payload: text}, nil
	})
}

func (s *Service) Resolve(ctx context.Context, caller api.Caller, text string) (*qrcode.Resolved, error) {
	id, err := s.decodePayload(caller.Live, text)
	if err != nil {
		return nil, err
	}
	// The call changes nothing, but a caller that gives a key gets the first answer again.
	op := engine.Operation{Name: "qr_code.resolve", Params: text}
	return engine.ReadAndStoreAnswer(ctx, s.engine, caller, op, func(tx *engine.ReadTx) (*qrcode.Resolved, error) {
		return s.resolve(tx, caller.Live, id, tx.Now)
	})
}

func (s *Service) resolve(tx storage.ReadTx, live bool, id string, now time.Time) (*qrcode.Resolved, error) {
	o, err := consumerCodes.Get(tx, storage.Scope{Live: live}, id)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, errNotConsumerCode()
	}
	if err != nil {
		return nil, fmt.Errorf("qrcode: resolve: %w", err)
	}
	c := &o.Value
	refusal := usable(c.UsageLimit, c.UsageCount, c.Active, c.ExpiresAt, now)
	if refusal != nil && c.Type == qrcode.Dynamic {
		return nil, refusal
	}
	consumer, err := s.accounts.Payer(tx, live, account.WalletRef{AccountID: c.Account})
	if err != nil {
		return nil, err
	}
	r := &qrcode.Resolved{
		Object: "qr_resolve", Entity: "consumer", AccountID: pii.MaskAccount(consumer.ID),
		DisplayName: consumer.DisplayName(), Currency: api.Currency, Type: c.Type, Active: refusal == nil,
	}
	if c.Amount != nil {
		amount := api.FromPesewas(*c.Amount)
		r.Amount = &amount
	}
	return r, nil
}
