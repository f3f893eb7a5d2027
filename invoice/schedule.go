package invoice

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/retry"
)

// chargeOffsets are the times of the second, third and fourth automatic charge, each counted
// from the finalization and not from the charge before. After the last failure the invoice
// is uncollectible.
var chargeOffsets = retry.Schedule{24 * time.Hour, 3 * 24 * time.Hour, 5 * 24 * time.Hour}

// scheduleNext sets the next automatic charge, or reports that there is none.
func (r *record) scheduleNext() bool {
	offset, more := chargeOffsets.After(r.AttemptCount)
	if !more {
		r.NextPaymentAttempt = nil
		return false
	}
	next := api.At(r.FinalizedAt.Add(offset))
	r.NextPaymentAttempt, r.NextWorkAt = &next, &next
	return true
}
