package payout

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/internal/transfer"
)

// Retention returns the rules that remove the numbers of ended transfers, keep after their
// creation. The masked form stays.
func (in *Internal) Retention(keep time.Duration) []retention.Rule {
	rules := make([]retention.Rule, len(transfer.Variants))
	for i, v := range transfer.Variants {
		rules[i] = retention.PartRule(collection(v), keep, func(r *record) (api.Time, bool) {
			return r.CreatedAt, r.Status.final() && r.To != nil
		}, func(r *record) { r.To = nil })
	}
	return rules
}
