package invoice

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/retry"
)

// chargeSchedule is when an invoice is charged automatically again, counted from its
// finalization. After the last failure it is uncollectible.
var chargeSchedule = retry.Schedule{24 * time.Hour, 3 * 24 * time.Hour, 5 * 24 * time.Hour}

// scheduleNext sets the next automatic charge, or reports that there is none.
func (r *record) scheduleNext() bool {
	after, more := chargeSchedule.After(r.AttemptCount)
	if !more {
		r.NextPaymentAttempt = nil
		return false
	}
	next := api.At(r.FinalizedAt.Add(after))
	r.NextPaymentAttempt, r.Due = &next, &next
	return true
}
