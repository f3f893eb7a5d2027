package httpapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// clientIP returns what names the client of a request: Config.ClientIP, or the address
// of the connection, or, behind TrustedProxies, the address that they vouch for. A network
// of 64 bits in IPv6 counts as one client.
func (c Config) clientIP() func(*http.Request) string {
	if named := c.ClientIP; named != nil {
		return func(r *http.Request) string { return clientNetwork(named(r), 64) }
	}
	if len(c.TrustedProxies) > 0 {
		proxies := slices.Clone(c.TrustedProxies)
		return func(r *http.Request) string { return clientNetwork(forwardedIP(proxies, r), 64) }
	}
	if c.TrustedProxies != nil {
		return remoteIP
	}
	warn := sync.OnceFunc(func() {
		c.logger().Warn("requests come through a proxy, and all its clients count as one: set Config.TrustedProxies or Config.ClientIP")
	})
	return func(r *http.Request) string {
		if r.Header["X-Forwarded-For"] != nil || r.Header["Forwarded"] != nil {
			warn()
		}
		return remoteIP(r)
	}
}

// remoteIP is the client of a request by its connection.
func remoteIP(r *http.Request) string { return clientNetwork(r.RemoteAddr, 64) }

// clientNetwork returns an IPv4 address, or the network of so many bits of an IPv6 address. It
// returns name unchanged if that is no address.
func clientNetwork(name string, bits int) string {
	ip, ok := parseAddr(name)
	if !ok {
		return name
	}
	if !ip.Is6() {
		return ip.String()
	}
	p, err := ip.Prefix(bits)
	if err != nil {
		return name
	}
	return p.String()
}

// parseAddr parses an address with or without a port, or the first address of a network.
func parseAddr(name string) (netip.Addr, bool) {
	if with, err := netip.ParseAddrPort(name); err == nil {
		return with.Addr().Unmap().WithZone(""), true
	}
	if p, err := netip.ParsePrefix(name); err == nil {
		return p.Addr().Unmap(), true
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return ip.Unmap().WithZone(""), err == nil
}

// forwardedIP returns the last address that is no trusted proxy's: of the connection, then of
// X-Forwarded-For from its end, where each proxy adds its client. A client can forge the
// addresses before that.
func forwardedIP(proxies []netip.Prefix, r *http.Request) string {
	name := r.RemoteAddr
	chain := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(chain) - 1; i >= 0; i-- {
		ip, ok := parseAddr(name)
		if !ok || !slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(ip) }) {
			return name
		}
		before := strings.TrimSpace(chain[i])
		if _, ok := parseAddr(before); !ok {
			return name
		}
		name = before
	}
	return name
}
