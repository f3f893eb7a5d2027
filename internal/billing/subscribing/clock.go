package subscribing

import (
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/subscription"
)

// lengths are the shortest lengths of the intervals.
var lengths = map[catalog.Interval]time.Duration{
	catalog.Day: 24 * time.Hour, catalog.Week: 7 * 24 * time.Hour, catalog.Month: 28 * 24 * time.Hour, catalog.Year: 365 * 24 * time.Hour,
}

// CountPeriods returns an upper bound of the periods that the caller's subscriptions begin until a time. It stops
// counting above most.
func (s *Service) CountPeriods(tx *engine.Tx, until time.Time, most int64) (int64, error) {
	var n int64
	for _, status := range []subscription.Status{subscription.Trialing, subscription.Active, subscription.PastDue} {
		q := storage.Query{Scope: engine.Scope(tx.Caller), Where: engine.Where(nil, "status", string(status)), Limit: api.MaxLimit}
		for more := true; more && n <= most; {
			var page []*storage.Object[record]
			var err error
			if page, more, err = subscriptions.List(tx, q); err != nil {
				return 0, fmt.Errorf("subscription: count periods: %w", err)
			}
			for _, o := range page {
				n += o.Value.periodsUntil(until)
				q.After = o.ID
			}
		}
	}
	return n, nil
}

// periodsUntil returns an upper bound of the periods that begin after the current one and until a time.
func (r *record) periodsUntil(until time.Time) int64 {
	left := until.Sub(time.Unix(r.CurrentPeriodEnd, 0))
	if left < 0 || r.CancelAtPeriodEnd {
		return 0
	}
	return 1 + int64(left/lengths[r.Terms.Interval])/max(1, r.Terms.Count)
}
