package httpapi

import (
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// payLimit bounds the payments that one client address tries: five a second, a hundred at
// once. So no client can try one PIN on many wallets. It is always on.
var payLimit = RateLimit{PerSecond: 5, Burst: 100}

// The limits on failed PINs of one client address: on one page ten at once, then one every
// two minutes; on all pages together a hundred at once, then one every ten seconds. Package
// account locks each PIN. These limits slow a client that tries many wallets, or that
// learns the right PIN from payments that cannot succeed.
const (
	maxFailedPINs             = 10
	failedPINInterval         = 2 * time.Minute
	maxFailedPINsAllPages     = 100
	failedPINIntervalAllPages = 10 * time.Second
)

// The limits on requests to phones by one client address: on one page 30 at once, then one every
// 20 seconds; on all pages together 300 at once, then one every two seconds. Package collect limits
// the requests to each phone. These limits slow a client that asks many phones. They leave room for
// a till whose customers share the address of its network.
const (
	maxPrompts             = 30
	promptInterval         = 20 * time.Second
	maxPromptsAllPages     = 300
	promptIntervalAllPages = 2 * time.Second
)

// hostedPages is what all hosted pages need.
type hostedPages struct {
	*payments.Service
	*pageLimiter
}

// pageLimiter bounds the payments that one client may try. All hosted pages share one.
type pageLimiter struct {
	limiter *limiter
	// failedPINs counts by address and page, failedPINsAllPages by address.
	failedPINs, failedPINsAllPages *limiter
	// prompts and promptsAllPages count requests to phones alike.
	prompts, promptsAllPages *limiter
	clientIP                 func(*http.Request) string
}

func newPageLimiter(config Config) *pageLimiter {
	return &pageLimiter{
		limiter:    newLimiter(payLimit),
		failedPINs: newTokenLimiter(rate.Every(failedPINInterval), maxFailedPINs), failedPINsAllPages: newTokenLimiter(rate.Every(failedPINIntervalAllPages), maxFailedPINsAllPages),
		prompts: newTokenLimiter(rate.Every(promptInterval), maxPrompts), promptsAllPages: newTokenLimiter(rate.Every(promptIntervalAllPages), maxPromptsAllPages),
		clientIP: config.clientIP(),
	}
}

// checkRate refuses a client that sends too many requests, and returns lookupErr otherwise.
// lookupErr is the error of looking up the page. Missing pages count separately, so a client
// that guesses addresses blocks no other client with the same address.
func (v *pageLimiter) checkRate(r *request, lookupErr error) error {
	client := v.clientIP(r.Request)
	if api.CodeOf(lookupErr) == api.ResourceMissing {
		client = "missing " + client
	}
	if err := v.take(client); err != nil {
		return err
	}
	return lookupErr
}

// checkPageRate is checkRate for pages that payers load again and again: each page has a limit of
// its own, so that many payers behind one address do not use up that of the address.
func (v *pageLimiter) checkPageRate(r *request, lookupErr error) error {
	if lookupErr != nil {
		return v.checkRate(r, lookupErr)
	}
	return v.take(r.URL.Path + " " + v.clientIP(r.Request))
}

// take counts a request, or refuses it in words for a person.
func (v *pageLimiter) take(what string) error {
	err := v.limiter.take(storage.Scope{Merchant: what}, time.Now())
	if e := asAPIError(err); e != nil {
		return rateLimitError(e.RetryAfter, slowDown)
	}
	return err
}

// payWithPIN runs a payment that a payer confirms with a PIN on the page of r. It refuses the
// client after too many failed PINs, on this page or on all pages. Only failed PINs count,
// after they fail, so payers behind one address do not block each other. Concurrent
// payments all run; each that fails delays the next.
//
// pay receives the client's address for account's own limits. It is never empty, because
// empty stands for a client of the host's. For IPv6 it is the network of 48 bits.
func (v *pageLimiter) payWithPIN(r *request, pay func(from string) error) error {
	from, page, address := v.counted(r)
	if err := v.checkFailedPINs(page, address); err != nil {
		return err
	}
	err := pay(from)
	if isFailedPIN(err) {
		v.countFailedPIN(page, address)
	}
	return err
}

// counted returns the client's network, and what is counted of it: on the page of r, and on all
// pages.
func (v *pageLimiter) counted(r *request) (from string, page, address storage.Scope) {
	from = "page " + clientNetwork(v.clientIP(r.Request), 48)
	return from, storage.Scope{Merchant: r.URL.Path + " " + from}, storage.Scope{Merchant: from}
}

func (v *pageLimiter) checkFailedPINs(page, address storage.Scope) error {
	now := time.Now()
	if wait := max(v.failedPINs.wait(page, now), v.failedPINsAllPages.wait(address, now)); wait > 0 {
		return rateLimitError(wait, "There were too many failed entries from this connection. Try again later.")
	}
	return nil
}

func (v *pageLimiter) countFailedPIN(page, address storage.Scope) {
	now := time.Now()
	v.failedPINs.charge(page, now)
	v.failedPINsAllPages.charge(address, now)
}

// confirmWithCode passes on a code that the payer of the page of r has entered. A wrong one counts
// as a failed PIN.
func (v *pageLimiter) confirmWithCode(r *request, confirm func() (wrong bool, err error)) error {
	_, page, address := v.counted(r)
	if err := v.checkFailedPINs(page, address); err != nil {
		return err
	}
	wrong, err := confirm()
	if wrong {
		v.countFailedPIN(page, address)
	}
	return err
}

// payByPhone runs a payment that asks a phone for its approval. In live mode it refuses the client after
// too many requests to phones, on the page of r or on all pages. A refused payment asks no phone, and
// does not count. start receives the client's address, as in payWithPIN.
func (v *pageLimiter) payByPhone(r *request, live bool, start func(from string) error) error {
	from, page, address := v.counted(r)
	if !live {
		return start(from)
	}
	now := time.Now()
	if wait := max(v.prompts.wait(page, now), v.promptsAllPages.wait(address, now)); wait > 0 {
		return rateLimitError(wait, "Too many phones were asked from this connection. Try again later, or pay from a wallet.")
	}
	err := start(from)
	if err == nil {
		now = time.Now()
		v.prompts.charge(page, now)
		v.promptsAllPages.charge(address, now)
	}
	return err
}

// isFailedPIN reports a refusal that follows the comparison of the PIN: the PIN was wrong, or it
// was right and the payment failed.
func isFailedPIN(err error) bool {
	switch api.CodeOf(err) {
	case api.PINInvalid, api.PINLocked, api.InsufficientBalance, api.WalletNotActive:
		return true
	}
	return false
}
