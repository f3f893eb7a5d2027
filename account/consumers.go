package account

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Consumers lists the consumers of a mode, newest first, for the operator.
func (s *Service) Consumers(ctx context.Context, live bool, p api.Page) (*api.List[Consumer], error) {
	listing := engine.Listing[Consumer, Consumer]{
		Collection: consumers, Noun: "consumer", Show: func(c *Consumer) Consumer { return *c },
	}
	return listing.List(ctx, s.engine, storage.Query{Scope: operator(live)}, p)
}
