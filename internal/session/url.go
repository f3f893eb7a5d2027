package session

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/ids"
)

// maxURL bounds success_url and cancel_url, in bytes, as they are sent: with the session's id filled in,
// and what is not ASCII escaped. Proxies refuse long headers.
const maxURL = 2048

// idLength is the length of a session's id.
const idLength = len("cs_") + ids.Length

// plainHost matches the hosts that a page's policy can name: names and IPv4 addresses. A policy has no
// form for IPv6 addresses, for underscores and for other than ASCII letters, and a browser drops a source
// that it cannot read. It would then block the payer's way back.
var plainHost = regexp.MustCompile(`^[0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?(\.[0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?)*\.?$`)

// maxHost bounds the name of a host.
const maxHost = 253

// checkURL refuses what is not the address of a website. An address of live mode begins with https.
func checkURL(param, text string, live bool) error {
	if err := check.Text(param, text, maxURL); err != nil {
		return err
	}
	if len((&checkout.Session{SuccessURL: text, ID: strings.Repeat("x", idLength)}).Destination()) > maxURL {
		return api.Invalid(param, "%s is at most %d bytes long, once the session's id is filled in and other than ASCII characters are escaped.", param, maxURL)
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Host == "" || strings.ContainsAny(text, " \r\n\\") {
		return api.Invalid(param, "%s must be an address, such as https://example.com/thanks.", param)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || port[0] == '0' {
			return api.Invalid(param, "%s has a port that is none.", param)
		}
	}
	if host := u.Hostname(); u.User == nil && (u.Host != host && (u.Port() == "" || u.Host != host+":"+u.Port()) || len(host) > maxHost || !plainHost.MatchString(host)) {
		return api.Invalid(param, "%s must name its host by letters, digits, hyphens and dots, such as shop.example.com. Write a name with other letters in its xn-- form, and no IPv6 address.", param)
	}
	switch {
	case u.User != nil:
		return api.Invalid(param, "%s must not hold a user name or password.", param)
	case u.Scheme == "https" || u.Scheme == "http" && !live:
		return nil
	case live:
		return api.Invalid(param, "%s must begin with https:// in live mode.", param)
	}
	return api.Invalid(param, "%s must begin with https:// or http://.", param)
}
