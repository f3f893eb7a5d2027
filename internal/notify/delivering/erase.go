package delivering

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// EraseCustomer takes the personal data of a customer out of events. It also erases the
// answers of the endpoints that got these events.
func (s *Service) EraseCustomer(ctx context.Context, caller api.Caller, customer string) error {
	return s.engine.UpdateWhile(ctx, caller, func(tx *engine.Tx) (bool, error) {
		changed, more, err := s.events.EraseCustomer(tx, customer)
		if err != nil {
			return false, err
		}
		for _, id := range changed {
			if err := s.eraseAnswers(tx, id); err != nil {
				return false, err
			}
		}
		return more, nil
	})
}

// EraseObjects takes the personal data of objects out of events. It also erases the answers
// of the endpoints that got these events. A repetition completes an erasure that has failed.
func (s *Service) EraseObjects(ctx context.Context, in engine.Within, ids map[string]bool) error {
	about, err := s.events.EraseObjects(ctx, in, ids)
	if err != nil {
		return err
	}
	for id, scope := range about {
		caller := api.Caller{Merchant: scope.Merchant, Live: scope.Live}
		err := s.engine.Update(ctx, caller, func(tx *engine.Tx) error { return s.eraseAnswers(tx, id) })
		if err != nil {
			return err
		}
	}
	return nil
}

// eraseAnswers erases the answers of endpoints to an event whose personal data was erased:
// an answer may quote it.
func (s *Service) eraseAnswers(tx *engine.Tx, eventID string) error {
	q := storage.Query{Scope: engine.Scope(tx.Caller), Where: engine.Where(nil, "event", eventID), Limit: api.MaxLimit}
	for more := true; more; {
		page, further, err := s.deliveries.List(tx, q)
		if err != nil {
			return fmt.Errorf("webhook: list for erasure: %w", err)
		}
		more = further
		for _, o := range page {
			q.After = o.ID
			quoted := false
			for i := range o.Value.Attempts {
				quoted = quoted || o.Value.Attempts[i].Response != ""
				o.Value.Attempts[i].Response = ""
			}
			if !quoted {
				continue
			}
			if err := s.deliveries.Replace(tx, o); err != nil {
				return fmt.Errorf("webhook: erase answers: %w", err)
			}
		}
	}
	return nil
}
