package party

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
)

const (
	// keyCacheTTL is the time for which the cache trusts a key that it has read. It is real time,
	// whatever the service's clock says.
	keyCacheTTL = time.Second
	// maxCachedKeys bounds the memory, at some 300 bytes each.
	maxCachedKeys = 10_000
)

// keyCache holds the keys that were read within the last second. So the service reads a busy
// merchant's key once a second, not with every call.
//
// A call that ends a key in this process empties the cache before it returns. Other processes see
// a revoked key after at most one second. This needs no message between processes.
type keyCache struct {
	mu   sync.RWMutex
	keys map[keyHash]cachedKey
	// forgotten counts the calls of forget, so that keep drops a read that began before one.
	forgotten int64
}

// keyHash is the SHA-256 of a secret.
type keyHash [sha256.Size]byte

type cachedKey struct {
	access   account.Access
	lastUsed time.Time
	ends     *api.Time
	until    time.Time // by the real clock
}

// find returns the rights of a cached key that is valid at the service's time now and whose use
// needs no note.
func (k *keyCache) find(hash keyHash, now time.Time) (account.Access, bool) {
	k.mu.RLock()
	known, ok := k.keys[hash]
	k.mu.RUnlock()
	if !ok || !time.Now().Before(known.until) || now.Sub(known.lastUsed) >= lastUsedStep || known.ends != nil && !now.Before(known.ends.Time) {
		return account.Access{}, false
	}
	return known.access, true
}

// begin starts a read of a key.
func (k *keyCache) begin() (reading int64, at time.Time) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.forgotten, time.Now()
}

// keep caches a key that was read since begin, unless a key has ended meanwhile.
func (k *keyCache) keep(reading int64, hash keyHash, key cachedKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if reading != k.forgotten {
		return
	}
	if len(k.keys) >= maxCachedKeys {
		clear(k.keys)
	}
	if k.keys == nil {
		k.keys = make(map[keyHash]cachedKey)
	}
	k.keys[hash] = key
}

// forget empties the cache when a key has ended, which is rare.
func (k *keyCache) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forgotten++
	clear(k.keys)
}
