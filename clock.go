package payments

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
)

// Now returns the time that governs the caller's objects. In the test mode of a sandbox that is the
// merchant's test clock, and otherwise the real time.
func (s *Service) Now(ctx context.Context, caller api.Caller) (api.Time, error) {
	var now api.Time
	err := s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		now = api.At(tx.Now)
		return nil
	})
	return now, err
}
