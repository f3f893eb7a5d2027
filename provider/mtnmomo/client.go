package mtnmomo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed-7082ffec/payments/internal/classed"
	"github.com/seed-7082ffec/payments/internal/httpcall"
	"github.com/seed-7082ffec/payments/provider"
)

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
	return classed.Status(Route, a.status, fmt.Errorf("mtnmomo: %s: MTN answers %s%s", a.what, strings.TrimSpace(fmt.Sprint(a.status, " ", a.code)), hint))
}

// failed returns an error of a class.
func failed(class provider.Class, format string, args ...any) error {
	return classed.Of(Route, class, fmt.Errorf(format, args...))
}

// decode reads the body, or returns an error that does not quote it.
func (a *answer) decode(v any) error {
	if json.Unmarshal(a.body, v) != nil {
		return failed(provider.ClassUnreadable, "mtnmomo: %s: the answer %d is not readable", a.what, a.status)
	}
	return nil
}

// call sends a request with a token. If MTN refuses the token, call renews it and sends the request
// once more: MTN has not looked at the first. If MTN refuses the new token, too, the keys are wrong,
// and calls renew no token for a while.
func (c *Client) call(ctx context.Context, p *product, r request) (*answer, error) {
	token, err := c.token(ctx, p, "")
	if err != nil {
		return nil, err
	}
	a, err := c.authorized(ctx, p, r, token)
	if err != nil || a.status != http.StatusUnauthorized || p.isRefused(c.cfg.Now()) {
		return a, err
	}
	if token, err = c.token(ctx, p, token); err != nil {
		return nil, err
	}
	a, err = c.authorized(ctx, p, r, token)
	if err == nil && a.status == http.StatusUnauthorized {
		p.refuse(c.cfg.Now())
	}
	return a, err
}

func (c *Client) authorized(ctx context.Context, p *product, r request, token string) (*answer, error) {
	return send(ctx, c.http, c.cfg.BaseURL+"/"+p.name, r, http.Header{
		"Authorization": {"Bearer " + token}, subscription: {p.key()}, "X-Target-Environment": {c.cfg.TargetEnvironment},
	})
}

// subscription is the header of the product's key.
const subscription = "Ocp-Apim-Subscription-Key"

// send sends a request, and reads the answer.
func send(ctx context.Context, client *http.Client, base string, r request, header http.Header) (*answer, error) {
	for name, value := range map[string]string{"X-Reference-Id": r.reference, "X-Callback-Url": r.callback} {
		if value != "" {
			header.Set(name, value)
		}
	}
	got, err := httpcall.Do(ctx, client, httpcall.Request{
		Op: "mtnmomo: " + r.what, Method: r.method, URL: base + r.path, Header: header, Body: r.body,
	})
	if err != nil {
		return nil, classed.Call(Route, err)
	}
	a := &answer{what: r.what, status: got.Status, body: got.Body}
	var word struct{ Code text }
	if json.Unmarshal(a.body, &word) == nil && strings.Trim(string(word.Code), "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" && len(word.Code) <= 64 {
		a.code = string(word.Code)
	}
	return a, nil
}

type text = httpcall.Text
