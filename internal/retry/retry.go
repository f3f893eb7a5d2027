// Package retry says how long to wait between attempts.
package retry

import "time"

// Schedule is the wait after the first attempt, after the second, and so on.
type Schedule []time.Duration

// After returns the wait after so many attempts; before the first there is none. more is
// false after the last attempt of the schedule.
func (s Schedule) After(attempts int) (wait time.Duration, more bool) {
	switch {
	case attempts < 1:
		return 0, true
	case attempts > len(s):
		return 0, false
	}
	return s[attempts-1], true
}

// AfterOrLast is After for attempts without an end: the last wait stands for all later ones.
func (s Schedule) AfterOrLast(attempts int) time.Duration {
	wait, _ := s.After(min(attempts, len(s)))
	return wait
}
