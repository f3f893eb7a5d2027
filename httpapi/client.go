package httpapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// clientIP returns what names the client of a request: Config.ClientIP, or the address
// of the connection, or, behind TrustedProxies, the one that they vouch for. Who has one
// address of IPv6 has a network of 64 bits, which counts as one client.
func (c Config) clientIP() func(*http.Request) string {
	if named := c.ClientIP; named != nil {
		return func(r *http.Request) string { return network(named(r), 64) }
	}
	if len(c.TrustedProxies) > 0 {
		proxies := slices.Clone(c.TrustedProxies)
		return func(r *http.Request) string { return network(behind(proxies, r), 64) }
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
func remoteIP(r *http.Request) string { return network(r.RemoteAddr, 64) }

// network returns an address, and of one of IPv6 its network of so many bits. What is
// no address comes back as it is.
func network(name string, bits int) string {
	ip, ok := address(name)
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

// address reads an address, with a port or without, or the first of a network.
func address(name string) (netip.Addr, bool) {
	if with, err := netip.ParseAddrPort(name); err == nil {
		return with.Addr().Unmap().WithZone(""), true
	}
	if p, err := netip.ParsePrefix(name); err == nil {
		return p.Addr().Unmap(), true
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return ip.Unmap().WithZone(""), err == nil
}

// behind returns the address nearest to us that is none of the proxies': of the
// connection, and then of X-Forwarded-For, to whose end each proxy adds whom it serves.
// What stands before that, a client can have made up.
func behind(proxies []netip.Prefix, r *http.Request) string {
	name := r.RemoteAddr
	chain := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(chain) - 1; i >= 0; i-- {
		ip, ok := address(name)
		if !ok || !slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(ip) }) {
			return name
		}
		before := strings.TrimSpace(chain[i])
		if _, ok := address(before); !ok {
			return name
		}
		name = before
	}
	return name
}
