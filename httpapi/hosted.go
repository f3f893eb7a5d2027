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

// Failed entries of a PIN from one client address: on one page ten at once, and then one
// every two minutes; on all pages together a hundred at once, and then one every ten
// seconds. Package account guards each PIN. These limits slow a client that tries many
// wallets, or that learns from payments that cannot succeed which PIN is right.
const (
	failedEntries    = 10
	failedEvery      = 2 * time.Minute
	failedEntriesAll = 100
	failedEveryAll   = 10 * time.Second
)

// visitors bounds what one client may try on the hosted pages, which share it.
type visitors struct {
	limiter *limiter
	// failed counts failed entries by address and page, failedAll by address.
	failed, failedAll *limiter
	clientIP          func(*http.Request) string
}

func newVisitors(config Config) *visitors {
	return &visitors{
		limiter: newLimiter(payLimit),
		failed:  newBuckets(rate.Every(failedEvery), failedEntries), failedAll: newBuckets(rate.Every(failedEveryAll), failedEntriesAll),
		clientIP: config.clientIP(),
	}
}

// limited refuses a client that comes too often. found is the error with which the page
// was looked for, and comes back else. Pages that do not exist are counted apart, so that
// one who guesses at them takes no page from others with the same address.
func (v *visitors) limited(r *request, found error) error {
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
// path. It refuses the client once too many of its entries have failed, on the page or on
// all pages. Only failed entries count, after they failed, so that payers behind one
// address do not refuse each other. Entries under way at the same time are all let
// through, and those that fail delay the next one accordingly.
//
// pay is told where the entry comes from. This is never empty, which would stand for a
// client of the host's, and of IPv6 it is the network of 48 bits that one line may have.
func (v *visitors) enter(r *request, pay func(from string) error) error {
	from := "page " + network(v.clientIP(r.Request), 48)
	address := storage.Scope{Merchant: from}
	page := storage.Scope{Merchant: r.URL.Path + " " + from}
	now := time.Now()
	if wait := max(v.failed.wait(page, now), v.failedAll.wait(address, now)); wait > 0 {
		return tooMany(wait, "There were too many failed entries from this connection. Try again later.")
	}
	err := pay(from)
	if failedEntry(err) {
		now = time.Now()
		v.failed.charge(page, now)
		v.failedAll.charge(address, now)
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
