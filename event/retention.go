package event

import (
	"time"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/storage"
)

// Retention is the rule by which events are removed so long after their creation, once
// they were fanned out. forget removes what was written down of the telling of one, and
// returns how many records that were.
func Retention(keep time.Duration, forget func(tx *engine.Tx, id string) (int, error)) retention.Rule {
	return retention.Rule{
		Kind: events.Kind(), Keep: keep,
		Created: func(r storage.Record) (time.Time, bool, error) {
			o, err := events.Decode(r)
			if err != nil {
				return time.Time{}, false, err
			}
			return o.Value.CreatedAt.Time, o.Value.Told, nil
		},
		Remove: func(tx *engine.Tx, r storage.Record) (int, error) {
			if err := tx.Delete(events.Kind(), r.Scope, r.ID, r.Version); err != nil {
				return 0, err
			}
			n, err := forget(tx, r.ID)
			return n + 1, err
		},
	}
}
