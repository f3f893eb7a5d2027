package subscribing

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/subscription"
)

func (s *Service) Hosted(ctx context.Context, token string) (*subscription.Hosted, error) {
	var h *subscription.Hosted
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		o, err := subscriptions.Find(tx, "token", storage.Scope{}, token)
		if o, err = engine.OrMissing(o, err, "subscription"); err != nil {
			return err
		}
		s.fillDerived(&o.Value)
		r := &o.Value
		h = &subscription.Hosted{
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
			h.PhoneChange = &subscription.PhoneChange{PhoneNumber: phone.Mask(c.Number), ExpiresAt: c.ExpiresAt}
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
func (s *Service) nextInvoice(r *record) (*subscription.NextInvoice, error) {
	if r.Status == subscription.Cancelled || r.Status == subscription.Paused || r.CancelAtPeriodEnd {
		return nil, nil
	}
	next := r.nextPeriod()
	priced, err := s.config.Invoices.PriceSubscription(next.price())
	if err != nil {
		return nil, err
	}
	return &subscription.NextInvoice{At: next.CurrentPeriodStart, Total: priced.Total}, nil
}
