package subscribing

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/subscription"
)

// departurePage bounds the subscriptions that one transaction cancels. The transaction ends earlier once it
// has stopped the charges of departureCharges invoices.
const (
	departurePage    = 20
	departureCharges = 100
)

// depart cancels the subscriptions of a deleted customer.
func (s *Service) depart(ctx context.Context, of storage.Record) error {
	q := ofCustomer(of.ID)
	q.Scope = of.Scope
	return s.engine.UpdateWhile(ctx, api.Caller{Merchant: of.Scope.Merchant, Live: of.Scope.Live}, func(tx *engine.Tx) (more bool, err error) {
		departed, err := engine.OrNil(pii.Departures.Get(tx, of.Scope, of.ID))
		if departed == nil || err != nil { // another worker may have done it
			return false, err
		}
		page, more, err := subscriptions.List(tx, q)
		if err != nil {
			return false, fmt.Errorf("subscription: list of customer: %w", err)
		}
		tx.AttributeEvents(departed.Value.Request, departed.Value.IdempotencyKey)
		stopped := 0
		for i, o := range page {
			if o.Value.Status == subscription.Cancelled {
				continue
			}
			s.fillDerived(&o.Value)
			stopped += len(o.Value.charged())
			if err := s.cancelAtOnce(tx, &o.Value, tx.Now, deletedCustomer); err != nil {
				return false, err
			}
			if err := s.write(tx, o, event.SubscriptionCanceled); err != nil {
				return false, err
			}
			if stopped >= departureCharges && i+1 < len(page) {
				page, more = page[:i+1], true
				break
			}
		}
		if more {
			last := page[len(page)-1].ID
			tx.OnCommit(func() { q.After = last })
			return true, nil
		}
		return false, pii.Departures.Delete(tx, departed)
	})
}

// ofCustomer finds a page of a customer's subscriptions.
func ofCustomer(customer string) storage.Query {
	return storage.Query{Where: engine.Where(nil, "customer", customer), Limit: departurePage}
}

// Erase removes what is left of a deleted customer's number from the subscriptions, which are
// cancelled.
func (s *Service) Erase(ctx context.Context, caller api.Caller, customer string) error {
	return engine.UpdateEach(ctx, s.engine, caller, subscriptions, ofCustomer(customer), func(tx *engine.Tx, o *storage.Object[record]) error {
		o.Value.setPhone("")
		o.Value.PhoneChange = nil
		return s.write(tx, o)
	})
}

// ErasePhone removes a number that waits for its confirmation. It returns how many subscriptions charge the
// number, and so need it until they end or charge another.
func (s *Service) ErasePhone(ctx context.Context, within engine.Within, number string) (charged int, err error) {
	charging := map[string]bool{}
	err = engine.Rewrite(ctx, s.engine, subscriptions, within, func(o *storage.Object[record]) (bool, error) {
		r := &o.Value
		if r.Phone == number {
			charging[o.ID] = true
		}
		waits := r.PhoneChange != nil && r.PhoneChange.Number == number
		if waits {
			r.PhoneChange.Forget()
		}
		return waits, nil
	})
	return len(charging), err
}
