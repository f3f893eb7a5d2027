package account

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// ListConsumers returns the consumers of the caller's mode, newest first. A caller with a Merchant
// is refused with permission_denied.
func (s *Service) ListConsumers(ctx context.Context, caller api.Caller, p api.Page) (*api.List[Consumer], error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	listing := engine.Listing[Consumer, Consumer]{
		Collection: consumers, Noun: "consumer", Show: func(c *Consumer) Consumer { return *c },
	}
	return listing.List(ctx, s.engine, storage.Query{Scope: operator(caller.Live)}, p)
}
