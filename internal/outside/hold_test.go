package outside

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// An order is renewed for as long as the call lasts, and before its time is over.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		until := begin.Add(UnderWay)
		renewed := 0
		release := Hold(t.Context(), func(ctx context.Context) bool {
			if ctx.Err() != nil || !time.Now().Before(until) {
				t.Errorf("renewed after %s, %v", time.Since(begin), ctx.Err())
			}
			renewed++
			until = time.Now().Add(UnderWay)
			return true
		})
		time.Sleep(2*callTimeout - time.Millisecond)
		synctest.Wait()
		release()
		if !time.Now().Before(until) || renewed == 0 {
			t.Errorf("after %s, and %d renewals, it is held until %s", time.Since(begin), renewed, until.Sub(begin))
		}
		before := renewed
		time.Sleep(time.Minute)
		synctest.Wait()
		if renewed != before {
			t.Error("renewed after it was released")
		}
	})
}

func TestHoldOfAShortCallRenewsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := Hold(t.Context(), func(context.Context) bool {
			t.Error("renewed")
			return true
		})
		time.Sleep(renewEvery - time.Millisecond)
		release()
		time.Sleep(time.Minute)
	})
}

func TestHoldEndsWhenThereIsNothingLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		renewed := 0
		defer Hold(t.Context(), func(context.Context) bool {
			renewed++
			return renewed < 2
		})()
		time.Sleep(time.Minute)
		synctest.Wait()
		if renewed != 2 {
			t.Errorf("renewed %d times", renewed)
		}
	})
}
