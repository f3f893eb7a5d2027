package party

import (
	"context"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

var (
	consumerListing = holderListing(consumers, "consumer")
	agentListing    = holderListing(agents, "cash agent")
)

func holderListing[T any](c *storage.Collection[T], noun string) engine.Listing[T, T] {
	return engine.Listing[T, T]{Collection: c, Noun: noun, Show: func(v *T) T { return *v }}
}

func (s *Service) GetConsumer(ctx context.Context, caller api.Caller, id string) (*account.Consumer, error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	return consumerListing.Get(ctx, s.engine, caller, id)
}

func (s *Service) ListConsumers(ctx context.Context, caller api.Caller, p api.Page) (*api.List[account.Consumer], error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	return consumerListing.List(ctx, s.engine, storage.Query{Scope: operator(caller.Live)}, p)
}

func (s *Service) GetAgent(ctx context.Context, caller api.Caller, id string) (*account.Agent, error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	return agentListing.Get(ctx, s.engine, caller, id)
}

func (s *Service) ListAgents(ctx context.Context, caller api.Caller, p api.Page) (*api.List[account.Agent], error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	return agentListing.List(ctx, s.engine, storage.Query{Scope: operator(caller.Live)}, p)
}
