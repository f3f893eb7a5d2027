package message

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Erase removes the messages to a person who was deleted, and those that tell of the
// person: those that wait to be sent, and those that test mode keeps. Messages about
// somebody else stay, also those to the same address.
func (s *Service) Erase(ctx context.Context, caller api.Caller, person string) error {
	q := storage.Query{Scope: caller.Scope(), Where: api.Where(nil, "person", person), Limit: api.MaxLimit}
	for more := true; more; {
		err := s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
			page, further, err := messages.List(tx, q)
			if err != nil {
				return fmt.Errorf("message: list for erasure: %w", err)
			}
			more = further
			for _, o := range page {
				if err := messages.Delete(tx, o); err != nil {
					return fmt.Errorf("message: erase: %w", err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
