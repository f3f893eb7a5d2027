package httpapi

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/expect"
)

// A client with one address of IPv6 has as many as there are in its network of 64
// bits: they are one client, or the limit on tries were none.
func TestClientsCountByNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7:4000":                   "192.0.2.7",
		"192.0.2.8:4000":                   "192.0.2.8",
		"[::ffff:192.0.2.7]:4000":          "192.0.2.7",
		"[2001:db8:1:2::1]:4000":           "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff:ffff::9]:4001": "2001:db8:1:2::/64",
		"[2001:db8:1:3::1]:4000":           "2001:db8:1:3::/64",
		"[fe80::1%eth0]:4000":              "fe80::/64",
		"@":                                "@", // of a socket without addresses
	} {
		expect.Equal(t, remoteIP(&http.Request{RemoteAddr: address}), want, "%s", address)
	}
}

// Behind proxies that the host trusts, the client is who the last of them says; what a
// client has written into the header itself counts for nothing.
func TestClientsBehindProxies(t *testing.T) {
	config := Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}
	for _, tt := range []struct {
		connection string
		forwarded  []string
		want       string
	}{
		{"192.0.2.7:4000", nil, "192.0.2.7"},
		{"192.0.2.7:4000", []string{"198.51.100.1"}, "192.0.2.7"}, // no proxy of ours
		{"10.0.0.1:4000", nil, "10.0.0.1"},
		{"10.0.0.1:4000", []string{"198.51.100.1"}, "198.51.100.1"},
		{"[::ffff:10.0.0.1]:4000", []string{"198.51.100.1"}, "198.51.100.1"},
		{"10.0.0.1:4000", []string{"203.0.113.9, 198.51.100.1, 10.1.1.1"}, "198.51.100.1"},
		{"10.0.0.1:4000", []string{"203.0.113.9", "198.51.100.1:555"}, "198.51.100.1"},
		{"10.0.0.1:4000", []string{"2001:db8:1:2::1"}, "2001:db8:1:2::/64"},
		{"[fd00::1]:4000", []string{"[2001:db8:1:2::1]:80"}, "2001:db8:1:2::/64"},
		{"10.0.0.1:4000", []string{"198.51.100.1, nonsense"}, "10.0.0.1"},
		{"10.0.0.1:4000", []string{""}, "10.0.0.1"},
		{"@", []string{"198.51.100.1"}, "@"}, // of a socket without addresses
	} {
		r := &http.Request{RemoteAddr: tt.connection, Header: http.Header{"X-Forwarded-For": tt.forwarded}}
		expect.Equal(t, config.clientIP()(r), tt.want, "%s for %q", tt.connection, tt.forwarded)
	}
}

func TestUnknownProxyLogsOneWarning(t *testing.T) {
	for name, tt := range map[string]struct {
		config Config
		header string
		want   int
	}{
		"nothing said":        {Config{}, "X-Forwarded-For", 1},
		"nothing said, newer": {Config{}, "Forwarded", 1},
		"no proxy":            {Config{}, "Accept", 0},
		"none is trusted":     {Config{TrustedProxies: []netip.Prefix{}}, "X-Forwarded-For", 0},
		"the host says":       {Config{ClientIP: remoteIP}, "X-Forwarded-For", 0},
	} {
		rt, log := testRouter(tt.config, payoutRoutes...)
		for range 3 {
			serve(rt, newRequest("GET", "/v1/payouts", "", tt.header, "for=198.51.100.1"))
		}
		expect.Equal(t, strings.Count(log.String(), "TrustedProxies"), tt.want, "%s", name)
	}
}
