package pace_test

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/pace"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

func TestTakeRefusesBeyondLimit(t *testing.T) {
	limit := pace.Limit{Hour: 2, Day: 3}
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	var done []api.Time
	for _, step := range []struct {
		after, wait time.Duration
	}{
		{0, 0},
		{10 * time.Minute, 0},
		{10 * time.Minute, 40 * time.Minute},
		{40*time.Minute - time.Millisecond, time.Millisecond},
		{time.Millisecond, 0}, // an hour after the first
		{9 * time.Minute, 23*time.Hour - 9*time.Minute},
		{23 * time.Hour, 0}, // more than a day after the first
		{0, time.Minute},    // until a day after the second
		{time.Minute, 0},
	} {
		now = now.Add(step.after)
		kept, err := limit.Take(done, now, "This was done")
		var refusal *api.Error
		if step.wait > 0 {
			must.True(t, errors.As(err, &refusal) && refusal.Code == api.RateLimited && refusal.RetryAfter == step.wait, "at %s: %v, want to wait for %s", now, err, step.wait)
			continue
		}
		must.True(t, err == nil, "at %s: %v", now, err)
		done = kept
		expect.True(t, len(done) <= limit.Day, "%d times are kept", len(done))
	}
}
