package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
)

func TestBadKeysAreLimitedByAddress(t *testing.T) {
	for name, tt := range map[string]struct {
		from      func(i int) string // of the bad keys
		slow, not []string
	}{
		"IPv4": {func(int) string { return "192.0.2.7:9" }, []string{"192.0.2.7:1"}, []string{"192.0.2.8:1"}},
		"a network of 64 bits": {
			func(i int) string { return fmt.Sprintf("[2001:db8:1:2::%x]:9", i) },
			[]string{"[2001:db8:1:2:3::]:1"},
			[]string{"[2001:db8:2:2::1]:1"},
		},
		"a network of 48 bits": {
			func(i int) string { return fmt.Sprintf("[2001:db8:1:%x::1]:9", i) },
			[]string{"[2001:db8:1:ffff::1]:1"},
			[]string{"[2001:db8:2::1]:1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tried := 0
				config := Config{}
				rt, _ := testRouter(config, payoutRoutes...)
				rt.config.Authenticate = func(ctx context.Context, key string) (Access, error) {
					tried++
					return authenticateTest(ctx, key)
				}
				ask := func(from, key string) (int, string) {
					r := newRequest("GET", "/v1/payouts", "", "Authorization", "Bearer "+key)
					r.RemoteAddr = from
					w := serve(rt, r)
					return w.Code, w.Header().Get("Retry-After")
				}
				ask(tt.from(0), readKey) // which is good, and known from there
				for i := range 100 {
					if status, _ := ask(tt.from(i), "sk_test_"+strconv.Itoa(i)); status != http.StatusUnauthorized {
						t.Fatalf("bad key %d: status %d", i+1, status)
					}
				}
				tried = 0
				for _, from := range tt.slow {
					for _, key := range []string{"sk_test_bad", "no key at all", goodKey} {
						if status, wait := ask(from, key); status != http.StatusTooManyRequests || wait != "1" {
							t.Errorf("%s from %s: status %d, Retry-After %q", key, from, status, wait)
						}
					}
				}
				expect.Equal(t, tried, 0, "%d keys were looked for all the same", tried)
				if status, _ := ask(tt.from(0), readKey); status != http.StatusOK {
					t.Errorf("a key that was good from there before: status %d", status)
				}
				for _, from := range tt.not {
					if status, _ := ask(from, goodKey); status != http.StatusOK {
						t.Errorf("from %s: status %d", from, status)
					}
				}
				// No key is no try.
				r := newRequest("GET", "/v1/payouts", "")
				r.Header.Del("Authorization")
				r.RemoteAddr = tt.slow[0]
				if w := serve(rt, r); w.Code != http.StatusUnauthorized {
					t.Errorf("without a key: status %d", w.Code)
				}
				time.Sleep(time.Minute)
				if status, _ := ask(tt.slow[0], goodKey); status != http.StatusOK {
					t.Errorf("a minute later: status %d", status)
				}
			})
		})
	}
}

// A key that was good and is not any more, is not let through.
func TestRevokedKeysAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, _ := testRouter(Config{}, payoutRoutes...)
		get := func(key string) int {
			return serve(rt, newRequest("GET", "/v1/payouts", "", "Authorization", "Bearer "+key)).Code
		}
		get(goodKey)
		for range 100 {
			get("bad")
		}
		rt.config.Authenticate = func(context.Context, string) (Access, error) {
			return Access{}, api.Errorf(api.APIKeyInvalid, "", "It was revoked.")
		}
		expect.Equal(t, get(goodKey), http.StatusUnauthorized, "the first time: status")
		expect.Equal(t, get(goodKey), http.StatusTooManyRequests, "the second time: status")
	})
}

func TestRecentKeysDropOldest(t *testing.T) {
	r := &newBadKeyLimiter().goodKeys
	for i := range 3 * maxRecentKeys {
		r.add("a", strconv.Itoa(i))
	}
	if n := len(r.young) + len(r.old); n > 2*maxRecentKeys {
		t.Errorf("it remembers %d", n)
	}
	expect.True(t, r.has("a", strconv.Itoa(3*maxRecentKeys-1)) && !r.has("a", "0") && !r.has("b", strconv.Itoa(3*maxRecentKeys-1)), "it remembers others than the last")
}
