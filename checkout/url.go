package checkout

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// sessionID is what success_url may hold in place of the session's id.
const sessionID = "{CHECKOUT_SESSION_ID}"

// Destination is the address to which the payer goes once the session is complete. It is SuccessURL
// with the session's id filled in. Characters outside ASCII are escaped, so that it fits into a header.
func (v *Session) Destination() string { return escaped(v.SuccessURL, v.ID) }

// escaped is an address with the id of a session filled in.
func escaped(address, id string) string {
	var b strings.Builder
	for _, c := range []byte(strings.ReplaceAll(address, sessionID, id)) {
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
