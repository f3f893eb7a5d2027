package subscription

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// runDeparture cancels the subscriptions of a deleted customer, for a claimed departure.
func (s *Service) runDeparture(ctx context.Context, claimed storage.Record) error {
	d, err := s.config.Accounts.Departure(claimed)
	if err != nil {
		return err
	}
	return s.depart(ctx, d)
}

// departAtOnce is runDeparture for the call that deletes the customer, before it answers.
func (s *Service) departAtOnce(ctx context.Context, begun any) error {
	return s.depart(ctx, begun.(account.Departure))
}

// departurePage is how many subscriptions one transaction looks at.
const departurePage = 20

func (s *Service) depart(ctx context.Context, d account.Departure) error {
	after := ""
	return s.engine.UpdateWhile(ctx, d.Caller, func(tx *engine.Tx) (more bool, err error) {
		page, more, err := subscriptions.List(tx, storage.Query{
			Scope: engine.Scope(tx.Caller), Where: engine.Where(nil, "customer", d.Customer), After: after, Limit: departurePage,
		})
		if err != nil {
			return false, fmt.Errorf("subscription: list of customer: %w", err)
		}
		for _, o := range page {
			if o.Value.Status == Cancelled {
				continue
			}
			s.fillDerived(&o.Value)
			if err := s.cancel(tx, &o.Value, tx.Now); err != nil {
				return false, err
			}
			if err := s.write(tx, o, event.SubscriptionCanceled); err != nil {
				return false, err
			}
		}
		if more {
			last := page[len(page)-1].ID
			tx.OnCommit(func() { after = last })
			return true, nil
		}
		return false, s.config.Accounts.FinishDeparture(tx, d)
	})
}

// Erase removes what is left of a deleted customer's number from the subscriptions, which are
// cancelled.
func (in *Internal) Erase(ctx context.Context, caller api.Caller, customer string) error {
	after := ""
	return in.svc.engine.UpdateWhile(ctx, caller, func(tx *engine.Tx) (more bool, err error) {
		page, more, err := subscriptions.List(tx, storage.Query{
			Scope: engine.Scope(tx.Caller), Where: engine.Where(nil, "customer", customer), After: after, Limit: departurePage,
		})
		if err != nil {
			return false, fmt.Errorf("subscription: list for erasure: %w", err)
		}
		for _, o := range page {
			o.Value.setPhone("")
			o.Value.PhoneChange = nil
			if err := in.svc.write(tx, o); err != nil {
				return false, err
			}
		}
		if more {
			last := page[len(page)-1].ID
			tx.OnCommit(func() { after = last })
		}
		return more, nil
	})
}
