package qrcode

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

// Service makes, shows and charges QR codes. It is safe for concurrent use.
type Service struct {
	engine   *engine.Engine
	accounts *account.Internal
	payments *payment.Internal
	events   *event.Internal
	codec    ConsumerCodec
}

// Config is what the service works with.
type Config struct {
	Accounts *account.Internal
	Payments *payment.Internal
	Events   *event.Internal
	// Codec reads and writes consumers' payloads.
	Codec ConsumerCodec
}

// New returns the service, and what sibling packages call on it in their transactions.
func New(e *engine.Engine, c Config) (*Service, *Internal) {
	s := &Service{
		engine: e, accounts: c.Accounts, payments: c.Payments, events: c.Events,
		codec: c.Codec,
	}
	return s, &Internal{s}
}

// CreateParams describe a new code.
type CreateParams struct {
	// Type is Static when empty.
	Type Type `json:"type,omitempty" param:",nonempty"`
	// Amount is in pesewas, from 1 to 99,999,999; nil lets the customer enter it.
	Amount      *int64 `json:"amount,omitempty" param:",pesewas"`
	Currency    string `json:"currency,omitempty"`    // GHS when empty
	Name        string `json:"name,omitempty"`        // at most 255 characters
	Description string `json:"description,omitempty"` // at most 500 characters
	Reference   string `json:"reference,omitempty"`   // at most 100 characters
	// UsageLimit is for dynamic codes; nil stands for 1.
	UsageLimit *int64 `json:"usage_limit,omitempty"`
	// ExpiresAt must lie in the future; zero stands for a code without end.
	ExpiresAt time.Time    `json:"expires_at,omitzero"`
	Metadata  api.Metadata `json:"metadata,omitempty"`
}

func (p *CreateParams) check() error {
	if p.Type == "" {
		p.Type = Static
	}
	if err := p.Type.check(); err != nil {
		return err
	}
	if p.Amount != nil {
		if err := check.Pesewas("amount", *p.Amount); err != nil {
			return err
		}
	}
	if err := cmp.Or(
		check.Currency(p.Currency),
		check.Text("name", p.Name, api.MaxName),
		check.Text("description", p.Description, api.MaxText),
		check.Text("reference", p.Reference, api.MaxReference),
	); err != nil {
		return err
	}
	if err := checkLimit(&p.UsageLimit, p.Type); err != nil {
		return err
	}
	return check.Metadata(p.Metadata, false)
}

// checkLimit refuses a usage limit that does not fit the type. It sets the limit of a dynamic
// code without one to 1.
func checkLimit(limit **int64, t Type) error {
	switch {
	case *limit == nil && t == Dynamic:
		once := int64(1)
		*limit = &once
	case *limit == nil:
	case t == Static:
		return api.Invalid("usage_limit", "A static QR code has no usage limit. Leave usage_limit out, or make the code dynamic.")
	case **limit < 1:
		return api.Invalid("usage_limit", "usage_limit must be an integer of at least 1.")
	}
	return nil
}

// Create makes a code. With an idempotency key it may be repeated safely. Refusals:
// parameter_invalid, currency_not_supported.
func (s *Service) Create(ctx context.Context, caller api.Caller, p CreateParams) (*QRCode, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return engine.Execute(ctx, s.engine, caller, engine.Operation{Name: "qr_code.create", Params: p}, func(tx *engine.Tx) (*QRCode, error) {
		if !p.ExpiresAt.IsZero() {
			if err := check.Ahead("expires_at", p.ExpiresAt, tx.Now); err != nil {
				return nil, err
			}
		}
		c := QRCode{
			ID: tx.NewID("qr_"), Object: "qr_code", Type: p.Type, Amount: p.Amount, Currency: api.Currency,
			Name: p.Name, Description: p.Description, Reference: p.Reference,
			UsageLimit: p.UsageLimit, Active: true, ExpiresAt: api.AtOrNil(p.ExpiresAt),
			Livemode: caller.Live, Metadata: p.Metadata, Created: tx.Now.Unix(),
		}
		s.setURL(&c)
		if _, err := codes.Insert(tx, engine.Scope(caller), c.ID, c); err != nil {
			return nil, fmt.Errorf("qrcode: create: %w", err)
		}
		if err := s.events.Record(tx, &c, event.QRCodeCreated); err != nil {
			return nil, err
		}
		return &c, nil
	})
}

// Get returns one code.
func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*QRCode, error) {
	return s.listing().Get(ctx, s.engine, caller, id)
}

// GetJSON writes the JSON of what Get returns; see package httpapi.
func (s *Service) GetJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return s.listing().GetJSON(ctx, s.engine, caller, id, w)
}

// listing reads codes.
func (s *Service) listing() engine.Listing[QRCode, QRCode] {
	return engine.Listing[QRCode, QRCode]{
		Collection: codes, Noun: "qr_code", URL: "/v1/qr_codes",
		Show: func(c *QRCode) QRCode {
			s.setURL(c)
			return *c
		},
	}
}

// ListParams selects codes; zero values select all.
type ListParams struct {
	api.Page
	Type   Type  `param:"type"`
	Active *bool `param:"active"`
	// Reference is the caller's own, exactly.
	Reference string    `param:"reference"`
	Created   api.Times `param:"created"`
}

// List returns codes, newest first.
func (s *Service) List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[QRCode], error) {
	q, err := p.query(caller)
	if err != nil {
		return nil, err
	}
	return s.listing().List(ctx, s.engine, q, p.Page)
}

// ListJSON writes the JSON of what List returns; see package httpapi.
func (s *Service) ListJSON(ctx context.Context, caller api.Caller, p ListParams, w io.Writer) error {
	q, err := p.query(caller)
	if err != nil {
		return err
	}
	return s.listing().ListJSON(ctx, s.engine, q, p.Page, w)
}

func (p *ListParams) query(caller api.Caller) (storage.Query, error) {
	if p.Type != "" {
		if err := p.Type.check(); err != nil {
			return storage.Query{}, err
		}
	}
	return engine.Query(caller, *p), nil
}

// UpdateParams change a code. Nil keeps a field.
type UpdateParams struct {
	Name        *string `json:"name,omitempty" param:",clear"`
	Description *string `json:"description,omitempty" param:",clear"`
	Active      *bool   `json:"active,omitempty"`
	// ExpiresAt must lie in the future; a pointer to the zero time clears it.
	ExpiresAt *time.Time `json:"expires_at,omitempty" param:",clear"`
	// Metadata is merged: a key with nil or "" is dropped. ClearMetadata drops all keys first.
	Metadata      api.Metadata `json:"metadata,omitempty"`
	ClearMetadata bool         `json:"clear_metadata,omitempty" param:"metadata,null"`
}

func (p *UpdateParams) check() error {
	return cmp.Or(
		check.OptionalText("name", p.Name, api.MaxName),
		check.OptionalText("description", p.Description, api.MaxText),
		check.Metadata(p.Metadata, true),
	)
}

// Update changes a code. A dynamic code at its usage limit can be activated, but payments stay
// refused with qr_limit_reached. Refusals: resource_missing, parameter_invalid.
func (s *Service) Update(ctx context.Context, caller api.Caller, id string, p UpdateParams) (*QRCode, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "qr_code.update", Params: struct {
		ID string `json:"id"`
		UpdateParams
	}{id, p}}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*QRCode, error) {
		o, err := s.getCode(tx, engine.Scope(caller), id)
		if err != nil {
			return nil, err
		}
		c := &o.Value
		engine.SetGiven(&c.Name, p.Name)
		engine.SetGiven(&c.Description, p.Description)
		engine.SetGiven(&c.Active, p.Active)
		if p.ExpiresAt != nil {
			if !p.ExpiresAt.IsZero() {
				if err := check.Ahead("expires_at", *p.ExpiresAt, tx.Now); err != nil {
					return nil, err
				}
			}
			c.ExpiresAt = api.AtOrNil(*p.ExpiresAt)
		}
		if err := check.UpdateMetadata(&c.Metadata, p.ClearMetadata, p.Metadata); err != nil {
			return nil, err
		}
		if err := s.replace(tx, o); err != nil {
			return nil, err
		}
		return c, nil
	})
}

// replace writes a changed code and records the change.
func (s *Service) replace(tx *engine.Tx, o *storage.Object[QRCode]) error {
	if err := codes.Replace(tx, o); err != nil {
		return fmt.Errorf("qrcode: update: %w", err)
	}
	return s.events.Record(tx, &o.Value, event.QRCodeUpdated)
}

// Delete removes a code. Its payments stay.
//
// Refusals: resource_missing.
func (s *Service) Delete(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error) {
	op := engine.Operation{Name: "qr_code.delete", Params: id}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*api.Deleted, error) {
		o, err := s.getCode(tx, engine.Scope(caller), id)
		if err != nil {
			return nil, err
		}
		if err := engine.Delete(tx, codes, o); err != nil {
			return nil, fmt.Errorf("qrcode: delete: %w", err)
		}
		if err := s.events.Record(tx, &o.Value, event.QRCodeDeleted); err != nil {
			return nil, err
		}
		return &api.Deleted{ID: id, Object: "qr_code", Deleted: true}, nil
	})
}

// ListPayments lists the payments of a code, newest first.
func (s *Service) ListPayments(ctx context.Context, caller api.Caller, id string, p payment.ListParams) (*api.List[payment.Payment], error) {
	p.QRCode = id
	var list *api.List[payment.Payment]
	err := s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		if _, err := s.getCode(tx, engine.Scope(caller), id); err != nil {
			return err
		}
		var err error
		list, err = s.payments.List(tx, p, "/v1/qr_codes/"+id+"/payments")
		return err
	})
	return list, err
}
