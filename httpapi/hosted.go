package httpapi

import (
	"crypto/rand"
	"net/http"
	"time"

	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/storage"
)

// payLimit bounds the tries of one client address, so that nobody tries one PIN
// on many wallets: five a second, a hundred at once. It is always on.
var payLimit = RateLimit{PerSecond: 5, Burst: 100}

// visitors bounds what one client may try on a hosted page.
type visitors struct {
	limiter  *limiter
	clientIP func(*http.Request) string
}

func newVisitors(config Config) visitors {
	return visitors{newLimiter(payLimit), config.clientIP()}
}

// limited refuses a client that comes too often.
func (v visitors) limited(r *request) error {
	return v.limiter.take(storage.Scope{Merchant: v.clientIP(r.Request)}, time.Now())
}

const formTokenLength = 22

// newFormToken makes a form that is posted twice pay once.
func newFormToken() string { return ids.Secret(rand.Reader, formTokenLength) }

// formToken is what a form has brought back, or a new one in place of what is none.
func formToken(given string) string {
	if !ids.IsBase62(given) || len(given) != formTokenLength {
		return newFormToken()
	}
	return given
}
