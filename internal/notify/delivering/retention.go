package delivering

import (
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/webhook"
)

// Retention returns the rules that remove old events with their deliveries, and old
// deliveries alone. Neither removes an event that is not fanned out, or a pending delivery
// of an event that stays.
func (s *Service) Retention(keepEvents, keepDeliveries time.Duration) []retention.Rule {
	events := s.events.Retention(keepEvents)
	removeEvent := events.Remove
	events.Remove = func(tx *engine.Tx, r storage.Record) (int, error) {
		removed, err := removeEvent(tx, r)
		if err != nil {
			return removed, err
		}
		n, err := s.deleteDeliveries(tx, r.ID)
		return removed + n, err
	}
	return []retention.Rule{events, retention.NewRule(s.deliveries, keepDeliveries, func(d *webhook.Delivery) (api.Time, bool) {
		return d.CreatedAt, d.Status != webhook.Pending
	})}
}

// deleteDeliveries deletes the deliveries of an event, and returns how many there were.
func (s *Service) deleteDeliveries(tx *engine.Tx, id string) (n int, err error) {
	q := storage.Query{Scope: engine.Scope(tx.Caller), Where: []storage.Equal{{Column: "event", Value: id}}, Limit: api.MaxLimit}
	for more := true; more; {
		page, left, err := s.deliveries.List(tx, q)
		if err != nil {
			return n, fmt.Errorf("webhook: forget deliveries: %w", err)
		}
		for _, d := range page {
			if err := engine.Delete(tx, s.deliveries, d); err != nil {
				return n, fmt.Errorf("webhook: forget delivery: %w", err)
			}
			n++
		}
		more = left
	}
	return n, nil
}
