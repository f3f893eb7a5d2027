package delivering

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"code.dny.dev/ssrf"

	"github.com/seed-7082ffec/payments/internal/httpcall"
	"github.com/seed-7082ffec/payments/internal/pace"
	"github.com/seed-7082ffec/payments/webhook"
)

const (
	// attemptTimeout bounds one attempt in all: name, connection, answer.
	attemptTimeout = 15 * time.Second
	// maxResponse is how much of an answer the attempt reads and keeps, in bytes.
	maxResponse = 4 << 10
	// maxRetryAfter bounds how long an endpoint can put off the next attempt.
	maxRetryAfter = 24 * time.Hour
)

// transport returns an HTTP transport that connects only to public addresses and to those in allow. It checks
// the address when it dials, after the name is looked up. It uses no proxy. It follows no redirects: only an
// http.Client does.
func transport(allow []netip.Prefix) *http.Transport {
	var allow4, allow6 []netip.Prefix // an option replaces what an earlier one allowed
	for _, p := range allow {
		if p.Addr().Is4() {
			allow4 = append(allow4, p)
		} else {
			allow6 = append(allow6, p)
		}
	}
	guardian := ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(allow4...), ssrf.WithAllowedV6Prefixes(allow6...))
	dialer := &net.Dialer{Timeout: attemptTimeout, Control: guardian.Safe}
	return &http.Transport{
		DialContext:         dialer.DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: attemptTimeout,
		DisableCompression:  true, // an answer that swells is not unpacked
		MaxIdleConns:        pace.MaxInFlight,
		MaxIdleConnsPerHost: pace.MaxInFlight, // endpoints may share a host
		IdleConnTimeout:     90 * time.Second,
		ForceAttemptHTTP2:   true,
		HTTP2:               httpcall.HTTP2(),

		MaxResponseHeaderBytes: 16 << 10,
	}
}

// attemptResult is an attempt, with what the wait for the next one and the limiter depend on.
type attemptResult struct {
	webhook.Attempt
	retryAfter time.Duration
	took       time.Duration
}

func (o *attemptResult) ok() bool { return o.StatusCode >= 200 && o.StatusCode < 300 }

// err returns the error of an attempt that is not ok.
func (o *attemptResult) err() error {
	if o.Error != "" {
		return errors.New("webhook: " + o.Error)
	}
	return fmt.Errorf("webhook: the endpoint answered %d", o.StatusCode)
}

// post signs a body and posts it to an address. id is that of the event.
func (s *Service) post(ctx context.Context, live bool, address, id string, body []byte, secrets []string) (o attemptResult) {
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
	webhook.Sign(request.Header, id, body, start, secrets...)
	response, err := s.senderFor(live).transport.RoundTrip(request)
	if err != nil {
		o.Error = explain(err)
		return o
	}
	defer response.Body.Close()
	o.StatusCode = response.StatusCode
	o.retryAfter = parseRetryAfter(response.Header.Get("Retry-After"), start)
	if response.ContentLength == 0 {
		return o
	}
	// The status decides; a body that breaks off changes nothing.
	data, _ := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	o.Response = strings.ToValidUTF8(string(data), string(utf8.RuneError))
	return o
}

// explain says why there was no answer. It leaves out the address behind the name.
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

// parseRetryAfter parses a Retry-After header: seconds, or a time.
func parseRetryAfter(text string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		wait = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
