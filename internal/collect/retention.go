package collect

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/retention"
)

// Retention returns the rules that remove the numbers and e-mails of payers from what has ended. The
// masked number of a payment stays.
func (s *Service) Retention() []retention.Rule {
	keep := s.engine.NumberRetention
	return []retention.Rule{
		retention.PartRule(payments, keep, func(r *record) (api.Time, bool) {
			return r.CreatedAt, ended(r.Status) && r.Due == nil && r.hasNumber()
		}, (*record).forgetNumber),
		retention.PartRule(topUps, keep, func(r *topUpRecord) (api.Time, bool) {
			return r.CreatedAt, ended(r.Status) && r.Due == nil && r.Number != ""
		}, (*topUpRecord).forgetNumber),
		retention.PartRule(topUpRefunds, keep, func(r *topUpRefund) (api.Time, bool) {
			return r.CreatedAt, ended(r.Status) && r.Number != ""
		}, (*topUpRefund).forgetNumber),
	}
}
