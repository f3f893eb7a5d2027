// Package httpcall makes single HTTP calls to the providers of adapters. It bounds the time and the
// answer, and follows no redirect. Its errors quote no path, no query and no body, which hold phone
// numbers and keys. It repeats nothing, and does not know what an answer means.
package httpcall

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	// timeout is that of the client that Client makes. It ends a call before the library's context
	// of 30 seconds does.
	timeout = 25 * time.Second
	// maxAnswer is how many bytes of an answer are read.
	maxAnswer = 4 << 20
)

// Client returns a copy of a host's client, or of one with a time-out of 25 seconds for nil. The copy
// follows no redirect, which would take keys and numbers elsewhere.
func Client(given *http.Client) *http.Client {
	if given == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 64
		transport.HTTP2 = HTTP2()
		given = &http.Client{Timeout: timeout, Transport: transport}
	}
	client := *given
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// HTTP2 has a transport test a silent connection, which with HTTP/2 carries all calls to a host. If the
// network has forgotten it, they would time out until the system gives it up, after a quarter of an hour.
func HTTP2() *http.HTTP2Config {
	return &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second}
}

// Hide returns a function that returns a secret. A struct with the function in place of the secret
// can be printed: fmt prints unexported fields without asking their methods.
func Hide(secret string) func() string { return func() string { return secret } }

// Request is one request.
type Request struct {
	// Op names the call in errors, such as "paystack: POST /transfer".
	Op          string
	Method, URL string
	Header      http.Header
	// Body is sent as JSON; nil for none.
	Body any
}

// Answer is what the provider answered.
type Answer struct {
	Status int
	Body   []byte
}

// CheckURL refuses an address that no call may go to. op is as in [Request].
func CheckURL(op, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%s: Config.BaseURL is no address", op)
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return fmt.Errorf("%s: Config.BaseURL must begin with https://, since the call carries keys", op)
	}
	return nil
}

// Do makes one call. After an error the provider may have carried out the request.
func Do(ctx context.Context, client *http.Client, r Request) (*Answer, error) {
	var content io.Reader // some providers refuse a request with a body that they do not expect
	if r.Body != nil {
		text, err := json.Marshal(r.Body)
		if err != nil {
			return nil, fmt.Errorf("%s: the request cannot be written as JSON", r.Op)
		}
		content = bytes.NewReader(text)
	}
	if err := CheckURL(r.Op, r.URL); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, content)
	if err != nil {
		return nil, fmt.Errorf("%s: Config.BaseURL is no address", r.Op)
	}
	if r.Header != nil {
		request.Header = r.Header
	}
	request.Header.Set("Accept", "application/json")
	if content != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Op, discreet(err))
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: the answer was cut off: %w", r.Op, discreet(err))
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("%s: %w", r.Op, ErrTooLong)
	}
	return &Answer{Status: response.StatusCode, Body: text}, nil
}

// isLoopback reports whether a host is this machine, as that of a fake in a test is.
func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// ErrTooLong is the error of an answer that is longer than any of a provider's.
var ErrTooLong = errors.New("the answer is too long")

var errBroken = errors.New("the connection broke")

// discreet returns an error without the address that was asked and without what the server sent.
func discreet(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, io.ErrUnexpectedEOF, io.EOF} {
		if errors.Is(err, known) {
			return known
		}
	}
	var network *net.OpError
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &network) || errors.As(err, &certificate) {
		return err
	}
	return errBroken
}

// Text is a JSON string or number as text. Anything else is empty.
type Text string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Text) UnmarshalJSON(data []byte) error {
	var s string
	var n json.Number
	switch {
	case json.Unmarshal(data, &s) == nil:
		*t = Text(s)
	case json.Unmarshal(data, &n) == nil:
		*t = Text(n)
	}
	return nil
}
