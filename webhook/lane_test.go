package webhook

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// An endpoint that answers gains places, and one that does not keeps one.
func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lanes
		entered := crowd(t, &l, "a", 30)
		if entered() != 1 {
			t.Fatalf("%d entered at first", entered())
		}
		if other := crowd(t, &l, "b", 1); other() != 1 {
			t.Fatal("another endpoint is held up")
		}
		leave := func(well bool, want int64) {
			t.Helper()
			before := entered()
			l.leave("a", well, time.Millisecond, time.Now())
			if got := entered() - before; got != want {
				t.Errorf("a place was given back and %d entered, want %d", got, want)
			}
		}
		for range maxPerEndpoint - 1 {
			leave(true, 2)
		}
		leave(true, 1)
		if n := l.by["a"]; n.width != maxPerEndpoint || n.inFlight != maxPerEndpoint || l.inFlight != maxPerEndpoint+1 {
			t.Errorf("%d of %d places, %d in all", n.inFlight, n.width, l.inFlight)
		}
		for range maxPerEndpoint - 1 {
			leave(false, 0)
		}
		leave(false, 1)
		time.Sleep(maxWait) // of the bubble's clock
		synctest.Wait()
		if l.waiting != 0 || len(l.by["a"].waiting) != 0 {
			t.Errorf("%d still wait", l.waiting)
		}
		leave(true, 0)
		if again := crowd(t, &l, "a", 2); again() != 2 {
			t.Errorf("%d entered when all was over, want 2", again())
		}
	})
}

// However many endpoints there are, and however few places for all of them, each
// gets some of the room to wait, and takes its turn.
func TestSharedPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lanes
		for i := range maxInFlight {
			if in := crowd(t, &l, fmt.Sprint("busy", i), 1); in() != 1 {
				t.Fatal("a place is missing")
			}
		}
		first := crowd(t, &l, "first", 3*maxInHand)
		if first() != 0 || l.waiting == 0 || l.waiting > maxWaiting/2 {
			t.Fatalf("%d of one endpoint wait, which takes too much room", l.waiting)
		}
		last := crowd(t, &l, "last", 3)
		for i := range 4 {
			l.leave(fmt.Sprint("busy", i), true, time.Millisecond, time.Now())
		}
		if first() != 1 || last() != 1 { // they have one place each
			t.Errorf("%d and %d entered", first(), last())
		}
		if l.inFlight != maxInFlight-2 {
			t.Errorf("%d in flight", l.inFlight)
		}
		time.Sleep(maxWait)
	})
}

// crowd has so many try to enter, and returns how many have by then.
func crowd(t *testing.T, l *lanes, endpoint string, n int) (entered func() int64) {
	var in atomic.Int64
	for range n {
		go func() {
			if ok, _ := l.enter(endpoint, time.Now()); ok {
				in.Add(1)
			}
		}()
	}
	return func() int64 {
		synctest.Wait()
		return in.Load()
	}
}

// What finds no room is put off one after the other, by how long attempts last.
func TestPutOff(t *testing.T) {
	var l lanes
	now := time.Unix(1, 0)
	one := l.lane("a")
	for range 100 {
		l.enter("a", now)
		l.leave("a", false, time.Second, now)
	}
	l.enter("a", now)
	first, second := one.putOff(now), one.putOff(now)
	if first < 500*time.Millisecond || second < 2*first-time.Millisecond {
		t.Errorf("put off by %s and %s", first, second)
	}
	if later := one.putOff(now.Add(time.Minute)); later < 50*time.Second {
		t.Errorf("while it hangs for a minute by %s", later)
	}
	for range 10_000 {
		if wait := one.putOff(now); wait > maxPutOff {
			t.Fatalf("put off by %s", wait)
		}
	}
}
