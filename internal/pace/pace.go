// Package pace bounds what costs others something. [Limit] is how often a call may do one thing to one
// object, such as send a message of it; the object's record stores the times. [Limiter] is how many
// deliveries of events are under way, to each endpoint and in all.
package pace

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// Limit is the largest number of times in any hour and in any day.
type Limit struct{ Hour, Day int }

// Take returns the times with now added, without those before the last Limit.Day. Beyond the
// limit it refuses with rate_limited, and names the time of the next allowed call. done holds the
// earlier times, the oldest first. what describes the action, for example "This invoice was
// sent".
func (l Limit) Take(done []api.Time, now time.Time, what string) ([]api.Time, error) {
	wait := max(
		Wait(done, now, l.Hour, time.Hour),
		Wait(done, now, l.Day, 24*time.Hour),
	)
	if wait > 0 {
		return nil, api.Errorf(api.RateLimited, "", "%s too often: at most %d times an hour and %d times a day. Try again after the seconds in the header Retry-After.", what, l.Hour, l.Day).After(wait)
	}
	kept := append([]api.Time(nil), done[max(0, len(done)+1-l.Day):]...)
	return append(kept, api.At(now)), nil
}

// Wait returns the time until fewer than n times lie within the window. done holds the times, the oldest
// first.
func Wait(done []api.Time, now time.Time, n int, window time.Duration) time.Duration {
	if len(done) < n {
		return 0
	}
	return max(0, done[len(done)-n].Add(window).Sub(now))
}
