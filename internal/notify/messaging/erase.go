package messaging

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Erase deletes the messages to a deleted person and those about the person, whether they
// wait to be sent or test mode keeps them. Messages about another person stay, also those to
// the same address.
func (s *Service) Erase(ctx context.Context, caller api.Caller, person string) error {
	return s.erase(ctx, caller, "person", person)
}

func (s *Service) erase(ctx context.Context, caller api.Caller, column, value string) error {
	q := storage.Query{Scope: engine.Scope(caller), Where: engine.Where(nil, column, value), Limit: api.MaxLimit}
	return s.engine.UpdateWhile(ctx, caller, func(tx *engine.Tx) (bool, error) {
		page, more, err := messages.List(tx, q)
		if err != nil {
			return false, fmt.Errorf("message: list for erasure: %w", err)
		}
		for _, o := range page {
			if err := remove(tx, o); err != nil {
				return false, fmt.Errorf("message: erase: %w", err)
			}
		}
		return more, nil
	})
}

// EraseTo deletes the messages to an address, whomever they are about.
func (s *Service) EraseTo(ctx context.Context, caller api.Caller, address string) error {
	return s.erase(ctx, caller, "recipient", address)
}

// EraseEverywhere is Erase for a consumer or cash agent, whom the messages of every merchant
// may be about.
func (s *Service) EraseEverywhere(ctx context.Context, live bool, person string) error {
	scopes := map[storage.Scope]bool{}
	in := engine.Within{Scope: storage.Scope{Live: live}, All: true}
	err := engine.Rewrite(ctx, s.engine, messages, in, func(o *storage.Object[record]) (bool, error) {
		if o.Value.Person == person {
			scopes[o.Scope] = true
		}
		return false, nil
	})
	for scope := range scopes {
		if err == nil {
			err = s.Erase(ctx, api.Caller{Merchant: scope.Merchant, Live: scope.Live}, person)
		}
	}
	return err
}
