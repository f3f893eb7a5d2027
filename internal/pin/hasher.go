// Package pin hashes and compares the short secrets of wallets, one comparison for each wallet at
// a time. Package party counts the wrong attempts.
package pin

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"golang.org/x/crypto/argon2"
)

// Parameters of argon2id: the second of the equally strong choices in OWASP's password storage
// cheat sheet. Each hash stores its own parameters, so later releases can raise them.
const (
	memoryKiB   = 19 * 1024
	iterations  = 2
	parallelism = 1
	saltBytes   = 16
	hashBytes   = 32
)

// weak is set by Weaken.
var weak atomic.Bool

// Weaken makes new hashes fast to compute, and fast to guess. Only tests call it, since they hash
// many PINs.
func Weaken() { weak.Store(true) }

// newParts returns the parameters of new hashes, without a salt.
func newParts() hashParts {
	p := hashParts{memory: memoryKiB, time: iterations, threads: parallelism, salt: make([]byte, saltBytes), sum: make([]byte, hashBytes)}
	if weak.Load() {
		p.memory, p.time = 8, 1
	}
	return p
}

// ErrUnknownKey says that the hasher does not have the key of a hash.
var ErrUnknownKey = errors.New("pin: the PIN was hashed under a key that is not configured")

// Hasher hashes PINs, a few at a time: each takes 19 MiB while it runs. A PIN has few possible
// values, so a thief could find it from a plain hash within minutes. The hasher therefore hashes
// an HMAC of the PIN under a key that is not in the database.
type Hasher struct {
	slots chan struct{}
	keys  []key
}

type key struct {
	id     string
	secret []byte
}

var encoding = base64.RawStdEncoding

// NewHasher returns a hasher that runs one hash for each processor. The first key is for new
// hashes. Hashes under the others, and without a key, still match. Without keys the hasher hashes
// PINs as they are.
func NewHasher(keys ...[]byte) *Hasher {
	h := &Hasher{slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	for _, secret := range keys {
		id := encoding.EncodeToString(keyedHash(secret, "key id")[:6])
		h.keys = append(h.keys, key{id, secret})
	}
	return h
}

func keyedHash(secret []byte, text string) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// hashParts is a hash in the PHC string format. keyID is empty for a hash without a key.
type hashParts struct {
	memory, time uint32
	threads      uint8
	keyID        string
	salt, sum    []byte
}

// Hash returns a salted hash under the first key, in the PHC string format.
func (h *Hasher) Hash(ctx context.Context, pin string) (string, error) {
	p := newParts()
	if _, err := rand.Read(p.salt); err != nil {
		return "", err
	}
	suffix := ""
	if len(h.keys) > 0 {
		p.keyID = h.keys[0].id
		suffix = ",keyid=" + p.keyID
	}
	sum, err := h.run(ctx, &p, pin)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d%s$%s$%s",
		argon2.Version, p.memory, p.time, p.threads, suffix, encoding.EncodeToString(p.salt), encoding.EncodeToString(sum)), nil
}

// Matches reports whether the hash is the PIN's, in constant time. The empty hash matches no PIN,
// and takes as long as another.
func (h *Hasher) Matches(ctx context.Context, hash, pin string) (bool, error) {
	parts := newParts()
	p := &parts
	if hash != "" {
		var err error
		if p, err = parse(hash); err != nil {
			return false, err
		}
	}
	got, err := h.run(ctx, p, pin)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, p.sum) == 1 && hash != "", nil
}

// Check returns [ErrUnknownKey], or another error, for a hash that cannot be compared. It is
// fast.
func (h *Hasher) Check(hash string) error {
	p, err := parse(hash)
	if err == nil {
		_, err = h.secret(p.keyID)
	}
	return err
}

// Stale reports whether a valid hash is under another key than the first.
func (h *Hasher) Stale(hash string) bool {
	p, err := parse(hash)
	return err == nil && len(h.keys) > 0 && p.keyID != h.keys[0].id
}

func parse(hash string) (*hashParts, error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return nil, errors.New("pin: unknown hash format")
	}
	var version int
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return nil, errors.New("pin: unknown hash version")
	}
	var p hashParts
	var numbers string
	numbers, p.keyID, _ = strings.Cut(parts[3], ",keyid=")
	if _, err := fmt.Sscanf(numbers, "m=%d,t=%d,p=%d", &p.memory, &p.time, &p.threads); err != nil {
		return nil, errors.New("pin: unknown hash parameters")
	}
	var err error
	if p.salt, err = encoding.DecodeString(parts[4]); err != nil {
		return nil, errors.New("pin: damaged hash")
	}
	if p.sum, err = encoding.DecodeString(parts[5]); err != nil || len(p.sum) == 0 {
		return nil, errors.New("pin: damaged hash")
	}
	return &p, nil
}

// secret returns the key with an id; nil for the empty id.
func (h *Hasher) secret(id string) ([]byte, error) {
	if id == "" {
		return nil, nil
	}
	for _, k := range h.keys {
		if k.id == id {
			return k.secret, nil
		}
	}
	return nil, ErrUnknownKey
}

// run computes the sum of a PIN with the parameters of a hash.
func (h *Hasher) run(ctx context.Context, p *hashParts, pin string) ([]byte, error) {
	secret, err := h.secret(p.keyID)
	if err != nil {
		return nil, err
	}
	password := []byte(pin)
	if secret != nil {
		password = keyedHash(secret, "pin\x00"+pin)
	}
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-h.slots }()
	return argon2.IDKey(password, p.salt, p.time, p.memory, p.threads, uint32(len(p.sum))), nil
}
