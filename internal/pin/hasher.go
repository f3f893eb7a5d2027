// Package pin hashes and compares the short secrets of wallets, and lets one
// comparison at a time happen for each. Counting the wrong tries is the business
// of package account.
package pin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/crypto/argon2"
)

// Parameters of argon2id: the second of the equally strong choices in OWASP's
// password storage cheat sheet. A hash carries its own, so that they can be
// raised later.
const (
	memoryKiB  = 19 * 1024
	iterations = 2
	lanes      = 1
	saltBytes  = 16
	hashBytes  = 32
)

// Hasher hashes PINs, a few at a time: each takes 19 MiB while it runs.
type Hasher struct{ slots chan struct{} }

// NewHasher returns a hasher that runs as many at once as there are processors.
func NewHasher() *Hasher {
	return &Hasher{slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// Hash returns a salted hash in the PHC string format.
func (h *Hasher) Hash(ctx context.Context, pin string) (string, error) {
	salt := make([]byte, saltBytes)
	if _, err := rand.Read(salt); err != nil {
		return "", err
	}
	sum, err := h.run(ctx, pin, salt, memoryKiB, iterations, lanes, hashBytes)
	if err != nil {
		return "", err
	}
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memoryKiB, iterations, lanes, encode(salt), encode(sum)), nil
}

// Matches reports whether the hash is the PIN's, in constant time.
func (h *Hasher) Matches(ctx context.Context, hash, pin string) (bool, error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, errors.New("pin: unknown hash format")
	}
	var version int
	var memory, time uint32
	var threads uint8
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return false, errors.New("pin: unknown hash version")
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &time, &threads); err != nil {
		return false, errors.New("pin: unknown hash parameters")
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false, errors.New("pin: damaged hash")
	}
	want, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(want) == 0 {
		return false, errors.New("pin: damaged hash")
	}
	got, err := h.run(ctx, pin, salt, memory, time, threads, uint32(len(want)))
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

func (h *Hasher) run(ctx context.Context, pin string, salt []byte, memory, time uint32, threads uint8, length uint32) ([]byte, error) {
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-h.slots }()
	return argon2.IDKey([]byte(pin), salt, time, memory, threads, length), nil
}
