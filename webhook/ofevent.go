package webhook

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// EventDeliveries lists the deliveries of one event to all endpoints, newest
// first, with all attempts.
func (s *Service) EventDeliveries(ctx context.Context, caller api.Caller, eventID string, p api.Page) (*api.List[Delivery], error) {
	if _, err := s.events.Get(ctx, caller, eventID); err != nil {
		return nil, err
	}
	listing := engine.Listing[deliveryRecord, Delivery]{
		Collection: deliveries, Noun: "webhook delivery", Show: func(d *deliveryRecord) Delivery { return d.Delivery },
	}
	q := storage.Query{Scope: caller.Scope(), Where: []storage.Equal{{Column: "event", Value: eventID}}}
	return listing.List(ctx, s.engine, q, p)
}
