package webhook

import (
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// EraseTx forgets what endpoints answered when they were told of an event whose
// personal data was erased: an answer may quote it.
func (s *Service) EraseTx(tx *engine.Tx, eventID string) error {
	q := storage.Query{Scope: tx.Caller.Scope(), Where: api.Where(nil, "event", eventID), Limit: api.MaxLimit}
	for more := true; more; {
		page, further, err := deliveries.List(tx, q)
		if err != nil {
			return fmt.Errorf("webhook: list for erasure: %w", err)
		}
		more = further
		for _, o := range page {
			q.After = o.ID
			quoted := false
			for i := range o.Value.Attempts {
				quoted = quoted || o.Value.Attempts[i].Response != ""
				o.Value.Attempts[i].Response = ""
			}
			if !quoted {
				continue
			}
			if err := deliveries.Replace(tx, o); err != nil {
				return fmt.Errorf("webhook: erase answers: %w", err)
			}
		}
	}
	return nil
}
