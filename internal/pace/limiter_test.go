package pace

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// Each success widens the window of an endpoint by one slot; a failure narrows it to one.
func TestEndpointWindowGrowsWithSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limiter
		entered := crowd(t, &l, "a", 30)
		must.True(t, entered() == initialWindow, "%d entered at first", entered())
		other := crowd(t, &l, "b", 1)
		must.True(t, other() == 1, "another endpoint is held up")
		leave := func(well bool, want int64) {
			t.Helper()
			before := entered()
			l.ReleaseSlot("a", answered(well, time.Millisecond), time.Now())
			expect.Equal(t, entered()-before, want, "entered after a slot was released")
		}
		for range maxPerEndpoint - initialWindow {
			leave(true, 2)
		}
		leave(true, 1)
		if n := l.endpoints["a"]; n.window != maxPerEndpoint || n.inFlight != maxPerEndpoint || l.inFlight != maxPerEndpoint+1 {
			t.Errorf("%d of %d slots, %d in all", n.inFlight, n.window, l.inFlight)
		}
		for range maxPerEndpoint - 1 {
			leave(false, 0)
		}
		leave(false, 1)
		time.Sleep(maxWait) // of the bubble's clock
		synctest.Wait()
		expect.Equal(t, l.waiting, 0, "what still waits")
		expect.Equal(t, len(l.endpoints["a"].waiting), 0, "what still waits for the endpoint")
		leave(true, 0)
		again := crowd(t, &l, "a", 2)
		expect.True(t, again() == 2, "%d entered when all was over, want 2", again())
	})
}

// Each endpoint gets some of the room to wait and takes its turn, however many endpoints
// share however few slots.
func TestEndpointsShareTheLimiterFairly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limiter
		for i := range MaxInFlight {
			in := crowd(t, &l, fmt.Sprint("busy", i), 1)
			must.True(t, in() == 1, "a slot is missing")
		}
		first := crowd(t, &l, "first", 3*MaxAtHand)
		must.True(t, first() == 0 && l.waiting != 0 && l.waiting <= maxWaiting/2, "%d of one endpoint wait, which takes too much room", l.waiting)
		last := crowd(t, &l, "last", 3)
		must.True(t, last() == 0, "there is a free slot")
		for i := range 4 {
			l.ReleaseSlot(fmt.Sprint("busy", i), answered(true, time.Millisecond), time.Now())
		}
		if first() != 2 || last() != 2 { // in turns
			t.Errorf("%d and %d entered", first(), last())
		}
		expect.True(t, l.inFlight == MaxInFlight, "%d in flight", l.inFlight)
		time.Sleep(maxWait)
	})
}

// crowd starts n calls of acquire. entered returns how many of them have a slot by then.
func crowd(t *testing.T, l *Limiter, endpoint string, n int) (entered func() int64) {
	var in atomic.Int64
	for range n {
		go func() {
			if ok, _ := l.AcquireSlot(endpoint, false, time.Now()); ok {
				in.Add(1)
			}
		}()
	}
	return func() int64 {
		synctest.Wait()
		return in.Load()
	}
}

// answered is the result of an attempt that took so long.
func answered(well bool, took time.Duration) *Result { return &Result{OK: well, Took: took} }

// A delivery that is not posted, because its event or endpoint is gone, tells nothing of the
// endpoint.
func TestDeliveryWithoutPostKeepsTheWindow(t *testing.T) {
	var l Limiter
	now := time.Unix(1, 0)
	one := l.endpoint("a")
	for _, result := range []*Result{answered(true, time.Millisecond), nil, nil} {
		if ok, _ := l.AcquireSlot("a", false, now); !ok {
			t.Fatal("no slot")
		}
		l.ReleaseSlot("a", result, now)
	}
	if one.window != initialWindow+1 || one.inFlight != 0 || l.inFlight != 0 {
		t.Errorf("window %d, %d of %d in flight; want a window of %d", one.window, one.inFlight, l.inFlight, initialWindow+1)
	}
}

// Deliveries without room come back one after the other, as far apart as attempts last.
func TestFullEndpointBacksOff(t *testing.T) {
	var l Limiter
	now := time.Unix(1, 0)
	one := l.endpoint("a")
	for range 100 {
		l.AcquireSlot("a", false, now)
		l.ReleaseSlot("a", answered(false, time.Second), now)
	}
	l.AcquireSlot("a", false, now)
	first, second := one.backoff(now), one.backoff(now)
	expect.True(t, first >= 500*time.Millisecond, "put off by %s and %s", first, second)
	expect.True(t, second >= 2*first-time.Millisecond, "put off by %s and %s", first, second)
	later := one.backoff(now.Add(time.Minute))
	expect.True(t, later >= 50*time.Second, "while it hangs for a minute by %s", later)
	for range 10_000 {
		wait := one.backoff(now)
		must.True(t, wait <= maxBackoff, "put off by %s", wait)
	}
}

// The fan-out waits while the limiter is saturated, but not for long. A delivery that it has
// reserved room for finds that room.
func TestFanOutWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limiter
		wait := func() (room int, took time.Duration) {
			start := time.Now()
			return l.AwaitRoom(), time.Since(start)
		}
		if room, took := wait(); room != 2*softWaiting || took != 0 {
			t.Errorf("room for %d after %s when there is nothing to do", room, took)
		}
		made := 0
		for {
			if ok, _, _ := l.ReserveRoom("a", time.Now()); !ok {
				break
			}
			made++
		}
		most := maxWaiting / (maxPerEndpoint + 1)
		expect.True(t, made >= most-1 && made <= most+1, "%d of an endpoint that has not answered yet are reserved", made)
		for i := range 2 * softWaiting {
			l.ReserveRoom(fmt.Sprint("b", i), time.Now())
		}
		if room, took := wait(); room != minRoom || took != maxPause {
			t.Errorf("room for %d after %s when all is full", room, took)
		}
		go func() {
			time.Sleep(maxPause / 5)
			for i := range 2*softWaiting - 10 {
				l.FreeRoom(fmt.Sprint("b", i))
			}
		}()
		if room, took := wait(); room < softWaiting || took != maxPause/5 {
			t.Errorf("room for %d after %s when some are not started", room, took)
		}
		var in, out atomic.Int64
		for range made {
			go func() {
				defer l.OutcomeWritten()
				if ok, _ := l.AcquireSlot("a", true, time.Now()); ok {
					in.Add(1)
					l.ReleaseSlot("a", answered(true, time.Millisecond), time.Now())
				} else {
					out.Add(1)
				}
			}()
		}
		synctest.Wait()
		expect.True(t, in.Load() == int64(made), "%d of %d that were reserved found room, %d did not", in.Load(), made, out.Load())
		expect.Equal(t, out.Load(), 0, "found no room")
		for i := range 10 {
			l.FreeRoom(fmt.Sprint("b", 2*softWaiting-10+i))
		}
		expect.Equal(t, l.waiting, 0, "waiting")
		expect.Equal(t, l.atHand, 0, "at hand")
	})
}
