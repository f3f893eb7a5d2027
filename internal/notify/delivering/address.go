package delivering

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"code.dny.dev/ssrf"

	"github.com/seed-7082ffec/payments/api"
)

// maxURL bounds an endpoint's address, in bytes.
const maxURL = 2048

// checkURL refuses an address to which deliveries cannot or must not go, with webhook_url_invalid. It does not
// look up the host name. Each attempt does, and fails if the name leads to an address that is not public.
func checkURL(text string, live bool) error {
	refuse := func(why string) error {
		return api.Errorf(api.WebhookURLInvalid, "url", "url %s", why)
	}
	if len(text) > maxURL {
		return refuse("has more than 2048 characters.")
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Opaque != "" || strings.ContainsAny(text, " \t\r\n\\") {
		return refuse("must be an address, such as https://example.com/webhooks.")
	}
	switch {
	case u.Scheme != "https" && (live || u.Scheme != "http"):
		if live {
			return refuse("must begin with https:// in live mode.")
		}
		return refuse("must begin with https:// or http://.")
	case u.User != nil:
		return refuse("must not hold a user name or password.")
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return refuse("must not have a fragment (#…).")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return refuse("has a port that is none.")
		}
	}
	if live && !isPublicHost(u.Hostname()) {
		return refuse("must lead to a public server.")
	}
	return nil
}

// isPublicHost reports whether a host can be public. localhost, names of local networks and
// addresses that are not public cannot, in any spelling that a resolver accepts.
func isPublicHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") ||
		strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal") {
		return false
	}
	if i := strings.IndexByte(host, '%'); i >= 0 {
		return false // an address with a zone belongs to this machine's network
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		var ok bool
		if ip, ok = oldIPv4(host); !ok {
			// A name. A resolver would take one whose last part is a number for an address.
			last := host[strings.LastIndexByte(host, '.')+1:]
			return last != "" && (last[0] < '0' || last[0] > '9') && strings.Contains(host, ".")
		}
	}
	return publicOnly.SafeAddr(ip) == nil
}

// oldIPv4 parses the spellings of inet_aton: one to four numbers, decimal, octal or
// hexadecimal. The last number fills the remaining bytes: 127.1, 0x7f.1, 2130706433.
func oldIPv4(host string) (netip.Addr, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var whole uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 0, 64) // 0x… and 0… as C reads them
		if err != nil || strings.ContainsAny(part, "_bBoO") && !strings.HasPrefix(part, "0x") {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return netip.Addr{}, false
			}
			whole |= n << (8 * (3 - i))
			continue
		}
		if n >= 1<<(8*(4-i)) {
			return netip.Addr{}, false
		}
		whole |= n
	}
	return netip.AddrFrom4([4]byte{byte(whole >> 24), byte(whole >> 16), byte(whole >> 8), byte(whole)}), true
}

// publicOnly knows which addresses are public.
var publicOnly = ssrf.New(ssrf.WithAnyPort())
