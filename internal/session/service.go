// Package session makes checkout sessions and takes their money: it implements [checkout.Service].
//
// It owns sessions: what they cost, their coupon's redemption, their states and their events. Package
// invoicing computes the lines and totals. Package collect takes the money from phones and keeps the
// holds. Package offering counts the redemptions, and package subscribing begins what a session has
// sold.
package session

import (
	"context"
	"fmt"
	"io"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/billing/offering"
	"github.com/seed-7082ffec/payments/internal/billing/subscribing"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/notify/messaging"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

// Config is what the service works with.
type Config struct {
	Accounts *party.Service
	Payments *collect.Service
	Events   *recording.Service
	Messages *messaging.Service
	Catalog  *offering.Service
	Invoices *invoicing.Service
	// Subscriptions begins the subscriptions of ModeSubscription.
	Subscriptions *subscribing.Service
}

// Service implements [checkout.Service].
type Service struct {
	engine *engine.Engine
	config Config
}

var _ checkout.Service = (*Service)(nil)

// New returns the service.
func New(e *engine.Engine, c Config) *Service { return &Service{engine: e, config: c} }

func (s *Service) get(tx storage.ReadTx, scope storage.Scope, id string) (*storage.Object[record], error) {
	o, err := engine.GetTx(tx, sessions, scope, id, "checkout_session")
	if err != nil {
		return nil, err
	}
	s.fillDerived(&o.Value)
	return o, nil
}

// fillDerived sets the address from where the service is reached today, and what the JSON leaves out.
func (s *Service) fillDerived(r *record) {
	r.URL, r.NewCustomer = nil, r.FutureCustomer
	if r.Status == checkout.Open {
		r.URL = new(s.address(r))
	}
}

// address is that of the page, whatever the status.
func (s *Service) address(r *record) string { return s.engine.BaseURL + "/checkout/" + r.Token }

// save writes a changed session, which ends its lease, and records its events.
func (s *Service) save(tx *engine.Tx, o *storage.Object[record], types ...event.Type) error {
	r := &o.Value
	s.fillDerived(r)
	if err := sessions.Replace(tx, o); err != nil {
		return fmt.Errorf("checkout: write: %w", err)
	}
	if len(types) == 0 {
		return nil
	}
	v := r.Session
	v.Lines = engine.ForEvents(v.Lines)
	return s.config.Events.Append(tx, &v, types...)
}

// listing is how sessions are read.
func (s *Service) listing() engine.Listing[record, checkout.Session] {
	return engine.Listing[record, checkout.Session]{
		Collection: sessions, Noun: "checkout_session", URL: "/v1/checkout/sessions",
		Show: func(r *record) checkout.Session {
			s.fillDerived(r)
			return r.Session
		},
	}
}

func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*checkout.Session, error) {
	return s.listing().Get(ctx, s.engine, caller, id)
}

// GetJSON writes the JSON of what Get returns; see package httpapi.
func (s *Service) GetJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return s.listing().GetJSON(ctx, s.engine, caller, id, w)
}

func (s *Service) List(ctx context.Context, caller api.Caller, p checkout.ListParams) (*api.List[checkout.Session], error) {
	return s.listing().List(ctx, s.engine, engine.Query(caller, p), p.Page)
}

// ListJSON writes the JSON of what List returns; see package httpapi.
func (s *Service) ListJSON(ctx context.Context, caller api.Caller, p checkout.ListParams, w io.Writer) error {
	return s.listing().ListJSON(ctx, s.engine, engine.Query(caller, p), p.Page, w)
}

func (s *Service) ListLines(ctx context.Context, caller api.Caller, id string, p api.Page) (*api.List[invoice.Line], error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	v, err := s.Get(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	return engine.SliceOf(v.Lines.URL, "line item", v.Lines.Data, func(l *invoice.Line) string { return l.ID }, p)
}

// In returns a copy of the service that works in e, the engine of a host's transaction.
func (s *Service) In(e *engine.Engine) *Service {
	in := *s
	in.engine = e
	return &in
}
