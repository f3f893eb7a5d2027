package payment

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/retention"
)

// Retention returns the rules that remove the numbers and e-mails of payers from what has ended, keep
// after its creation. The masked number of a payment stays.
func (*Internal) Retention(keep time.Duration) []retention.Rule {
	return []retention.Rule{
		retention.PartRule(payments, keep, func(r *record) (api.Time, bool) {
			return r.CreatedAt, r.Status.ended() && r.Due == nil && r.hasNumber()
		}, (*record).forgetNumber),
		retention.PartRule(topUps, keep, func(r *topUpRecord) (api.Time, bool) {
			return r.CreatedAt, r.Status.ended() && r.Due == nil && r.Number != ""
		}, func(r *topUpRecord) { r.Number = "" }),
		retention.PartRule(topUpRefunds, keep, func(r *topUpRefund) (api.Time, bool) {
			return r.CreatedAt, r.Status.ended() && r.Number != ""
		}, func(r *topUpRefund) { r.Number = "" }),
	}
}
