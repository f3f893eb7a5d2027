// Package ids makes the identifiers of objects: a prefix that names the noun,
// then 22 characters that sort by time of creation.
//
// The characters are base 62 in ASCII order, so that ids ascend bytewise in the order of their
// creation: 8 of milliseconds since 1970, 3 of a counter within the millisecond, 11 of randomness
// (65 bits), which keeps ids from being guessed.
package ids

import (
	"crypto/rand"
	"crypto/sha256"
	"io"
	"strings"
	"sync"
	"time"
)

// Length is the number of characters after the prefix.
const Length = timeChars + countChars + randomChars

const (
	timeChars   = 8 // 62^8 ms reach beyond the year 8000
	countChars  = 3
	randomChars = 11
	maxCount    = 62*62*62 - 1
)

// Source makes ids. Each is greater than all that the source has made before,
// even when the clock steps back. A Source is safe for concurrent use.
type Source struct {
	now    func() time.Time
	random io.Reader

	mu    sync.Mutex
	last  int64
	count int64
}

// New returns a source on the given clock. random is crypto/rand.Reader, except in tests that
// need the same ids again.
func New(now func() time.Time, random io.Reader) *Source {
	if random == nil {
		random = rand.Reader
	}
	return &Source{now: now, random: random}
}

// Make returns a new id with that prefix, for example Make("qr_").
func (s *Source) Make(prefix string) string {
	b := make([]byte, len(prefix)+Length)
	copy(b, prefix)

	s.mu.Lock()
	ms := s.now().UnixMilli()
	switch {
	case ms > s.last:
		s.last, s.count = ms, 0
	case s.count < maxCount:
		s.count++
	default:
		s.last, s.count = s.last+1, 0
	}
	at := b[len(prefix):]
	put(at[:timeChars], s.last)
	put(at[timeChars:timeChars+countChars], s.count)
	randomText(s.random, at[timeChars+countChars:])
	s.mu.Unlock()
	return string(b)
}

// Derived returns an id that depends only on another id and a name. It sorts by the time of the
// other id.
func Derived(prefix, from, name string) string {
	const stamp = timeChars + countChars
	_, of, ok := strings.Cut(from, "_")
	if !ok || len(of) < stamp {
		of = strings.Repeat("0", stamp)
	}
	b := make([]byte, 0, len(prefix)+Length)
	b = append(append(b, prefix...), of[:stamp]...)
	sum := sha256.Sum256([]byte(from + " " + name))
	for _, n := range sum[:randomChars] {
		b = append(b, alphabet[int(n)%len(alphabet)])
	}
	return string(b)
}

// Following returns id if it sorts after last, else last with its counter raised by one. It
// keeps ids ascending where several processes make them by clocks of their own. An id that
// Make did not form stays as it is.
func Following(id, last string) string {
	const stamp = timeChars + countChars
	prefix := len(id) - Length
	if id > last || prefix < 0 || len(last) != len(id) || id[:prefix] != last[:prefix] || !IsBase62(last[prefix:]) {
		return id
	}
	b := []byte(last[:prefix+stamp] + id[prefix+stamp:])
	for i := prefix + stamp - 1; i >= prefix; i-- {
		at := strings.IndexByte(alphabet, b[i])
		if at+1 < len(alphabet) {
			b[i] = alphabet[at+1]
			break
		}
		b[i] = alphabet[0]
	}
	return string(b)
}

// Secret returns n random characters of base 62, 5.95 bits each.
func Secret(random io.Reader, n int) string {
	b := make([]byte, n)
	randomText(random, b)
	return string(b)
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func put(b []byte, n int64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = alphabet[n%62]
		n /= 62
	}
}

// randomText fills b with characters that are equally likely. It draws bytes from 248 up again,
// since they would favour the first eight characters.
func randomText(random io.Reader, b []byte) {
	var buf [32]byte
	for i := 0; i < len(b); {
		if _, err := io.ReadFull(random, buf[:]); err != nil {
			panic("ids: no randomness: " + err.Error()) // crypto/rand never fails
		}
		for _, c := range buf {
			if c < 248 && i < len(b) {
				b[i] = alphabet[c%62]
				i++
			}
		}
	}
}

// IsBase62 reports whether s has only characters that Make and Secret use.
func IsBase62(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// Base62 writes a number that is not negative with exactly width characters.
func Base62(n int64, width int) string {
	b := make([]byte, width)
	put(b, n)
	return string(b)
}
