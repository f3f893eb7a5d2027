package transfer

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/retention"
)

// Retention returns the rules that remove the numbers of ended transfers. The masked form stays.
func (s *Service) Retention() []retention.Rule {
	rules := make([]retention.Rule, len(variants))
	for i, v := range variants {
		rules[i] = retention.PartRule(collection(v), s.engine.NumberRetention, func(r *record) (api.Time, bool) {
			return r.CreatedAt, final(r.Status) && r.To != nil
		}, (*record).forgetNumber)
	}
	return rules
}
