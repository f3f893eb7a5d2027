package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage"
)

func TestLimiter(t *testing.T) {
	l := newLimiter(RateLimit{PerSecond: 2, Burst: 3})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	test, live := storage.Scope{Merchant: "mer_1"}, storage.Scope{Merchant: "mer_1", Live: true}
	for i := range 3 {
		if err := l.take(test, now); err != nil {
			t.Fatalf("request %d of a burst of 3: %v", i+1, err)
		}
	}
	var e *api.Error
	for range 5 { // refusals do not count
		if err := l.take(test, now); !errors.As(err, &e) || e.Code != api.RateLimited || e.RetryAfter != time.Second/2 {
			t.Fatalf("the fourth: %v, want rate_limited for half a second", err)
		}
	}
	expect.NoError(t, l.take(live, now), "live mode counts with test mode")
	expect.NoError(t, l.take(test, now.Add(time.Second/2)), "after the wait")
	if err := l.take(test, now.Add(time.Second/2)); err == nil {
		t.Error("two passed after the wait for one")
	}
	expect.NoError(t, newLimiter(RateLimit{}).take(test, now), "a limiter that is off refused")
	expect.Equal(t, newLimiter(RateLimit{PerSecond: 7}).burst, 7, "burst")
}

func TestLimiterDropsLeastRecentlyUsed(t *testing.T) {
	l := newLimiter(RateLimit{PerSecond: 1})
	l.max = 2
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	take := func(merchant string) error { return l.take(storage.Scope{Merchant: merchant}, now) }
	for _, merchant := range []string{"a", "b"} {
		must.Do(t, take(merchant))
	}
	if take("a") == nil { // refused, but used last
		t.Fatal("a passed twice")
	}
	for i := range 100 {
		must.Do(t, take(fmt.Sprint("new", i)))
		must.True(t, take("a") != nil, "the bucket used last was forgotten")
	}
	expect.True(t, len(l.buckets) == 2 && l.recent.Len() == 2, "%d buckets in the map and %d in the list, want 2", len(l.buckets), l.recent.Len())
}

func TestRateLimitOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, _ := testRouter(Config{RateLimit: RateLimit{PerSecond: 1, Burst: 2}}, payoutRoutes...)
		get := func(target string) (int, string) {
			w := serve(rt, newRequest("GET", target, ""))
			return w.Code, w.Header().Get("Retry-After")
		}
		get("/v1/payouts")
		if code, _ := get("/v1/nothing"); code != http.StatusNotFound {
			t.Errorf("the second: status %d", code)
		}
		// What does not exist counts, too.
		if code, wait := get("/v1/payouts"); code != http.StatusTooManyRequests || wait != "1" {
			t.Errorf("the third: status %d, Retry-After %q, want 429 and 1", code, wait)
		}
		if code, _ := get("/pay/qr_1"); code != http.StatusOK {
			t.Errorf("a public path: status %d", code)
		}
		time.Sleep(time.Second) // of the bubble's clock
		if code, _ := get("/v1/payouts"); code != http.StatusOK {
			t.Errorf("after the wait: status %d", code)
		}
	})
}
