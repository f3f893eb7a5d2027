package account

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

const (
	// keyTrust is how long a key is believed to be what it was when it was read. It is
	// real time, whatever the clock of the service says.
	keyTrust = time.Second
	// maxKnownKeys bounds the memory, at some 300 bytes each.
	maxKnownKeys = 10_000
)

// knownKeys are the keys that were read within the last second, so that a merchant who
// calls often has its key looked up once a second, and not with every call: that was
// half of what a GET by id cost more than a bare handler.
//
// What ends a key in this process has all of them forgotten before it returns, and what
// another process does is seen a second later at the latest: there is no word of it
// that a store would have to pass on, on PostgreSQL as little as on SQLite, and none
// that could be lost.
type knownKeys struct {
	mu   sync.RWMutex
	keys map[keyHash]knownKey
	// forgotten counts, so that what was read before is not remembered after.
	forgotten int64
}

// keyHash is the SHA-256 of a secret.
type keyHash [sha256.Size]byte

type knownKey struct {
	access   Access
	lastUsed time.Time
	ends     *api.Time
	until    time.Time // by the real clock
}

// find returns a key that works at the time now of the service, and whose use need not
// be noted.
func (k *knownKeys) find(hash keyHash, now time.Time) (Access, bool) {
	k.mu.RLock()
	known, ok := k.keys[hash]
	k.mu.RUnlock()
	if !ok || !time.Now().Before(known.until) || now.Sub(known.lastUsed) >= lastUsedStep || known.ends != nil && !now.Before(known.ends.Time) {
		return Access{}, false
	}
	return known.access, true
}

// begin is called before a key is read.
func (k *knownKeys) begin() (reading int64, at time.Time) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.forgotten, time.Now()
}

// keep remembers what was read since begin, unless a key has ended meanwhile.
func (k *knownKeys) keep(reading int64, hash keyHash, key knownKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if reading != k.forgotten {
		return
	}
	if len(k.keys) >= maxKnownKeys {
		clear(k.keys)
	}
	if k.keys == nil {
		k.keys = make(map[keyHash]knownKey)
	}
	k.keys[hash] = key
}

// forget is called when a key has ended. Keys seldom do.
func (k *knownKeys) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forgotten++
	clear(k.keys)
}
