package mtnmomo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/internal/httpcall"
	"github.com/seed-7082ffec/payments/provider"
)

// renewEarly is how long before its end a token is renewed, as MTN recommends. A token that lives
// for less than twice as long is renewed after half of its life.
const renewEarly = 10 * time.Minute

// renewAgain is the wait after a renewal that failed while the old token is good, and after one whose
// token MTN refused.
const renewAgain = time.Minute

// A token is taken to live between these times, whatever MTN says.
const minLife, maxLife = time.Minute, 24 * time.Hour

// product is one of MTN's products, with its token.
type product struct {
	name    string
	user    string
	key     func() string // the subscription key
	apiKey  func() string
	mu      sync.Mutex
	value   func() string // the token; hidden, as the keys are, from prints
	renew   time.Time
	expires time.Time
	refused time.Time // when MTN last refused a token that was just renewed

	// failures counts the renewals that failed, and failure is the error of the last one.
	failures int
	failure  error

	// renewal has room for the one call that renews the token.
	renewal chan struct{}
}

func newProduct(name string, c Credentials) *product {
	return &product{
		name: name, user: c.APIUser, key: httpcall.Hide(c.SubscriptionKey), apiKey: httpcall.Hide(c.APIKey),
		value: httpcall.Hide(""), renewal: make(chan struct{}, 1),
	}
}

// kept returns the token, and whether it need not be renewed yet.
func (p *product) kept(stale string, now time.Time) (value string, fresh bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.value() == stale || !now.Before(p.expires) {
		return "", false
	}
	return p.value(), now.Before(p.renew)
}

// refuse notes that MTN refused a token that was just renewed.
func (p *product) refuse(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = now
}

// isRefused reports whether that was a short while ago, so that another renewal is of no use.
func (p *product) isRefused(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return now.Before(p.refused.Add(renewAgain))
}

// fail notes that a renewal failed.
func (p *product) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures, p.failure = p.failures+1, err
}

// failed returns how many renewals have failed, and the error of the last one.
func (p *product) failed() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failures, p.failure
}

// token returns a token other than stale, which MTN has refused. One call renews it at a time.
// Meanwhile the others go on with the old one if that is still good, and wait if not. If the renewal
// that they wait for fails, they fail with it: thousands may wait, and each would try it again.
func (c *Client) token(ctx context.Context, p *product, stale string) (string, error) {
	failures, _ := p.failed()
	value, fresh := p.kept(stale, c.cfg.Now())
	if fresh {
		return value, nil
	}
	if value != "" {
		select {
		case p.renewal <- struct{}{}:
		default:
			return value, nil
		}
	} else {
		select {
		case p.renewal <- struct{}{}:
		case <-ctx.Done():
			return "", fmt.Errorf("mtnmomo: %s token: %w", p.name, ctx.Err())
		}
	}
	defer func() { <-p.renewal }()
	if value, fresh = p.kept(stale, c.cfg.Now()); fresh {
		return value, nil // another call was first
	}
	if now, err := p.failed(); now != failures && value == "" {
		return "", err
	}
	renewed, err := c.newToken(ctx, p)
	if err != nil && ctx.Err() == nil { // a call whose own time is up says nothing to the others
		p.fail(err)
	}
	if err != nil && value != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.renew = c.cfg.Now().Add(renewAgain)
		return value, nil
	}
	return renewed, err
}

func (c *Client) newToken(ctx context.Context, p *product) (string, error) {
	what := p.name + " token"
	if c.cfg.BaseURL == "" || p.key() == "" || p.user == "" || p.apiKey() == "" {
		return "", errors.New("mtnmomo: Config has no BaseURL, or not all Credentials of the product " + p.name)
	}
	asked := c.cfg.Now()
	// The path ends in a slash, and the request has no body: MTN refuses it otherwise.
	basic := http.Request{Header: http.Header{subscription: {p.key()}}}
	basic.SetBasicAuth(p.user, p.apiKey())
	a, err := send(ctx, c.http, c.cfg.BaseURL+"/"+p.name, request{what: what, method: http.MethodPost, path: "/token/"}, basic.Header)
	if err != nil {
		return "", err
	}
	if a.status != http.StatusOK {
		return "", a.err()
	}
	var token struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   text   `json:"expires_in"` // in seconds, as a number or a string
	}
	if err := a.decode(&token); err != nil {
		return "", err
	}
	if token.AccessToken == "" {
		return "", failed(provider.ClassUnreadable, "mtnmomo: %s: the answer has no token", what)
	}
	life := minLife // of an odd text, too
	if seconds, err := strconv.ParseFloat(string(token.ExpiresIn), 64); err == nil && seconds > minLife.Seconds() {
		life = time.Duration(min(seconds, maxLife.Seconds())) * time.Second
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.value, p.expires = httpcall.Hide(token.AccessToken), asked.Add(life)
	p.renew = p.expires.Add(-min(renewEarly, life/2))
	return token.AccessToken, nil
}
