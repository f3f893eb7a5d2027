package subscription

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/storage"
)

// Hosted holds what the customer's page shows.
type Hosted struct {
	Subscription Subscription
	// PlanName, Interval and IntervalCount are those of the plan.
	PlanName      string
	Interval      catalog.Interval
	IntervalCount int64
	// Next is the next invoice of a period; nil if there will be none.
	Next *NextInvoice
	// Final is the total of the final invoice, in pesewas, should the subscription end as it is now; 0 for
	// none.
	Final    int64
	Merchant account.Merchant
	// PhoneChange is a new phone that waits for its code; nil for none.
	PhoneChange *PhoneChange
	// OldestUnpaid is the id of the oldest open invoice; empty for none, or if the subscription is
	// cancelled.
	OldestUnpaid string
	// Caller stands for the merchant, in the calls that the customer's page makes.
	Caller api.Caller
}

// NextInvoice is an invoice that will be made if nothing changes before.
type NextInvoice struct {
	At int64 // Unix seconds
	// Total is in pesewas, after discount and credit.
	Total int64
}

// Hosted finds a subscription by the secret in the URL of its page. An unknown secret is
// resource_missing.
func (s *Service) Hosted(ctx context.Context, token string) (*Hosted, error) {
	var h *Hosted
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		o, err := subscriptions.Find(tx, "token", storage.Scope{}, token)
		if o, err = engine.OrMissing(o, err, "subscription"); err != nil {
			return err
		}
		s.fillDerived(&o.Value)
		r := &o.Value
		h = &Hosted{
			Subscription: r.Subscription, PlanName: r.Terms.Name, Interval: r.Terms.Interval, IntervalCount: r.Terms.Count,
			Caller: api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live},
		}
		for i := range r.Unpaid {
			if u := &r.Unpaid[i]; h.OldestUnpaid == "" && !u.GivenUp && !u.WrittenOff {
				h.OldestUnpaid = u.Invoice
			}
		}
		if h.Next, err = s.nextInvoice(r); err != nil {
			return err
		}
		if h.Final, err = s.finalTotal(r); err != nil {
			return err
		}
		now, err := s.engine.NowTx(tx, h.Caller)
		if err != nil {
			return err
		}
		if c := r.PhoneChange; c.Waits(now) {
			h.PhoneChange = &PhoneChange{PhoneNumber: phone.Mask(c.Number), ExpiresAt: c.ExpiresAt}
		}
		m, err := s.config.Accounts.Merchant(tx, o.Scope.Merchant)
		if err != nil {
			return fmt.Errorf("subscription: merchant: %w", err)
		}
		h.Merchant = *m
		return nil
	})
	return h, err
}

// nextInvoice returns what the next period will cost; nil if none will begin.
func (s *Service) nextInvoice(r *record) (*NextInvoice, error) {
	if r.Status == Cancelled || r.Status == Paused || r.CancelAtPeriodEnd {
		return nil, nil
	}
	next := r.nextPeriod()
	priced, err := s.config.Invoices.PriceSubscription(next.price())
	if err != nil {
		return nil, err
	}
	return &NextInvoice{At: next.CurrentPeriodStart, Total: priced.Total}, nil
}
