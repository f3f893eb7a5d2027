// Package scanning makes, shows and charges QR codes: it implements [qrcode.Service].
//
// It owns merchants' QR codes ([qrcode.QRCode]): their life cycle, their images, and their payment from a
// consumer's wallet or a phone. It owns consumers' QR codes ([qrcode.ConsumerCode]): it issues them, and
// finds the consumer of a payload. Package collect stores the payments.
package scanning

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
)

// Service implements [qrcode.Service].
type Service struct {
	engine   *engine.Engine
	accounts *party.Service
	payments *collect.Service
	events   *recording.Service
	codec    qrcode.ConsumerCodec
}

// Config is what the service works with.
type Config struct {
	Accounts *party.Service
	Payments *collect.Service
	Events   *recording.Service
	// Codec reads and writes consumers' payloads.
	Codec qrcode.ConsumerCodec
}

var _ qrcode.Service = (*Service)(nil)

// New returns the service.
func New(e *engine.Engine, c Config) *Service {
	return &Service{engine: e, accounts: c.Accounts, payments: c.Payments, events: c.Events, codec: c.Codec}
}

func checkCreate(p *qrcode.CreateParams) error {
	if p.Type == "" {
		p.Type = qrcode.Static
	}
	if err := checkType(p.Type); err != nil {
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
func checkLimit(limit **int64, t qrcode.Type) error {
	switch {
	case *limit == nil && t == qrcode.Dynamic:
		once := int64(1)
		*limit = &once
	case *limit == nil:
	case t == qrcode.Static:
		return api.Invalid("usage_limit", "A static QR code has no usage limit. Leave usage_limit out, or make the code dynamic.")
	case **limit < 1:
		return api.Invalid("usage_limit", "usage_limit must be an integer of at least 1.")
	}
	return nil
}

func (s *Service) Create(ctx context.Context, caller api.Caller, p qrcode.CreateParams) (*qrcode.QRCode, error) {
	if err := checkCreate(&p); err != nil {
		return nil, err
	}
	return engine.Execute(ctx, s.engine, caller, engine.Operation{Name: "qr_code.create", Params: p}, func(tx *engine.Tx) (*qrcode.QRCode, error) {
		if !p.ExpiresAt.IsZero() {
			if err := check.Ahead("expires_at", p.ExpiresAt, tx.Now); err != nil {
				return nil, err
			}
		}
		c := qrcode.QRCode{
			ID: tx.NewID("qr_"), Object: "qr_code", Type: p.Type, Amount: p.Amount, Currency: api.Currency,
			Name: p.Name, Description: p.Description, Reference: p.Reference,
			UsageLimit: p.UsageLimit, Active: true, ExpiresAt: api.AtOrNil(p.ExpiresAt),
			Livemode: caller.Live, Metadata: p.Metadata, Created: tx.Now.Unix(),
		}
		s.setURL(&c)
		if _, err := qrCodes.Insert(tx, engine.Scope(caller), c.ID, c); err != nil {
			return nil, fmt.Errorf("qrcode: create: %w", err)
		}
		if err := s.events.Append(tx, &c, event.QRCodeCreated); err != nil {
			return nil, err
		}
		return &c, nil
	})
}

func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*qrcode.QRCode, error) {
	return s.listing().Get(ctx, s.engine, caller, id)
}

// GetJSON writes the JSON of what Get returns; see package httpapi.
func (s *Service) GetJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return s.listing().GetJSON(ctx, s.engine, caller, id, w)
}

// listing reads codes.
func (s *Service) listing() engine.Listing[qrcode.QRCode, qrcode.QRCode] {
	return engine.Listing[qrcode.QRCode, qrcode.QRCode]{
		Collection: qrCodes, Noun: "qr_code", URL: "/v1/qr_codes",
		Show: func(c *qrcode.QRCode) qrcode.QRCode {
			s.setURL(c)
			return *c
		},
	}
}

func (s *Service) List(ctx context.Context, caller api.Caller, p qrcode.ListParams) (*api.List[qrcode.QRCode], error) {
	q, err := query(&p, caller)
	if err != nil {
		return nil, err
	}
	return s.listing().List(ctx, s.engine, q, p.Page)
}

// ListJSON writes the JSON of what List returns; see package httpapi.
func (s *Service) ListJSON(ctx context.Context, caller api.Caller, p qrcode.ListParams, w io.Writer) error {
	q, err := query(&p, caller)
	if err != nil {
		return err
	}
	return s.listing().ListJSON(ctx, s.engine, q, p.Page, w)
}

func query(p *qrcode.ListParams, caller api.Caller) (storage.Query, error) {
	if p.Type != "" {
		if err := checkType(p.Type); err != nil {
			return storage.Query{}, err
		}
	}
	return engine.Query(caller, *p), nil
}

func checkUpdate(p *qrcode.UpdateParams) error {
	return cmp.Or(
		check.OptionalText("name", p.Name, api.MaxName),
		check.OptionalText("description", p.Description, api.MaxText),
		check.Metadata(p.Metadata, true),
	)
}

func (s *Service) Update(ctx context.Context, caller api.Caller, id string, p qrcode.UpdateParams) (*qrcode.QRCode, error) {
	if err := checkUpdate(&p); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "qr_code.update", Params: struct {
		ID string `json:"id"`
		qrcode.UpdateParams
	}{id, p}}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*qrcode.QRCode, error) {
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
func (s *Service) replace(tx *engine.Tx, o *storage.Object[qrcode.QRCode]) error {
	if err := qrCodes.Replace(tx, o); err != nil {
		return fmt.Errorf("qrcode: update: %w", err)
	}
	return s.events.Append(tx, &o.Value, event.QRCodeUpdated)
}

func (s *Service) Delete(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error) {
	op := engine.Operation{Name: "qr_code.delete", Params: id}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*api.Deleted, error) {
		o, err := s.getCode(tx, engine.Scope(caller), id)
		if err != nil {
			return nil, err
		}
		if err := engine.Delete(tx, qrCodes, o); err != nil {
			return nil, fmt.Errorf("qrcode: delete: %w", err)
		}
		if err := s.events.Append(tx, &o.Value, event.QRCodeDeleted); err != nil {
			return nil, err
		}
		return &api.Deleted{ID: id, Object: "qr_code", Deleted: true}, nil
	})
}

func (s *Service) ListPayments(ctx context.Context, caller api.Caller, id string, p payment.ListParams) (*api.List[payment.Payment], error) {
	p.QRCode = id
	var list *api.List[payment.Payment]
	err := s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		if _, err := s.getCode(tx, engine.Scope(caller), id); err != nil {
			return err
		}
		var err error
		list, err = s.payments.ListIn(tx, p, "/v1/qr_codes/"+id+"/payments")
		return err
	})
	return list, err
}
