package mtnmomo_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/conformance"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/mtnmomo"
	"github.com/seed-7082ffec/payments/provider/mtnmomo/mtnmomotest"
)

// clock is a clock that the test moves.
type clock struct{ nanos atomic.Int64 }

func (c *clock) now() time.Time       { return time.Unix(1_800_000_000, c.nanos.Load()) }
func (c *clock) move(d time.Duration) { c.nanos.Add(int64(d)) }

// withClock gives the client of a rig a clock.
func withClock(t testing.TB, r *rig) (*rig, *clock) {
	t.Helper()
	c := new(clock)
	r.SetClock(c.now)
	r.config.Now = c.now
	r.client = must.Get(mtnmomo.New(r.config))(t)
	return r, c
}

// A token is kept for 50 minutes of its hour.
func TestTokenIsKept(t *testing.T) {
	r, clock := withClock(t, newDisbursing(t))
	for _, c := range []struct {
		move time.Duration
		want int
	}{{0, 1}, {49 * time.Minute, 1}, {59 * time.Second, 1}, {2 * time.Second, 2}, {2 * time.Hour, 3}} {
		clock.move(c.move)
		for range 3 {
			must.Get(r.client.Balance(t.Context(), true))(t)
		}
		expect.Equal(t, r.TokensIssued("disbursement"), c.want, "tokens after %s", c.move)
	}
	expect.Equal(t, r.TokensIssued("collection"), 0, "tokens of the other product")
}

// Many calls at once renew the token once: when it ends, and when MTN drops it early.
func TestTokenIsRenewedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDisbursing(t)
		r.config.HTTPClient = &http.Client{Transport: slow{r.config.HTTPClient.Transport}}
		r.client = must.Get(mtnmomo.New(r.config))(t)
		burst := func(want int) {
			t.Helper()
			var all sync.WaitGroup
			for range 32 {
				all.Go(func() { expect.NoError(t, testkit.Err(r.client.Balance(t.Context(), true)), "balance") })
			}
			all.Wait()
			expect.Equal(t, r.TokensIssued("disbursement"), want, "tokens")
		}
		burst(1)
		time.Sleep(55 * time.Minute)
		burst(2)
		time.Sleep(2 * time.Hour)
		burst(3)
		r.ExpireTokens()
		burst(4)
	})
}

// Calls that wait for a renewal fail with it. They do not ask for a token one after the other while
// MTN gives none.
func TestWaitingCallsFailWithRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDisbursing(t)
		n := &renewals{next: r.config.HTTPClient.Transport}
		n.fail.Store(true)
		r.config.HTTPClient = &http.Client{Transport: slow{n}}
		r.client = must.Get(mtnmomo.New(r.config))(t)
		var all sync.WaitGroup
		for range 32 {
			all.Go(func() {
				expect.True(t, testkit.Err(r.client.Balance(t.Context(), true)) != nil, "a balance without a token")
			})
		}
		all.Wait()
		expect.Equal(t, n.calls.Load(), 1, "calls for a token")
		n.fail.Store(false)
		expect.NoError(t, testkit.Err(r.client.Balance(t.Context(), true)), "MTN is back")

		// A call whose own time is up says nothing to those that wait.
		r.ExpireTokens()
		time.Sleep(2 * time.Hour)
		short, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		all.Go(func() {
			expect.ErrorIs(t, testkit.Err(r.client.Balance(short, true)), context.DeadlineExceeded, "the short call")
		})
		synctest.Wait()
		expect.NoError(t, testkit.Err(r.client.Balance(t.Context(), true)), "after the short call")
		all.Wait()
	})
}

// slow is a transport whose calls take a second.
type slow struct{ next http.RoundTripper }

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(time.Second):
		return s.next.RoundTrip(r)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// A token that MTN drops early is renewed once in a call, and the call goes on.
func TestTokenIsDroppedEarly(t *testing.T) {
	r := newRig(t, 1)
	o := r.transfer("567")
	must.Get(r.client.Submit(t.Context(), o))(t)
	r.ExpireTokens()
	got := must.Get(r.client.Status(t.Context(), o))(t)
	expect.Equal(t, got.Outcome, provider.Paid, "outcome")
	expect.Equal(t, r.TokensIssued("disbursement"), 2, "tokens")

	calls := r.Calls()
	r.AnswerNext(401, "")
	r.AnswerNext(401, "")
	_, err := r.client.Submit(t.Context(), r.transfer("567"))
	expect.True(t, strings.Contains(fmt.Sprint(err), "check the subscription key"), "two 401: %v", err)
	expect.Equal(t, r.Calls()-calls, 3, "calls: two submissions and a token")
}

// While MTN refuses every token, calls renew none more than once a minute.
func TestRefusedTokens(t *testing.T) {
	r, clock := withClock(t, newDisbursing(t))
	ask := func(refusals, want int) {
		t.Helper()
		for range refusals {
			r.AnswerNext(401, "")
		}
		_, err := r.client.Balance(t.Context(), true)
		expect.True(t, (err != nil) == (refusals > 0), "the balance: %v", err)
		expect.Equal(t, r.TokensIssued("disbursement"), want, "tokens")
	}
	ask(2, 2)
	ask(1, 2)
	ask(0, 2)
	clock.move(time.Minute - 1)
	ask(1, 2)
	clock.move(1)
	ask(2, 3)
}

// renewals is a transport that fails or holds calls for tokens.
type renewals struct {
	next  http.RoundTripper
	calls atomic.Int32
	fail  atomic.Bool
	hold  chan struct{}
	held  chan struct{}
}

func (n *renewals) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/token/") {
		n.calls.Add(1)
		if n.fail.Load() {
			return nil, fmt.Errorf("dial %s: no token", r.URL)
		}
		if n.hold != nil {
			n.held <- struct{}{}
			<-n.hold
		}
	}
	return n.next.RoundTrip(r)
}

// While one call renews a token early, the others use the old one; and if it cannot be renewed,
// the old one is used to its end.
func TestOldTokenServesDuringRenewal(t *testing.T) {
	r, clock := withClock(t, newDisbursing(t))
	n := &renewals{next: r.config.HTTPClient.Transport, held: make(chan struct{}, 1)}
	r.config.HTTPClient = &http.Client{Transport: n}
	client := must.Get(mtnmomo.New(r.config))(t)
	balance := func() error { return testkit.Err(client.Balance(t.Context(), true)) }
	expect.NoError(t, balance(), "the first token")
	clock.move(51 * time.Minute)
	n.hold = make(chan struct{})
	done := make(chan error)
	go func() { done <- balance() }()
	<-n.held
	expect.NoError(t, balance(), "during the renewal")
	expect.Equal(t, r.TokensIssued("disbursement"), 1, "tokens during the renewal")
	close(n.hold)
	expect.NoError(t, <-done, "the renewal")
	n.hold = nil

	clock.move(51 * time.Minute)
	n.fail.Store(true)
	expect.NoError(t, balance(), "a failed renewal")
	expect.NoError(t, balance(), "soon after")
	expect.Equal(t, n.calls.Load(), 3, "renewals, of which the last failed")
	clock.move(time.Minute)
	expect.NoError(t, balance(), "a minute after")
	expect.Equal(t, n.calls.Load(), 4, "renewals, of which two failed")
	clock.move(10 * time.Minute)
	err := balance()
	expect.True(t, err != nil, "there is a balance without a token")
	expect.True(t, !strings.Contains(fmt.Sprint(err), "example.com"), "without a token: the error tells the address: %v", err)
	n.fail.Store(false)
	expect.NoError(t, balance(), "MTN is back")
}

// A call that waits for another's renewal ends with its own context.
func TestWaitingForTokenEnds(t *testing.T) {
	r := newDisbursing(t)
	n := &renewals{next: r.config.HTTPClient.Transport, hold: make(chan struct{}), held: make(chan struct{}, 1)}
	r.config.HTTPClient = &http.Client{Transport: n}
	client := must.Get(mtnmomo.New(r.config))(t)
	done := make(chan error)
	go func() {
		_, err := client.Balance(context.WithoutCancel(t.Context()), true)
		done <- err
	}()
	<-n.held
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expect.ErrorIs(t, testkit.Err(client.Balance(ctx, true)), context.Canceled, "the waiting call")
	close(n.hold)
	expect.NoError(t, <-done, "the renewal")
}

// New refuses settings with which no call can work. Others fail at the call. No error quotes a secret.
func TestMissingSettings(t *testing.T) {
	r := newRig(t, 1)
	for name, change := range map[string]func(*mtnmomo.Config){
		"no address":           func(c *mtnmomo.Config) { c.BaseURL = "" },
		"a bad address":        func(c *mtnmomo.Config) { c.BaseURL = "https://\x7f" },
		"an address in clear":  func(c *mtnmomo.Config) { c.BaseURL = "http://mtn.example.com" },
		"no credentials":       func(c *mtnmomo.Config) { c.Collection, c.Disbursement = mtnmomo.Credentials{}, mtnmomo.Credentials{} },
		"no collection key":    func(c *mtnmomo.Config) { c.Collection.APIKey = "" },
		"no disbursement user": func(c *mtnmomo.Config) { c.Disbursement.APIUser = "" },
	} {
		config := r.config
		change(&config)
		client, err := mtnmomo.New(config)
		must.True(t, err != nil && client == nil, "%s passes", name)
		r.discreet(t, err.Error(), "mtn.example.com")
	}
	for name, change := range map[string]func(*mtnmomo.Config){
		"no credentials": func(c *mtnmomo.Config) { c.Disbursement = mtnmomo.Credentials{} },
		"a wrong key":    func(c *mtnmomo.Config) { c.Disbursement.APIKey = "wrong" },
	} {
		config := r.config
		change(&config)
		got, err := must.Get(mtnmomo.New(config))(t).Submit(t.Context(), r.transfer("567"))
		expect.True(t, err != nil, "%s: %+v", name, got)
		expect.Equal(t, got, provider.Result{}, "%s", name)
		r.discreet(t, err.Error(), "+233241234567")
	}
	_, err := r.client.Balance(t.Context(), true) // so that there is a token
	expect.NoError(t, err, "balance")
	r.config.HTTPClient, r.config.Logger, r.config.Now = nil, nil, nil
	conformance.HidesSecrets(t, secrets, r.config, r.client)
	conformance.HidesSecrets(t, secrets, mtnmomo.ProvisionParams{SubscriptionKey: mtnmomotest.CollectionKey}, nil)
}

// A token's answer that is not as documented is an error, and short lives are taken.
func TestTokenAnswers(t *testing.T) {
	for body, want := range map[string]bool{
		`{"access_token":"x","expires_in":3600}`: true, `{"access_token":"x"}`: true, `{"access_token":"x","expires_in":-1}`: true,
		`{"access_token":"x","expires_in":1e300}`: true, `{"access_token":"x","expires_in":"3600"}`: true, `{"access_token":"x","expires_in":"NaN"}`: true, `{"access_token":""}`: false, `{}`: false, `<html>`: false, ``: false,
	} {
		r := newDisbursing(t)
		r.config.HTTPClient = &http.Client{Transport: answers{
			"/disbursement/token/": body, "/disbursement/v1_0/account/balance": `{"availableBalance":"12.5","currency":"GHS"}`,
		}}
		got, err := must.Get(mtnmomo.New(r.config))(t).Balance(t.Context(), true)
		expect.Equal(t, err == nil, want, "%s: %v", body, err)
		if want {
			expect.Equal(t, got.Available, 1250, "balance")
		}
	}
}

// answers is a transport that answers 200 with a body, by path.
type answers map[string]string

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	f := mtnmomotest.New(1)
	f.AnswerNext(200, a[r.URL.Path])
	path := *r.URL
	path.Path = "/collection/v1_0/any" // calls for tokens take no answers
	other := r.Clone(r.Context())
	other.URL = &path
	return f.Client().Transport.RoundTrip(other)
}
