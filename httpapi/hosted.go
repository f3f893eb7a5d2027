package httpapi

import (
	"crypto/rand"
	"net/http"
	"time"

	"github.com/seed-7082ffec/payments/api"
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

// limited refuses a client that comes too often. found is the error with which the page
// was looked for, and comes back else. Pages that do not exist are counted apart, so that
// one who guesses at them takes no page from others with the same address.
func (v visitors) limited(r *request, found error) error {
	client := v.clientIP(r.Request)
	if api.CodeOf(found) == api.ResourceMissing {
		client = "missing " + client
	}
	if err := v.limiter.take(storage.Scope{Merchant: client}, time.Now()); err != nil {
		return err
	}
	return found
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
