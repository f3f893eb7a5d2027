package webhook

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// An endpoint that answers gains places, one that does not keeps one, and nobody
// waits there.
func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lanes
		if !in(&l, "a") || in(&l, "a") {
			t.Fatal("a new endpoint has not one place")
		}
		if !in(&l, "b") {
			t.Fatal("another endpoint is held up")
		}
		l.leave("a", true, time.Millisecond, time.Now())
		for i := range 2 {
			if !in(&l, "a") {
				t.Fatalf("after a success there is no place %d", i+1)
			}
		}
		var entered atomic.Int64
		for range maxInside {
			go func() {
				if in(&l, "a") {
					entered.Add(1)
				}
			}()
		}
		synctest.Wait()
		if entered.Load() != 0 {
			t.Errorf("%d entered a full lane", entered.Load())
		}
		if in(&l, "a") {
			t.Error("more wait than may")
		}
		l.leave("a", true, time.Millisecond, time.Now()) // which makes room for two
		synctest.Wait()
		if entered.Load() != 2 {
			t.Errorf("%d entered", entered.Load())
		}
		for range 20 {
			l.leave("a", true, time.Millisecond, time.Now())
			synctest.Wait()
		}
		if n := l.by["a"]; n.width != maxPerEndpoint || n.inFlight != maxPerEndpoint {
			t.Errorf("%d of %d places", n.inFlight, n.width)
		}
		l.leave("a", false, time.Millisecond, time.Now())
		synctest.Wait()
		before := entered.Load()
		for range maxPerEndpoint - 1 {
			l.leave("a", false, time.Millisecond, time.Now())
		}
		synctest.Wait()
		if got := entered.Load() - before; got != 1 {
			t.Errorf("after failures %d entered, want one", got)
		}
		time.Sleep(maxWait) // of the bubble's clock
		synctest.Wait()
		if waiting := len(l.by["a"].waiting); waiting != 0 {
			t.Errorf("%d still wait", waiting)
		}
	})
}

func in(l *lanes, endpoint string) bool {
	ok, _ := l.enter(endpoint, time.Now())
	return ok
}

// What finds no place is put off one after the other, by how long attempts last.
func TestPutOff(t *testing.T) {
	var l lanes
	now := time.Unix(1, 0)
	l.enter("a", now)
	for range 100 {
		l.leave("a", false, time.Second, now)
		l.enter("a", now)
	}
	_, first := l.enter("a", now)
	_, second := l.enter("a", now)
	if first < 500*time.Millisecond || second < 2*first-time.Millisecond {
		t.Errorf("put off by %s and %s", first, second)
	}
	if _, later := l.enter("a", now.Add(time.Minute)); later < 50*time.Second {
		t.Errorf("while it hangs for a minute by %s", later)
	}
	for range 10_000 {
		if _, wait := l.enter("a", now); wait > maxPutOff {
			t.Fatalf("put off by %s", wait)
		}
	}
}
