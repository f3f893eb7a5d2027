package payment

import (
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/storage"
)

// Retention returns the rules that remove the numbers and e-mails of payers from what has ended, keep
// after its creation. The masked number of a payment stays.
func (*Internal) Retention(keep time.Duration) []retention.Rule {
	return []retention.Rule{
		numberRule(payments, keep, func(r *record) (api.Time, bool) {
			return r.CreatedAt, r.Status.ended() && r.Due == nil && r.hasNumber()
		}, (*record).forgetNumber),
		numberRule(topUps, keep, func(r *topUpRecord) (api.Time, bool) {
			return r.CreatedAt, r.Status.ended() && r.Due == nil && r.Number != ""
		}, func(r *topUpRecord) { r.Number = "" }),
		numberRule(topUpRefunds, keep, func(r *topUpRefund) (api.Time, bool) {
			return r.CreatedAt, r.Status.ended() && r.Number != ""
		}, func(r *topUpRefund) { r.Number = "" }),
	}
}

func numberRule[T any](c *storage.Collection[T], keep time.Duration, about func(*T) (created api.Time, removable bool), forget func(*T)) retention.Rule {
	rule := retention.NewRule(c, keep, about)
	rule.Stays = true
	rule.Remove = func(tx *engine.Tx, r storage.Record) (int, error) {
		o, err := c.Get(tx, r.Scope, r.ID)
		if err != nil {
			return 0, fmt.Errorf("payment: forget number: %w", err)
		}
		forget(&o.Value)
		return 1, c.Replace(tx, o)
	}
	return rule
}
