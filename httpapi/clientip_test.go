package httpapi

import (
	"net/http"
	"testing"
)

// Whoever has one address of IPv6 has as many as there are in its network of 64
// bits: they are one client, or the limit on tries were none.
func TestClientsAreToldApartByNetwork(t *testing.T) {
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
		if got := remoteIP(&http.Request{RemoteAddr: address}); got != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
}
