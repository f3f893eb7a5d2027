package checkout

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
)

// maxURL bounds success_url and cancel_url, in characters.
const maxURL = 2048

// sessionID is what success_url may hold in place of the session's id.
const sessionID = "{CHECKOUT_SESSION_ID}"

// plainHost matches the hosts that a page's policy can name: names and IPv4 addresses.
var plainHost = regexp.MustCompile(`^[0-9A-Za-z._-]+(:[0-9]+)?$`)

// checkURL refuses what is not the address of a website. An address of live mode begins with https.
func checkURL(param, text string, live bool) error {
	if err := check.Text(param, text, maxURL); err != nil {
		return err
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || strings.ContainsAny(text, " \r\n\\") || !plainHost.MatchString(u.Host) && u.User == nil {
		return api.Invalid(param, "%s must be an address, such as https://example.com/thanks.", param)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return api.Invalid(param, "%s has a port that is none.", param)
		}
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

// Destination is the address to which the payer goes once the session is complete: SuccessURL with the
// id of the session filled in, and what is not ASCII escaped, as headers need it.
func (v *Session) Destination() string {
	var b strings.Builder
	for _, c := range []byte(strings.ReplaceAll(v.SuccessURL, sessionID, v.ID)) {
		if c < utf8.RuneSelf {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Origin is the scheme, host and port of SuccessURL.
func (v *Session) Origin() string {
	u, err := url.Parse(v.Destination())
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + strings.ToLower(u.Host)
}
