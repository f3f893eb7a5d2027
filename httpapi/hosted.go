package httpapi

import (
	"crypto/rand"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/storage"
)

// payLimit bounds the tries of one client address, so that nobody tries one PIN
// on many wallets: five a second, a hundred at once. It is always on.
var payLimit = RateLimit{PerSecond: 5, Burst: 100}

// Failed entries of a PIN from one client address on one page: ten at once, and then one
// every two minutes. A PIN on its own is guarded by package account; this limit is for one
// who tries many wallets, or learns that a PIN is right by payments that cannot succeed.
const (
	failedEntries = 10
	failedEvery   = 2 * time.Minute
)

// visitors bounds what one client may try on a hosted page.
type visitors struct {
	limiter  *limiter
	failures *limiter
	clientIP func(*http.Request) string
}

func newVisitors(config Config) visitors {
	return visitors{newLimiter(payLimit), newBuckets(rate.Every(failedEvery), failedEntries), config.clientIP()}
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

// enter runs a payment that a client signs with a PIN on a page, which is named by its
// path. It refuses the client once too many of its entries on the page have failed.
func (v visitors) enter(r *request, pay func(from string) error) error {
	from := v.clientIP(r.Request)
	succeeded, err := v.failures.borrow(storage.Scope{Merchant: r.URL.Path + " " + from}, time.Now())
	if err != nil {
		return err
	}
	if err = pay(from); !failedEntry(err) {
		succeeded()
	}
	return err
}

// failedEntry reports a refusal that came after the PIN was compared: a wrong one, or a
// right one with which nothing could be paid.
func failedEntry(err error) bool {
	switch api.CodeOf(err) {
	case api.PINInvalid, api.PINLocked, api.InsufficientBalance, api.WalletNotActive:
		return true
	}
	return false
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
