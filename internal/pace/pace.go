// Package pace bounds how often one thing is done to one object, where each time costs
// others something: a message, a delivery. The times are kept in the object's record.
package pace

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// Limit is how often something may be done in any hour and in any day.
type Limit struct{ Hour, Day int }

// Take returns the times with now added, those before the last Limit.Day left out, or
// refuses with rate_limited and the time after which it may be done again. done are
// earlier times, the oldest first; what is the thing, as "This invoice was sent".
func (l Limit) Take(done []api.Time, now time.Time, what string) ([]api.Time, error) {
	wait := max(
		l.wait(done, now, l.Hour, time.Hour),
		l.wait(done, now, l.Day, 24*time.Hour),
	)
	if wait > 0 {
		refusal := api.Errorf(api.RateLimited, "", "%s too often: at most %d times an hour and %d times a day. Try again after the seconds in the header Retry-After.", what, l.Hour, l.Day)
		refusal.RetryAfter = wait
		return nil, refusal
	}
	kept := append([]api.Time(nil), done[max(0, len(done)+1-l.Day):]...)
	return append(kept, api.At(now)), nil
}

// wait returns how long it is until fewer than n times lie within the window.
func (Limit) wait(done []api.Time, now time.Time, n int, window time.Duration) time.Duration {
	if len(done) < n {
		return 0
	}
	return max(0, done[len(done)-n].Add(window).Sub(now))
}
