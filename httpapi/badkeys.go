package httpapi

import (
	"hash/maphash"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-7082ffec/payments/storage"
)

// maxBadKeys is how many bad API keys an address may send in a minute.
const maxBadKeys = 100

// badKeyLimiter limits requests from addresses that send bad API keys. An IPv6 address counts
// by its network of 64 bits and by that of 48, which one customer may have. A key that was
// good from the same address before passes: several merchants may share an address.
type badKeyLimiter struct {
	limiter  *limiter
	goodKeys recentKeys
}

func newBadKeyLimiter() *badKeyLimiter {
	return &badKeyLimiter{newTokenLimiter(rate.Limit(maxBadKeys/time.Minute.Seconds()), maxBadKeys), recentKeys{seed: maphash.MakeSeed()}}
}

// badKeyScopes returns the buckets that a bad key of a client counts in.
func badKeyScopes(client string) []storage.Scope {
	all := []storage.Scope{{Merchant: client}}
	if wide := clientNetwork(client, 48); wide != client {
		all = append(all, storage.Scope{Merchant: wide})
	}
	return all
}

// check refuses a key of a client that sent too many bad ones, before the key is looked up.
func (f *badKeyLimiter) check(client, key string, now time.Time) error {
	if f.goodKeys.has(client, key) {
		return nil
	}
	var wait time.Duration
	for _, group := range badKeyScopes(client) {
		wait = max(wait, f.limiter.wait(group, now))
	}
	if wait == 0 {
		return nil
	}
	return rateLimitError(wait, "There were too many requests with a bad API key from this address. Check the key, and try again after the seconds in the header Retry-After.")
}

// failed counts a bad key.
func (f *badKeyLimiter) failed(client, key string, now time.Time) {
	f.goodKeys.forget(client, key)
	for _, group := range badKeyScopes(client) {
		_ = f.limiter.take(group, now) // check is what refuses
	}
}

// succeeded remembers a good key.
func (f *badKeyLimiter) succeeded(client, key string) { f.goodKeys.add(client, key) }

// recentKeys remembers which keys were good from which client: the last maxRecentKeys to twice
// as many. It keeps a hash of both, with a random seed.
type recentKeys struct {
	seed maphash.Seed

	mu         sync.RWMutex
	young, old map[uint64]struct{}
}

const maxRecentKeys = 10_000

func (r *recentKeys) hash(client, key string) uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	_, _ = h.WriteString(client)
	_ = h.WriteByte(0)
	_, _ = h.WriteString(key)
	return h.Sum64()
}

func (r *recentKeys) has(client, key string) bool {
	at := r.hash(client, key)
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, young := r.young[at]
	_, old := r.old[at]
	return young || old
}

func (r *recentKeys) add(client, key string) {
	at := r.hash(client, key)
	r.mu.RLock()
	_, young := r.young[at]
	r.mu.RUnlock()
	if young {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.young == nil || len(r.young) >= maxRecentKeys {
		r.old, r.young = r.young, make(map[uint64]struct{})
	}
	r.young[at] = struct{}{}
}

func (r *recentKeys) forget(client, key string) {
	at := r.hash(client, key)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.young, at)
	delete(r.old, at)
}
