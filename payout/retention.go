package payout

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/internal/transfer"
)

// Retention returns the rules that remove the numbers of ended transfers. The masked form stays.
func (in *Internal) Retention() []retention.Rule {
	rules := make([]retention.Rule, len(transfer.Variants))
	for i, v := range transfer.Variants {
		rules[i] = retention.PartRule(collection(v), in.engine.NumberRetention, func(r *record) (api.Time, bool) {
			return r.CreatedAt, r.Status.final() && r.To != nil
		}, (*record).forgetNumber)
	}
	return rules
}
