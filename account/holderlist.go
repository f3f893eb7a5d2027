package account

import (
	"context"

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

// GetConsumer returns one consumer of the caller's mode, in any status. Only the operator may call
// it: a caller with a Merchant is refused with permission_denied.
func (s *Service) GetConsumer(ctx context.Context, caller api.Caller, id string) (*Consumer, error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	return consumerListing.Get(ctx, s.engine, caller, id)
}

// ListConsumers returns the consumers of the caller's mode, newest first. A caller with a Merchant
// is refused with permission_denied.
func (s *Service) ListConsumers(ctx context.Context, caller api.Caller, p api.Page) (*api.List[Consumer], error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	return consumerListing.List(ctx, s.engine, storage.Query{Scope: operator(caller.Live)}, p)
}

// GetAgent is GetConsumer for a cash agent.
func (s *Service) GetAgent(ctx context.Context, caller api.Caller, id string) (*Agent, error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	return agentListing.Get(ctx, s.engine, caller, id)
}

// ListAgents is ListConsumers for cash agents.
func (s *Service) ListAgents(ctx context.Context, caller api.Caller, p api.Page) (*api.List[Agent], error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	return agentListing.List(ctx, s.engine, storage.Query{Scope: operator(caller.Live)}, p)
}
