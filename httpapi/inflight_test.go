package httpapi

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

// crowd is a router whose requests stay under way until they are let go.
type crowd struct {
	*router
	hold  chan struct{}
	files atomic.Int64 // heavy requests that are being handled, or were
}

func newCrowd(config Config) *crowd {
	c := &crowd{hold: make(chan struct{})}
	wait := func(*request) (any, error) {
		<-c.hold
		return nil, nil
	}
	file := func(r *request) (any, error) {
		c.files.Add(1)
		return wait(r)
	}
	c.router, _ = testRouter(config,
		route{method: "GET", pattern: "/v1/payouts", handle: wait},
		route{method: "GET", pattern: "/v1/file", handle: file, heavy: true},
		route{method: "GET", pattern: "/pay/{id}", handle: wait},
	)
	return c
}

// send begins so many requests, which stay under way.
func (c *crowd) send(n int, target, key, from string) {
	for range n {
		go c.ask(target, key, from)
	}
	synctest.Wait()
}

func (c *crowd) ask(target, key, from string) int {
	r := newRequest("GET", target, "", "Authorization", "Bearer "+key)
	r.RemoteAddr = from
	return serve(c, r).Code
}

// refuses reports whether one more is refused at once.
func (c *crowd) refuses(t *testing.T, target, key, from string) bool {
	t.Helper()
	answered := make(chan bool, 1)
	go func() {
		r := newRequest("GET", target, "", "Authorization", "Bearer "+key)
		r.RemoteAddr = from
		w := serve(c, r)
		if w.Code == http.StatusTooManyRequests {
			expect.Equal(t, codeOf(w), "rate_limited", "code of the refusal %s", w.Body)
			expect.True(t, w.Header().Get("Retry-After") != "", "the refusal has no Retry-After: %s", w.Body)
		}
		answered <- w.Code == http.StatusTooManyRequests
	}()
	synctest.Wait()
	select {
	case refused := <-answered:
		return refused
	default:
		return false // it is under way
	}
}

const here, there = "192.0.2.1:1", "192.0.2.2:1"

func TestRequestsInFlightAreBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		target, key string
		bound       int
	}{
		"test mode": {"/v1/payouts", goodKey, 128},
		"live mode": {"/v1/payouts", "sk_live_good", 256},
		"a page":    {"/pay/qr_1", "", 64},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(Config{})
				c.send(tt.bound-1, tt.target, tt.key, here)
				if c.refuses(t, tt.target, tt.key, here) { // it takes the last place
					t.Errorf("refused number %d", tt.bound)
				}
				expect.True(t, c.refuses(t, tt.target, tt.key, here), "let through number %d", tt.bound+1)
				// Others are not concerned.
				expect.Equal(t, c.refuses(t, "/v1/payouts", "sk_live_good", there), name == "live mode", "refused another mode or another address: refuses")
				expect.True(t, !c.refuses(t, "/pay/qr_1", "", there), "refused another mode or another address")
				close(c.hold)
				synctest.Wait()
				expect.Equal(t, c.ask(tt.target, tt.key, here), http.StatusNoContent, "after the others have ended: status")
				c.inFlight.isEmpty(t)
				c.heavy.isEmpty(t)
			})
		})
	}
}

// isEmpty reports places that are still counted, and channels that no request waits for.
func (f *concurrencyLimiter) isEmpty(t *testing.T) {
	t.Helper()
	expect.Equal(t, f.total, 0, "still counted: total")
	expect.Equal(t, f.byClass, [3]int{}, "still counted: by class")
	expect.Equal(t, len(f.groups), 0, "still counted: number of groups")
	expect.True(t, f.freed == nil, "still counted: freed is set")
}

// Two requests that take much memory are worked on for a merchant in test mode at a time.
// The others wait, as long as a request may take.
func TestHeavyRequestsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(Config{})
		c.send(20, "/v1/file", goodKey, here)
		expect.Equal(t, c.files.Load(), 2, "are worked on")
		c.send(1, "/v1/file", "sk_live_good", here)
		expect.Equal(t, c.files.Load(), 3, "with one of another mode")
		time.Sleep(c.config.timeout() + time.Second) // those that wait are answered
		expect.Equal(t, c.files.Load(), 3, "after the others gave up")
		c.send(3, "/v1/file", goodKey, here)
		close(c.hold)
		synctest.Wait()
		expect.Equal(t, c.files.Load(), 6, "were worked on in the end")
		c.heavy.isEmpty(t)
	})
}

// Test mode, and pages, take a quarter of all places each, and stop neither each other
// nor live mode.
func TestTestModeAndPagesHaveAQuarterEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(Config{InFlight: InFlight{All: 8}})
		defer close(c.hold)
		c.send(2, "/v1/payouts", goodKey, here)
		expect.True(t, c.refuses(t, "/v1/payouts", goodKey, here), "test mode took more than a quarter")
		for i, from := range []string{here, there} {
			expect.True(t, !c.refuses(t, "/pay/qr_1", "", from), "page %d was refused", i+1)
		}
		expect.True(t, c.refuses(t, "/pay/qr_1", "", "192.0.2.3:1"), "pages took more than a quarter")
		for i := range 4 {
			expect.True(t, !c.refuses(t, "/v1/payouts", "sk_live_good", here), "live mode was refused number %d", i+1)
		}
		expect.True(t, c.refuses(t, "/v1/payouts", "sk_live_good", here), "more than all are under way")
	})
}

// The networks of 64 bits of one line, which are 256, are one address of pages.
func TestPagesInFlightCountByNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(Config{InFlight: InFlight{Page: 2}})
		defer close(c.hold)
		c.send(1, "/pay/qr_1", "", "[2001:db8:1:1::1]:1")
		c.send(1, "/pay/qr_1", "", "[2001:db8:1:2::1]:1")
		expect.True(t, c.refuses(t, "/pay/qr_1", "", "[2001:db8:1:3::1]:1"), "let through a third of one network of 48 bits")
		expect.True(t, !c.refuses(t, "/pay/qr_1", "", "[2001:db8:2:3::1]:1"), "refused another network")
	})
}

func TestConcurrencyLimiterDropsIdleGroups(t *testing.T) {
	f := newConcurrencyLimiter(InFlight{})
	caller := api.Caller{Merchant: "mer_1"}
	if n := testing.AllocsPerRun(100, func() {
		p, err := f.acquire()
		if err == nil {
			err = p.joinGroup(caller, "")
		}
		if err != nil {
			t.Error(err)
		}
		p.release()
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// A handler that cuts the connection gives its place back.
func TestPanicReleasesSlot(t *testing.T) {
	rt, _ := testRouter(Config{InFlight: InFlight{Test: 1}},
		route{method: "GET", pattern: "/v1/cut", handle: func(*request) (any, error) { panic(http.ErrAbortHandler) }},
		route{method: "GET", pattern: "/v1/broken", handle: func(*request) (any, error) { panic("broken") }},
	)
	for range 3 {
		func() {
			defer func() { _ = recover() }()
			serve(rt, newRequest("GET", "/v1/cut", ""))
		}()
		if w := serve(rt, newRequest("GET", "/v1/broken", "")); w.Code != http.StatusInternalServerError {
			t.Errorf("status %d", w.Code)
		}
	}
}
