package invoice

import (
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// chargeOffsets are the times of the second, third and fourth automatic charge, each counted
// from the finalization and not from the charge before. After the last failure the invoice
// is uncollectible.
var chargeOffsets = []time.Duration{24 * time.Hour, 3 * 24 * time.Hour, 5 * 24 * time.Hour}

// scheduleNext sets the next automatic charge, or reports that there is none.
func (r *record) scheduleNext() bool {
	next := *r.FinalizedAt
	if last := r.NextPaymentAttempt; last != nil {
		i := slices.IndexFunc(chargeOffsets, func(o time.Duration) bool { return r.FinalizedAt.Add(o).After(last.Time) })
		if i < 0 {
			r.NextPaymentAttempt, r.NextWorkAt = nil, nil
			return false
		}
		next = api.At(r.FinalizedAt.Add(chargeOffsets[i]))
	}
	r.NextPaymentAttempt, r.NextWorkAt = &next, &next
	return true
}
