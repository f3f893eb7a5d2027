package payout

import (
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/internal/transfer"
	"github.com/seed-7082ffec/payments/storage"
)

// Retention returns the rules that remove the numbers of ended transfers, keep after their
// creation. The masked form stays.
func (in *Internal) Retention(keep time.Duration) []retention.Rule {
	rules := make([]retention.Rule, len(transfer.Variants))
	for i, v := range transfer.Variants {
		rules[i] = retention.NewRule(collection(v), keep, func(r *record) (api.Time, bool) {
			return r.CreatedAt, r.Status.final() && r.To != nil
		})
		rules[i].Stays = true
		rules[i].Remove = func(tx *engine.Tx, r storage.Record) (int, error) {
			o, err := collection(v).Get(tx, r.Scope, r.ID)
			if err != nil {
				return 0, fmt.Errorf("payout: forget number: %w", err)
			}
			o.Value.To = nil
			return 1, collection(v).Replace(tx, o)
		}
	}
	return rules
}
