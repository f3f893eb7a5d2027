package httpapi

import (
	"container/list"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// RateLimit bounds how often each merchant may call. Test and live mode count separately.
// It counts in this process only. The zero value is off.
type RateLimit struct {
	// PerSecond is the sustained rate.
	PerSecond int
	// Burst is how many requests may come at once; 0 stands for PerSecond.
	Burst int
}

// maxBuckets bounds the memory of the limiter, at some 200 bytes each.
const maxBuckets = 10_000

// limiter keeps a token bucket for each merchant and mode. When there are too
// many, it drops the least recently used one, which is likeliest to be full again.
type limiter struct {
	limit rate.Limit
	burst int
	max   int

	mu      sync.Mutex
	buckets map[storage.Scope]*list.Element
	recent  *list.List // of *bucket, the one used last in front
}

type bucket struct {
	scope  storage.Scope
	tokens *rate.Limiter
}

// newLimiter returns nil, which lets everything through, when l is off.
func newLimiter(l RateLimit) *limiter {
	if l.PerSecond <= 0 {
		return nil
	}
	burst := l.Burst
	if burst <= 0 {
		burst = l.PerSecond
	}
	return newTokenLimiter(rate.Limit(l.PerSecond), burst)
}

// newTokenLimiter returns a limiter that lets burst requests through at once.
func newTokenLimiter(limit rate.Limit, burst int) *limiter {
	return &limiter{
		limit:   limit,
		burst:   burst,
		max:     maxBuckets,
		buckets: make(map[storage.Scope]*list.Element),
		recent:  list.New(),
	}
}

// take counts one request, or refuses it with rate_limited and the time after
// which the next one passes. A refused request does not count.
func (l *limiter) take(scope storage.Scope, now time.Time) error {
	if l == nil {
		return nil
	}
	r := l.bucket(scope).ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	return rateLimitError(wait, "There are too many requests. Slow down, and try again after the seconds in the header Retry-After.")
}

// rateLimitError is a refusal with the time after which the next request passes.
func rateLimitError(wait time.Duration, message string) error {
	return api.Errorf(api.RateLimited, "", "%s", message).After(wait)
}

// charge counts one request that was let through. Below zero, the bucket fills up again
// before wait lets the next request pass.
func (l *limiter) charge(scope storage.Scope, now time.Time) { l.bucket(scope).ReserveN(now, 1) }

// wait returns the time after which a request passes, 0 when one passes now. It counts
// none.
func (l *limiter) wait(scope storage.Scope, now time.Time) time.Duration {
	tokens := l.bucket(scope).TokensAt(now)
	if tokens >= 1 {
		return 0
	}
	return time.Duration((1 - tokens) / float64(l.limit) * float64(time.Second))
}

func (l *limiter) bucket(scope storage.Scope) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.buckets[scope]; ok {
		l.recent.MoveToFront(e)
		return e.Value.(*bucket).tokens
	}
	if l.recent.Len() >= l.max {
		oldest := l.recent.Remove(l.recent.Back()).(*bucket)
		delete(l.buckets, oldest.scope)
	}
	b := &bucket{scope: scope, tokens: rate.NewLimiter(l.limit, l.burst)}
	l.buckets[scope] = l.recent.PushFront(b)
	return b.tokens
}
