package qrcode

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/storage"
)

// ConsumerCode is a code that a consumer shows to receive money.
type ConsumerCode struct {
	ID      string `json:"id"`      // cqr_…
	Object  string `json:"object"`  // always "consumer_qr"
	Payload string `json:"payload"` // the text of the QR code in the consumer's app
}

// consumerCode is the record of a consumer's code.
type consumerCode struct {
	Account string `json:"account"`
	Type    Type   `json:"type"`
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

// IssueConsumerCodeParams describe a new consumer's code.
type IssueConsumerCodeParams struct {
	// Account is the consumer's id.
	Account string
	// Type is Static when empty.
	Type Type
	// Amount is in GHS; nil lets the merchant choose it.
	Amount *decimal.Decimal
	// UsageLimit is for dynamic codes; nil stands for 1.
	UsageLimit *int64
	// ExpiresAt is zero for a code without end.
	ExpiresAt time.Time
	// Inactive makes a code that cannot be used.
	Inactive bool
}

// IssueConsumerCode makes a code for a consumer of the caller's mode, in any status. A code may
// outlive the wallet; its use is then refused. With an idempotency key the call may be repeated
// safely. IssueConsumerCode does not check caller.Merchant. Let only the operator or the consumer's
// own app call it.
//
// Refusals: parameter_invalid, account_not_found.
func (s *Service) IssueConsumerCode(ctx context.Context, caller api.Caller, p IssueConsumerCodeParams) (*ConsumerCode, error) {
	if p.Type == "" {
		p.Type = Static
	}
	if err := p.Type.check(); err != nil {
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
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*ConsumerCode, error) {
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
		return &ConsumerCode{ID: id, Object: "consumer_qr", Payload: text}, nil
	})
}

// Resolved is the part of a consumer that a merchant may see after a scan.
type Resolved struct {
	Object string `json:"object"` // always "qr_resolve"
	Entity string `json:"entity"` // always "consumer"
	// AccountID is masked.
	AccountID string `json:"account_id"`
	// DisplayName is the first name and the initial of the last one.
	DisplayName string `json:"display_name"`
	// Amount is in GHS; nil when the code has none.
	Amount   *api.GHS `json:"amount"`
	Currency string   `json:"currency"`
	Type     Type     `json:"type"`
	// Active is false for a static code that is inactive or has expired. A dynamic one is refused
	// instead.
	Active bool `json:"qr_active"`
}

// Resolve returns the consumer behind a code. It moves no money.
//
// Do not give it the idempotency key of the payout that follows: it stores its answer under the key, so
// the payout would be refused with idempotency_key_reused.
//
// Refusals: invalid_qr, invalid_consumer_qr, qr_limit_reached, qr_inactive, qr_expired (the last
// three for dynamic codes), account_not_found.
func (s *Service) Resolve(ctx context.Context, caller api.Caller, text string) (*Resolved, error) {
	id, err := s.decodePayload(caller.Live, text)
	if err != nil {
		return nil, err
	}
	// The call changes nothing, but a caller that gives a key gets the first answer again.
	op := engine.Operation{Name: "qr_code.resolve", Params: text}
	return engine.ReadAndStoreAnswer(ctx, s.engine, caller, op, func(tx *engine.ReadTx) (*Resolved, error) {
		return s.resolve(tx, caller.Live, id, tx.Now)
	})
}

func (s *Service) resolve(tx storage.ReadTx, live bool, id string, now time.Time) (*Resolved, error) {
	o, err := consumerCodes.Get(tx, storage.Scope{Live: live}, id)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, errNotConsumerCode()
	}
	if err != nil {
		return nil, fmt.Errorf("qrcode: resolve: %w", err)
	}
	c := &o.Value
	refusal := usable(c.UsageLimit, c.UsageCount, c.Active, c.ExpiresAt, now)
	if refusal != nil && c.Type == Dynamic {
		return nil, refusal
	}
	consumer, err := s.accounts.Payer(tx, live, account.WalletRef{AccountID: c.Account})
	if err != nil {
		return nil, err
	}
	r := &Resolved{
		Object: "qr_resolve", Entity: entityConsumer, AccountID: pii.MaskAccount(consumer.ID),
		DisplayName: consumer.DisplayName(), Currency: api.Currency, Type: c.Type, Active: refusal == nil,
	}
	if c.Amount != nil {
		amount := api.FromPesewas(*c.Amount)
		r.Amount = &amount
	}
	return r, nil
}
