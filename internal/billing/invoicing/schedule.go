package invoicing

import (
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
)

// chargeOffsets are the times of the second, third and fourth automatic charge, each counted
// from the first and not from the charge before. After the last failure the invoice
// is uncollectible.
var chargeOffsets = []time.Duration{24 * time.Hour, 3 * 24 * time.Hour, 5 * 24 * time.Hour}

// scheduleNext sets the next automatic charge, or reports that there is none.
func (r *record) scheduleNext() bool {
	r.Postponed = false
	first := *r.FinalizedAt
	if r.FirstAttempt != nil {
		first = *r.FirstAttempt
	}
	next := first
	if last := r.NextPaymentAttempt; last != nil {
		i := slices.IndexFunc(chargeOffsets, func(o time.Duration) bool { return first.Add(o).After(last.Time) })
		if i < 0 {
			r.NextPaymentAttempt, r.NextWorkAt = nil, nil
			return false
		}
		next = api.At(first.Add(chargeOffsets[i]))
	}
	r.NextPaymentAttempt, r.NextWorkAt = &next, &next
	return true
}

// nextWithin returns the first time within the hours that is not before at. Accra has the time of UTC.
func nextWithin(h invoice.ChargeHours, at time.Time) time.Time {
	day := at.UTC().Truncate(24 * time.Hour)
	from, until := day.Add(time.Duration(h.From)*time.Hour), day.Add(time.Duration(h.Until)*time.Hour)
	switch {
	case at.Before(from):
		return from
	case at.Before(until):
		return at
	}
	return from.AddDate(0, 0, 1)
}

// nextChargeTime returns the first time, not before at, at which an automatic charge may ask a phone.
func (s *Service) nextChargeTime(live bool, at time.Time) time.Time {
	if !live {
		return at
	}
	return nextWithin(s.config.ChargeHours, at)
}
