package event

import (
	"time"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/storage"
)

// Retention is the rule by which events are removed so long after their creation, once
// they were fanned out. It leaves their deliveries.
func (*Internal) Retention(keep time.Duration) retention.Rule {
	return retention.Rule{
		Kind: events.Kind(), Keep: keep,
		Created: func(r storage.Record) (time.Time, bool, error) {
			o, err := events.Decode(r)
			if err != nil {
				return time.Time{}, false, err
			}
			return o.Value.CreatedAt.Time, o.Value.FannedOut, nil
		},
		Remove: func(tx *engine.Tx, r storage.Record) (int, error) {
			return 1, tx.Delete(events.Kind(), r.Scope, r.ID, r.Version)
		},
	}
}
