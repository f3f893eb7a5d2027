package webhook

import (
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/storage"
)

// Retention is the rules by which events, with their deliveries, and deliveries alone are
// removed so long after their creation, once they have ended.
func (i *Internal) Retention(keepEvents, keepDeliveries time.Duration) []retention.Rule {
	events, deliveries := i.svc.events.Retention(keepEvents), i.svc.deliveries
	removeEvent := events.Remove
	events.Remove = func(tx *engine.Tx, r storage.Record) (int, error) {
		removed, err := removeEvent(tx, r)
		if err != nil {
			return removed, err
		}
		n, err := i.svc.forget(tx, r.ID)
		return removed + n, err
	}
	return []retention.Rule{events, {
		Kind: deliveries.Kind(), Keep: keepDeliveries,
		Created: func(r storage.Record) (time.Time, bool, error) {
			o, err := deliveries.Decode(r)
			if err != nil {
				return time.Time{}, false, err
			}
			return o.Value.CreatedAt.Time, o.Value.Status != Pending, nil
		},
		Remove: func(tx *engine.Tx, r storage.Record) (int, error) {
			return 1, tx.Delete(deliveries.Kind(), r.Scope, r.ID, r.Version)
		},
	}}
}

// forget removes the deliveries of an event that is removed, and returns how many there
// were.
func (s *Service) forget(tx *engine.Tx, id string) (n int, err error) {
	q := storage.Query{Scope: engine.Scope(tx.Caller), Where: []storage.Equal{{Column: "event", Value: id}}, Limit: api.MaxLimit}
	for more := true; more; {
		page, left, err := s.deliveries.List(tx, q)
		if err != nil {
			return n, fmt.Errorf("webhook: forget deliveries: %w", err)
		}
		for _, d := range page {
			if err := s.deliveries.Delete(tx, d); err != nil {
				return n, fmt.Errorf("webhook: forget delivery: %w", err)
			}
			n++
		}
		more = left
	}
	return n, nil
}
