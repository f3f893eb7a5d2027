package message

import (
	"time"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/storage"
)

// Retention is the rule by which messages of test mode are removed so long after their
// creation. They are removed by their due time, too; the rule is for those that were
// queued when the host kept them for longer.
func (*Internal) Retention(keep time.Duration) retention.Rule {
	return retention.Rule{
		Kind: messages.Kind(), Keep: keep,
		Created: func(r storage.Record) (time.Time, bool, error) {
			o, err := messages.Decode(r)
			if err != nil {
				return time.Time{}, false, err
			}
			return o.Value.CreatedAt.Time, o.Value.Sent, nil
		},
		Remove: func(tx *engine.Tx, r storage.Record) (int, error) {
			return 1, tx.Delete(messages.Kind(), r.Scope, r.ID, r.Version)
		},
	}
}
