package httpapi

import (
	"hash/maphash"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-7082ffec/payments/storage"
)

// maxFailures is how many bad keys an address may bring in a minute.
const maxFailures = 100

// failures slows the addresses that bad keys come from. An address of IPv6 counts by
// its network of 64 bits, and by that of 48, which one customer may have. A key that was
// good from there before is not slowed: others may have the same address.
type failures struct {
	limiter *limiter
	good    recent
}

func newFailures() *failures {
	return &failures{newBuckets(rate.Limit(maxFailures/time.Minute.Seconds()), maxFailures), recent{seed: maphash.MakeSeed()}}
}

// groups returns what a failure of a client counts for.
func groups(client string) []storage.Scope {
	all := []storage.Scope{{Merchant: client}}
	if wide := network(client, 48); wide != client {
		all = append(all, storage.Scope{Merchant: wide})
	}
	return all
}

// check refuses a key, before it is looked for, of a client that had too many bad ones.
func (f *failures) check(client, key string, now time.Time) error {
	if f.good.has(client, key) {
		return nil
	}
	var wait time.Duration
	for _, group := range groups(client) {
		wait = max(wait, f.limiter.wait(group, now))
	}
	if wait == 0 {
		return nil
	}
	return tooMany(wait, "There were too many requests with a bad API key from this address. Check the key, and try again after the seconds in the header Retry-After.")
}

// failed counts a bad key.
func (f *failures) failed(client, key string, now time.Time) {
	f.good.forget(client, key)
	for _, group := range groups(client) {
		_ = f.limiter.take(group, now) // check is what refuses
	}
}

// succeeded remembers a good key.
func (f *failures) succeeded(client, key string) { f.good.add(client, key) }

// recent remembers the last keys that were good, and from where: between maxRecent and
// twice as many. A hash stands for both, with a seed that nobody knows.
type recent struct {
	seed maphash.Seed

	mu         sync.RWMutex
	young, old map[uint64]struct{}
}

const maxRecent = 10_000

func (r *recent) hash(client, key string) uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	_, _ = h.WriteString(client)
	_ = h.WriteByte(0)
	_, _ = h.WriteString(key)
	return h.Sum64()
}

func (r *recent) has(client, key string) bool {
	at := r.hash(client, key)
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, young := r.young[at]
	_, old := r.old[at]
	return young || old
}

func (r *recent) add(client, key string) {
	at := r.hash(client, key)
	r.mu.RLock()
	_, young := r.young[at]
	r.mu.RUnlock()
	if young {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.young == nil || len(r.young) >= maxRecent {
		r.old, r.young = r.young, make(map[uint64]struct{})
	}
	r.young[at] = struct{}{}
}

func (r *recent) forget(client, key string) {
	at := r.hash(client, key)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.young, at)
	delete(r.old, at)
}
