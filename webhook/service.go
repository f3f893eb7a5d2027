package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"code.dny.dev/ssrf"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/storage"
)

// Config is what the service works with.
type Config struct {
	Events *event.Service
	// Allow opens address ranges that are not public, such as loopback, to the
	// deliveries of test mode.
	Allow []netip.Prefix
}

// Service keeps endpoints and delivers events. It is safe for concurrent use.
type Service struct {
	engine *engine.Engine
	events *event.Service
	lanes  lanes
	// test carries what test mode delivers, live what live mode does.
	test, live *http.Client
}

// New returns the service.
func New(e *engine.Engine, c Config) *Service {
	return &Service{engine: e, events: c.Events, test: client(c.Allow), live: client(nil)}
}

const (
	// attemptTimeout bounds one attempt in all: name, connection, answer.
	attemptTimeout = 15 * time.Second
	// lease is longer than an attempt, so that another worker takes over only what a
	// dead one held.
	lease = 2 * attemptTimeout
	// maxResponse is how much of an answer is kept, in bytes. No more is read.
	maxResponse = 4 << 10
	// disableAfter is after how long of nothing but failure an endpoint is switched
	// off.
	disableAfter = 5 * 24 * time.Hour
)

// client returns one that goes to public addresses only, decided when it dials,
// after names were looked up: through no proxy, along no redirect.
func client(allow []netip.Prefix) *http.Client {
	options := []ssrf.Option{ssrf.WithAnyPort()}
	for _, p := range allow {
		if p.Addr().Is4() {
			options = append(options, ssrf.WithAllowedV4Prefixes(p))
		} else {
			options = append(options, ssrf.WithAllowedV6Prefixes(p))
		}
	}
	dialer := &net.Dialer{Timeout: attemptTimeout, Control: ssrf.New(options...).Safe}
	return &http.Client{
		Timeout: attemptTimeout,
		Transport: &http.Transport{
			DialContext:         dialer.DialContext,
			TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: attemptTimeout,
			DisableCompression:  true, // an answer that swells is not unpacked
			MaxIdleConns:        maxInFlight,
			MaxIdleConnsPerHost: maxInFlight, // endpoints may share a host
			IdleConnTimeout:     90 * time.Second,
			ForceAttemptHTTP2:   true,

			MaxResponseHeaderBytes: 16 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// outcome is what became of an attempt.
type outcome struct {
	Attempt
	retryAfter time.Duration
	took       time.Duration
}

func (o *outcome) well() bool { return o.StatusCode >= 200 && o.StatusCode < 300 }

// post makes one attempt.
func (s *Service) post(ctx context.Context, live bool, address, id string, body []byte, secrets []string) (o outcome) {
	start := s.engine.Clock() // the real time, whatever a test clock shows
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	defer func() {
		o.took = s.engine.Clock().Sub(start)
		o.Duration = o.took.Milliseconds()
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		o.Error = "the address cannot be used"
		return o
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "payments-webhook/1")
	sign(request.Header, id, body, start, secrets...)
	c := s.test
	if live {
		c = s.live
	}
	response, err := c.Do(request)
	if err != nil {
		o.Error = explain(err)
		return o
	}
	defer response.Body.Close()
	o.StatusCode = response.StatusCode
	o.retryAfter = retryAfter(response.Header.Get("Retry-After"), start)
	data, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	o.Response = strings.ToValidUTF8(string(data), string(utf8.RuneError))
	if err != nil && o.well() {
		// The status has said enough; how the rest came is the endpoint's business.
		o.Error = ""
	}
	return o
}

// explain says why there was no answer, without addresses behind the name.
func explain(err error) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return "no answer within 15 seconds"
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedPort), errors.Is(err, ssrf.ErrProhibitedNetwork):
		return "the name leads to an address that is not public"
	case errors.As(err, &dns):
		return "the name was not found"
	case strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "x509: "):
		return "the certificate or the encryption is not in order"
	}
	return "no connection, or one that broke"
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// maxRetryAfter bounds how long an endpoint can put off the next attempt.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads the header of that name: seconds, or a time.
func retryAfter(text string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		wait = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}

// work makes one attempt of a delivery, and writes down what became of it.
func (s *Service) work(ctx context.Context, claimed storage.Record) error {
	o, err := deliveries.Decode(claimed)
	if err != nil {
		return err
	}
	caller := api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live}
	if ok, putOff := s.lanes.enter(o.Value.Endpoint, s.engine.Clock()); !ok {
		return s.write(ctx, caller, o, func(tx *engine.Tx, d *Delivery) error {
			d.NextAttemptAt = api.AtOrNil(tx.Now.Add(putOff))
			return nil
		})
	}
	well, took := false, time.Duration(0)
	defer func() { s.lanes.leave(o.Value.Endpoint, well, took, s.engine.Clock()) }()

	var target *endpointRecord
	var body []byte
	var now time.Time
	err = s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		now = tx.Now
		found, err := endpoints.Get(tx, caller.Scope(), o.Value.Endpoint)
		if errors.Is(err, storage.ErrNotFound) || err == nil && !found.Value.Active {
			return nil
		}
		if err != nil {
			return err
		}
		target = &found.Value
		e, err := s.events.GetTx(tx, caller.Scope(), o.Value.Event)
		if api.CodeOf(err) == api.ResourceMissing {
			target = nil // the event was forgotten
			return nil
		}
		if err != nil {
			return err
		}
		told := *e
		told.Type = o.Value.Type
		body, err = plainjson.Marshal(&told)
		return err
	})
	if err != nil {
		return fmt.Errorf("webhook: read delivery: %w", err)
	}
	if target == nil {
		return s.end(ctx, caller, o, Failed, nil)
	}
	made := s.post(ctx, caller.Live, target.URL, o.Value.Event, body, target.secrets(now))
	well, took = made.well(), made.took
	if well {
		return s.end(ctx, caller, o, Delivered, &made)
	}
	if len(o.Value.Attempts)+1 >= len(attemptAfter) || made.StatusCode == http.StatusGone {
		return s.end(ctx, caller, o, Failed, &made)
	}
	return s.write(ctx, caller, o, func(tx *engine.Tx, d *Delivery) error {
		made.At = api.At(tx.Now)
		d.Attempts = append(d.Attempts, made.Attempt)
		wait := max(jitter(attemptAfter[len(d.Attempts)]), made.retryAfter)
		d.NextAttemptAt = api.AtOrNil(tx.Now.Add(wait))
		return s.failed(ctx, tx, d.Endpoint, false)
	})
}

// jitter spreads a time by a tenth to either side, so that what failed together
// does not come back together.
func jitter(d time.Duration) time.Duration {
	return d - d/10 + time.Duration(rand.Int64N(int64(d/5)+1))
}

// write changes a delivery that this worker holds. If the lease has run out and
// another worker holds it, nothing is written.
func (s *Service) write(ctx context.Context, caller api.Caller, o *storage.Object[Delivery], do func(*engine.Tx, *Delivery) error) error {
	err := s.engine.Update(context.WithoutCancel(ctx), caller, func(tx *engine.Tx) error {
		held := *o // a run that is undone leaves the claimed version as it is
		if err := do(tx, &held.Value); err != nil {
			return err
		}
		return deliveries.Replace(tx, &held)
	})
	if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return err
}

// end writes down the end of a delivery.
func (s *Service) end(ctx context.Context, caller api.Caller, o *storage.Object[Delivery], status DeliveryStatus, made *outcome) error {
	return s.write(ctx, caller, o, func(tx *engine.Tx, d *Delivery) error {
		d.Status, d.NextAttemptAt = status, nil
		if made != nil {
			made.At = api.At(tx.Now)
			d.Attempts = append(d.Attempts, made.Attempt)
		}
		if err := s.events.ToldTx(tx, d.Event, -1); err != nil {
			return err
		}
		switch {
		case status == Delivered:
			return s.succeeded(tx, d.Endpoint)
		case made != nil:
			return s.failed(ctx, tx, d.Endpoint, made.StatusCode == http.StatusGone)
		}
		return nil
	})
}

// succeeded ends a series of failures of an endpoint.
func (s *Service) succeeded(tx *engine.Tx, id string) error {
	o, err := endpoints.Get(tx, tx.Caller.Scope(), id)
	if errors.Is(err, storage.ErrNotFound) || err == nil && o.Value.FailingSince == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("webhook: read endpoint: %w", err)
	}
	o.Value.FailingSince = nil
	return endpoints.Replace(tx, o)
}

// failed notes a failure of an endpoint, and switches it off when it is gone or
// has failed for too long.
func (s *Service) failed(ctx context.Context, tx *engine.Tx, id string, gone bool) error {
	o, err := endpoints.Get(tx, tx.Caller.Scope(), id)
	if errors.Is(err, storage.ErrNotFound) || err == nil && !o.Value.Active {
		return nil
	}
	if err != nil {
		return fmt.Errorf("webhook: read endpoint: %w", err)
	}
	r := &o.Value
	if r.FailingSince == nil {
		r.FailingSince = api.AtOrNil(tx.Now)
	}
	if !gone && tx.Now.Sub(r.FailingSince.Time) < disableAfter {
		if o.Value.FailingSince.Equal(tx.Now) {
			return endpoints.Replace(tx, o)
		}
		return nil
	}
	r.Active, r.UpdatedAt = false, api.At(tx.Now)
	if err := endpoints.Replace(tx, o); err != nil {
		return err
	}
	if err := resubscribe(tx, &r.Endpoint, false); err != nil {
		return err
	}
	tx.Committed(func() {
		s.engine.Log.WarnContext(ctx, "a webhook endpoint was switched off", "endpoint", id, "gone", gone)
	})
	return s.events.RecordTx(tx, &r.Endpoint, event.WebhookEndpointDisabled)
}

// Ping delivers an event of type "ping" to an endpoint at once, through the same
// guard, and returns the attempt. It is kept nowhere.
func (s *Service) Ping(ctx context.Context, caller api.Caller, id string) (*Delivery, error) {
	var target *endpointRecord
	var now time.Time
	err := s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		o, err := engine.GetTx(tx, endpoints, caller.Scope(), id, noun)
		if err == nil {
			target, now = &o.Value, tx.Now
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	e := event.Event{
		ID: s.engine.NewID("evt_"), Object: "event", Type: "ping", CreatedAt: api.At(now),
		Data: event.Data{Object: []byte(`{"object":"ping"}`)},
	}
	body, err := plainjson.Marshal(&e)
	if err != nil {
		return nil, fmt.Errorf("webhook: ping: %w", err)
	}
	made := s.post(ctx, caller.Live, target.URL, e.ID, body, target.secrets(now))
	made.At = api.At(now)
	d := &Delivery{
		ID: s.engine.NewID("wd_"), Object: "webhook_delivery", Endpoint: id, Event: e.ID, Type: e.Type,
		Status: Failed, Attempts: []Attempt{made.Attempt}, CreatedAt: api.At(now),
	}
	if made.well() {
		d.Status = Delivered
	}
	return d, nil
}
