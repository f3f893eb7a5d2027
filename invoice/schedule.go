package invoice

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// chargeSchedule is when an invoice is charged automatically, counted from its
// finalization. After the last failure it is uncollectible.
var chargeSchedule = []time.Duration{0, 24 * time.Hour, 3 * 24 * time.Hour, 5 * 24 * time.Hour}

// scheduleNext sets the next automatic charge, or reports that there is none.
func (r *record) scheduleNext() bool {
	if r.AttemptCount >= len(chargeSchedule) {
		r.NextPaymentAttempt = nil
		return false
	}
	next := api.At(r.FinalizedAt.Add(chargeSchedule[r.AttemptCount]))
	r.NextPaymentAttempt, r.Due = &next, &next
	return true
}
