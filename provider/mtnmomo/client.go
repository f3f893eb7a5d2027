package mtnmomo

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
	"strings"
	"time"
)

const (
	// maxBody is how many bytes of an answer or a callback are read.
	maxBody = 64 << 10
	// callTimeout is that of the client that New makes.
	callTimeout = 25 * time.Second
)

// httpClient returns a copy of a client that follows no redirects: they would take the keys
// elsewhere.
func httpClient(given *http.Client) http.Client {
	if given == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 64
		given = &http.Client{Timeout: callTimeout, Transport: transport}
	}
	client := *given
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

// request is one request to MTN. what names it in errors, which must not quote path or body: they
// hold phone numbers.
type request struct {
	what, method, path string
	reference          string // X-Reference-Id; may be empty
	callback           string // X-Callback-Url; may be empty
	body               any    // nil for none
}

// answer is what MTN answered.
type answer struct {
	what   string
	status int
	code   string // MTN's word; empty if the body has none
	body   []byte
}

// err returns an answer that says nothing about the order as an error.
func (a *answer) err() error {
	hint := ""
	switch a.status {
	case http.StatusUnauthorized:
		hint = "; check the subscription key, the API user and the API key"
	case http.StatusForbidden:
		hint = "; MTN must list the address from which this machine calls"
	}
	return fmt.Errorf("mtnmomo: %s: MTN answers %s%s", a.what, strings.TrimSpace(fmt.Sprint(a.status, " ", a.code)), hint)
}

// decode reads the body, or returns an error that does not quote it.
func (a *answer) decode(v any) error {
	if json.Unmarshal(a.body, v) != nil {
		return fmt.Errorf("mtnmomo: %s: the answer %d is not readable", a.what, a.status)
	}
	return nil
}

// call sends a request with a token. If MTN refuses the token, call renews it and sends the request
// once more: MTN has not looked at the first.
func (c *Client) call(ctx context.Context, p *product, r request) (*answer, error) {
	token, err := c.token(ctx, p, "")
	if err != nil {
		return nil, err
	}
	a, err := c.authorized(ctx, p, r, token)
	if err != nil || a.status != http.StatusUnauthorized {
		return a, err
	}
	if token, err = c.token(ctx, p, token); err != nil {
		return nil, err
	}
	return c.authorized(ctx, p, r, token)
}

func (c *Client) authorized(ctx context.Context, p *product, r request, token string) (*answer, error) {
	return send(ctx, &c.http, c.cfg.BaseURL+"/"+p.name, r, func(h http.Header) {
		h.Set("Authorization", "Bearer "+token)
		h.Set("Ocp-Apim-Subscription-Key", p.SubscriptionKey)
		h.Set("X-Target-Environment", c.cfg.TargetEnvironment)
	})
}

// send sends a request, and reads the answer.
func send(ctx context.Context, client *http.Client, base string, r request, header func(http.Header)) (*answer, error) {
	var body io.Reader // MTN refuses some requests with a body
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	sent, err := http.NewRequestWithContext(ctx, r.method, base+r.path, body)
	if err != nil {
		return nil, fmt.Errorf("mtnmomo: %s: Config.BaseURL is no address", r.what)
	}
	header(sent.Header)
	for name, value := range map[string]string{"X-Reference-Id": r.reference, "X-Callback-Url": r.callback} {
		if value != "" {
			sent.Header.Set(name, value)
		}
	}
	if body != nil {
		sent.Header.Set("Content-Type", "application/json")
	}
	got, err := client.Do(sent)
	if err != nil {
		return nil, fmt.Errorf("mtnmomo: %s: %w", r.what, discreet(err))
	}
	defer got.Body.Close()
	a := &answer{what: r.what, status: got.StatusCode}
	if a.body, err = io.ReadAll(io.LimitReader(got.Body, maxBody)); err != nil {
		return nil, fmt.Errorf("mtnmomo: %s: %w", r.what, discreet(err))
	}
	var word struct{ Code text }
	if json.Unmarshal(a.body, &word) == nil && strings.Trim(string(word.Code), "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" && len(word.Code) <= 64 {
		a.code = string(word.Code)
	}
	return a, nil
}

var errBroken = errors.New("the connection broke")

// discreet returns an error without the address that was asked, which may hold a phone number,
// and without what the server sent.
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

// text is a JSON string or number as text. Anything else is empty.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	var n json.Number
	switch {
	case json.Unmarshal(b, &s) == nil:
		*t = text(s)
	case json.Unmarshal(b, &n) == nil:
		*t = text(n)
	}
	return nil
}
