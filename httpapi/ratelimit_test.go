package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
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
	expect.Equal(t, len(l.buckets), 2, "number of buckets")
	expect.Equal(t, l.recent.Len(), 2, "recent")
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

// A client with one address of IPv6 has as many as there are in its network of 64
// bits: they are one client, or the limit on tries were none.
func TestClientsCountByNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7:4000":                   "192.0.2.7",
		"192.0.2.8:4000":                   "192.0.2.8",
		"[::ffff:192.0.2.7]:4000":          "192.0.2.7",
		"[2001:db8:1:2::1]:4000":           "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff:ffff::9]:4001": "2001:db8:1:2::/64",
		"[2001:db8:1:3::1]:4000":           "2001:db8:1:3::/64",
		"[fe80::1%eth0]:4000":              "fe80::/64",
		"@":                                "@", // of a socket without addresses
	} {
		expect.Equal(t, remoteIP(&http.Request{RemoteAddr: address}), want, "%s", address)
	}
}

// Behind proxies that the host trusts, the client is who the last of them says; what a
// client has written into the header itself counts for nothing.
func TestClientsBehindProxies(t *testing.T) {
	config := Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}
	for _, tt := range []struct {
		connection string
		forwarded  []string
		want       string
	}{
		{"192.0.2.7:4000", nil, "192.0.2.7"},
		{"192.0.2.7:4000", []string{"198.51.100.1"}, "192.0.2.7"}, // no proxy of ours
		{"10.0.0.1:4000", nil, "10.0.0.1"},
		{"10.0.0.1:4000", []string{"198.51.100.1"}, "198.51.100.1"},
		{"[::ffff:10.0.0.1]:4000", []string{"198.51.100.1"}, "198.51.100.1"},
		{"10.0.0.1:4000", []string{"203.0.113.9, 198.51.100.1, 10.1.1.1"}, "198.51.100.1"},
		{"10.0.0.1:4000", []string{"203.0.113.9", "198.51.100.1:555"}, "198.51.100.1"},
		{"10.0.0.1:4000", []string{"2001:db8:1:2::1"}, "2001:db8:1:2::/64"},
		{"[fd00::1]:4000", []string{"[2001:db8:1:2::1]:80"}, "2001:db8:1:2::/64"},
		{"10.0.0.1:4000", []string{"198.51.100.1, nonsense"}, "10.0.0.1"},
		{"10.0.0.1:4000", []string{""}, "10.0.0.1"},
		{"@", []string{"198.51.100.1"}, "@"}, // of a socket without addresses
	} {
		r := &http.Request{RemoteAddr: tt.connection, Header: http.Header{"X-Forwarded-For": tt.forwarded}}
		expect.Equal(t, config.clientIP()(r), tt.want, "%s for %q", tt.connection, tt.forwarded)
	}
}

func TestUnknownProxyLogsOneWarning(t *testing.T) {
	for name, tt := range map[string]struct {
		config Config
		header string
		want   int
	}{
		"nothing said":        {Config{}, "X-Forwarded-For", 1},
		"nothing said, newer": {Config{}, "Forwarded", 1},
		"no proxy":            {Config{}, "Accept", 0},
		"none is trusted":     {Config{TrustedProxies: []netip.Prefix{}}, "X-Forwarded-For", 0},
		"the host says":       {Config{ClientIP: remoteIP}, "X-Forwarded-For", 0},
	} {
		rt, log := testRouter(tt.config, payoutRoutes...)
		for range 3 {
			serve(rt, newRequest("GET", "/v1/payouts", "", tt.header, "for=198.51.100.1"))
		}
		expect.Equal(t, strings.Count(log.String(), "TrustedProxies"), tt.want, "%s", name)
	}
}

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
	expect.True(t, r.has("a", strconv.Itoa(3*maxRecentKeys-1)), "it remembers others than the last")
	expect.True(t, !r.has("a", "0"), "it remembers others than the last")
	expect.True(t, !r.has("b", strconv.Itoa(3*maxRecentKeys-1)), "it remembers others than the last")
}
