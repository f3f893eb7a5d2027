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
		if !l.enter("a") || l.enter("a") {
			t.Fatal("a new endpoint has not one place")
		}
		if !l.enter("b") {
			t.Fatal("another endpoint is held up")
		}
		l.leave("a", true)
		for i := range 2 {
			if !l.enter("a") {
				t.Fatalf("after a success there is no place %d", i+1)
			}
		}
		var entered atomic.Int64
		for range maxInside {
			go func() {
				if l.enter("a") {
					entered.Add(1)
				}
			}()
		}
		synctest.Wait()
		if entered.Load() != 0 {
			t.Errorf("%d entered a full lane", entered.Load())
		}
		if l.enter("a") {
			t.Error("more wait than may")
		}
		l.leave("a", true) // which makes room for two
		synctest.Wait()
		if entered.Load() != 2 {
			t.Errorf("%d entered", entered.Load())
		}
		for range 20 {
			l.leave("a", true)
			synctest.Wait()
		}
		if n := l.by["a"]; n.width != maxPerEndpoint || n.inFlight != maxPerEndpoint {
			t.Errorf("%d of %d places", n.inFlight, n.width)
		}
		l.leave("a", false)
		synctest.Wait()
		before := entered.Load()
		for range maxPerEndpoint - 1 {
			l.leave("a", false)
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
