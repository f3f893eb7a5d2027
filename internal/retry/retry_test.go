package retry_test

import (
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/retry"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

func TestSchedule(t *testing.T) {
	s := retry.Schedule{time.Second, time.Minute}
	for _, test := range []struct {
		attempts int
		wait     time.Duration
		more     bool
		endless  time.Duration
	}{
		{-1, 0, true, 0},
		{0, 0, true, 0},
		{1, time.Second, true, time.Second},
		{2, time.Minute, true, time.Minute},
		{3, 0, false, time.Minute},
		{99, 0, false, time.Minute},
	} {
		if wait, more := s.After(test.attempts); wait != test.wait || more != test.more {
			t.Errorf("after %d attempts: %s, %t", test.attempts, wait, more)
		}
		expect.Equal(t, s.AfterOrLast(test.attempts), test.endless, "after %d attempts without an end", test.attempts)
	}
	if _, more := (retry.Schedule{}).After(1); more {
		t.Error("an empty schedule has a second attempt")
	}
}
