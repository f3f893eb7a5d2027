package work

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/internal/expect"
)

// Every time that was set rings, even if nearer ones were set later.
func TestEveryAlarmRings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a alarms
		start := time.Now()
		rang := make(chan time.Duration, 2*maxAlarms)
		ring := func() { rang <- time.Since(start) }
		for _, ms := range []int{500, 100, 300, 299, 97, 100} {
			a.set(start.Add(time.Duration(ms)*time.Millisecond), ring)
		}
		// 299 is near enough to 300 to ring with it.
		for _, want := range []time.Duration{97, 100, 300, 500} {
			expect.Equal(t, <-rang, want*time.Millisecond, "rang after")
		}
		synctest.Wait()
		expect.True(t, len(rang) == 0 && len(a.times) == 0, "%d rang once more, %d are left", len(rang), len(a.times))
	})
}

// A worker keeps the nearest times, up to the limit.
func TestOnlyTheNearestAlarmsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a alarms
		start := time.Now()
		var n atomic.Int64
		for i := range 3 * maxAlarms {
			a.set(start.Add(time.Duration(3*maxAlarms-i)*10*time.Millisecond), func() { n.Add(1) })
		}
		expect.Equal(t, len(a.times), maxAlarms, "%d are kept", len(a.times))
		time.Sleep(maxAlarms * 10 * time.Millisecond)
		synctest.Wait()
		expect.True(t, n.Load() == maxAlarms && len(a.times) == 0, "%d rang, %d are left", n.Load(), len(a.times))
	})
}
