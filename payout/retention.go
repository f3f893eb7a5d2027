package payout

import (
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/internal/transfer"
	"github.com/seed-7082ffec/payments/storage"
)

// Retention is the rules by which the numbers of transfers that have ended are removed so
// long after their creation. The masked form stays.
func (in *Internal) Retention(keep time.Duration) []retention.Rule {
	rules := make([]retention.Rule, len(transfer.Variants))
	for i, v := range transfer.Variants {
		rules[i] = retention.Rule{
			Kind: collection(v).Kind(), Keep: keep, Stays: true,
			Created: func(r storage.Record) (time.Time, bool, error) {
				o, err := collection(v).Decode(r)
				if err != nil {
					return time.Time{}, false, err
				}
				return o.Value.CreatedAt.Time, o.Value.Status.final() && o.Value.To != nil, nil
			},
			Remove: func(tx *engine.Tx, r storage.Record) (int, error) {
				o, err := collection(v).Get(tx, r.Scope, r.ID)
				if err != nil {
					return 0, fmt.Errorf("payout: forget number: %w", err)
				}
				o.Value.To = nil
				return 1, collection(v).Replace(tx, o)
			},
		}
	}
	return rules
}
