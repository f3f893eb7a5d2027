package subscribing

import (
	"time"

	"github.com/seed-7082ffec/payments/catalog"
)

const day = 24 * time.Hour

// recurrence is the length of a plan's periods. Accra's clock is UTC, so that each day has 24 hours.
type recurrence struct {
	Interval catalog.Interval `json:"interval"`
	Count    int64            `json:"count"`
}

// start returns the start of period k, where period 0 starts at the anchor. It counts from the anchor
// and not from the period before. So a month that is too short for the anchor's day moves its own
// period alone: 31 January, 28 February, 31 March.
func (r recurrence) start(anchor time.Time, k int64) time.Time {
	anchor = anchor.UTC() // in another time zone a day may have 23 hours
	n := int(k * r.Count)
	switch r.Interval {
	case catalog.Day:
		return anchor.AddDate(0, 0, n)
	case catalog.Week:
		return anchor.AddDate(0, 0, 7*n)
	case catalog.Year:
		return addMonths(anchor, 12*n)
	default: // a month: the catalogue has no other
		return addMonths(anchor, n)
	}
}

// addMonths returns the same day and time n months later, or the last day of a month that does not
// have that day.
func addMonths(t time.Time, n int) time.Time {
	t = t.UTC()
	y, m, d := t.Date()
	last := time.Date(y, m+time.Month(n)+1, 0, 0, 0, 0, 0, time.UTC)
	return time.Date(last.Year(), last.Month(), min(d, last.Day()), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// second truncates a time to the second, like the times of periods.
func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
