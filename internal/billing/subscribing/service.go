// Package subscribing keeps and bills subscriptions: it implements [subscription.Service].
//
// It owns subscriptions: their periods, their status, changes with prorations, and when an invoice is
// made or overdue. Package invoicing makes and collects the invoices, and reports their outcomes to this
// package: in the transactions that bring them about, or through a queue. Each period has exactly one invoice:
// the transaction that makes it also moves the subscription to that period.
package subscribing

import (
	"context"
	"fmt"
	"io"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/billing/offering"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/notify/messaging"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/subscription"
)

// Config is what the service works with.
type Config struct {
	Accounts *party.Service
	Catalog  *offering.Service
	Invoices *invoicing.Service
	Payments *collect.Service // counts the codes that are sent to a phone
	Events   *recording.Service
	Messages *messaging.Service
	// DefaultTax is the tax rate, in percent, of plans that are taxable without a rate; nil means
	// no tax.
	DefaultTax *decimal.Decimal
	// KeepPastDue leaves a subscription past_due when one of its invoices becomes uncollectible, because its
	// last charge failed or it was overdue for too long. Otherwise the subscription is cancelled then.
	KeepPastDue bool
	// NoChargeNotice sends no SMS a day before an automatic charge in live mode.
	NoChargeNotice bool
}

// Service implements [subscription.Service].
type Service struct {
	engine *engine.Engine
	config Config
}

var _ subscription.Service = (*Service)(nil)

// New returns the service.
func New(e *engine.Engine, c Config) *Service {
	s := &Service{engine: e, config: c}
	c.Invoices.ApplyOutcomesBy(s.applyAtOnce)
	return s
}

// fillDerived sets the URL, which follows from the current base URL.
func (s *Service) fillDerived(r *record) {
	r.ManageURL = new(s.engine.BaseURL + "/subscription/" + r.Token)
}

func (s *Service) get(tx storage.ReadTx, scope storage.Scope, id string) (*storage.Object[record], error) {
	o, err := engine.GetTx(tx, subscriptions, scope, id, "subscription")
	if err != nil {
		return nil, err
	}
	s.fillDerived(&o.Value)
	return o, nil
}

// write writes a changed subscription, plans what is next, and records its events.
func (s *Service) write(tx *engine.Tx, o *storage.Object[record], types ...event.Type) error {
	s.schedule(tx, &o.Value)
	if err := s.rememberTrial(tx, &o.Value); err != nil {
		return err
	}
	if err := subscriptions.Replace(tx, o); err != nil {
		return fmt.Errorf("subscription: write: %w", err)
	}
	if len(types) == 0 {
		return nil
	}
	return s.config.Events.Append(tx, &o.Value.Subscription, types...)
}

// schedule sets when a worker acts on the subscription again.
func (s *Service) schedule(tx *engine.Tx, r *record) {
	r.NextAt = nil
	if next := s.next(r); next.act != nil {
		due := !next.at.After(tx.Now)
		if due && next.ends && r.AwaitsSince != nil {
			next.at = tx.Now // a time in the past would make awaitCharge take the next look for a late one
		}
		r.NextAt = api.AtOrNil(next.at)
		if due {
			tx.WakeAfterCommit(subscriptions.Kind())
		}
	}
}

func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*subscription.Subscription, error) {
	return s.listing(caller).Get(ctx, s.engine, caller, id)
}

func (s *Service) Phone(ctx context.Context, caller api.Caller, id string) (string, error) {
	o, err := engine.Get(ctx, s.engine, caller, subscriptions, id, "subscription")
	if err != nil {
		return "", err
	}
	return o.Value.Phone, nil
}

// GetJSON writes the JSON of what Get returns; see package httpapi.
func (s *Service) GetJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return s.listing(caller).GetJSON(ctx, s.engine, caller, id, w)
}

// listing returns what a caller sees of subscriptions. It hides manage_url from a caller that may not change
// them, as package recording does in events.
func (s *Service) listing(caller api.Caller) engine.Listing[record, subscription.Subscription] {
	return engine.Listing[record, subscription.Subscription]{
		Collection: subscriptions, Noun: "subscription", URL: "/v1/subscriptions",
		Show: func(r *record) subscription.Subscription {
			if s.fillDerived(r); !caller.Writes("subscriptions") {
				r.ManageURL = nil
			}
			return r.Subscription
		},
	}
}

func (s *Service) List(ctx context.Context, caller api.Caller, p subscription.ListParams) (*api.List[subscription.Subscription], error) {
	return s.listing(caller).List(ctx, s.engine, engine.Query(caller, p), p.Page)
}

// ListJSON writes the JSON of what List returns; see package httpapi.
func (s *Service) ListJSON(ctx context.Context, caller api.Caller, p subscription.ListParams, w io.Writer) error {
	return s.listing(caller).ListJSON(ctx, s.engine, engine.Query(caller, p), p.Page, w)
}

// In returns a copy of the service that works in e, the engine of a host's transaction.
func (s *Service) In(e *engine.Engine) *Service {
	in := *s
	in.engine = e
	return &in
}
