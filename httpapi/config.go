package httpapi

import (
	"log/slog"
	"net/http"
	"net/netip"
	"time"
)

// Config configures the handler. The zero value works.
type Config struct {
	// Authenticate finds the merchant of a key. Nil means the service's own API keys. Set it if the
	// host has its own keys or tokens.
	Authenticate Authenticator
	// Timeout is how long a request may take, from its headers to its answer; 0 stands for
	// 30 seconds. The handler answers 503 after that, at most a second later, even while
	// the store still waits for the outcome of a commit.
	Timeout time.Duration
	// InFlight bounds how many requests run at the same time. It is always on.
	InFlight InFlight
	// RateLimit bounds the requests of each merchant and mode. Off by default:
	// hosts often have their own in front.
	RateLimit RateLimit
	// RefuseUnknown refuses a request under /v1 with a field or query parameter that it does not know, with
	// parameter_invalid. Off, such a parameter is ignored, and the answer's header Ignored-Parameters names it.
	RefuseUnknown bool
	// TestHelpers mounts /v1/test_helpers if the service is a sandbox. They accept test
	// keys only.
	TestHelpers bool
	// TrustedProxies are the networks of the proxies in front. For a request from one of
	// them, the client is the last address in X-Forwarded-For outside these networks. Nil
	// stands for none, and the handler logs a warning once if a request has that header. An
	// empty list stands for none without the warning. A proxy on a Unix socket has no address: then set
	// ClientIP.
	TrustedProxies []netip.Prefix
	// ClientIP returns the client's address, for the limits on bad keys and on the hosted pages.
	// Nil stands for the address of the connection, see TrustedProxies. A host behind a proxy sets
	// one of the two: otherwise all clients of the proxy count as one, and one client can keep the
	// others from paying. An IPv6 address counts by its /64 network; for PINs and requests in
	// flight, by its /48 network.
	ClientIP func(*http.Request) string
	// Logger receives one line for each request and one for each internal error; nil stands
	// for slog.Default(). No line holds a body, a query string, a key, or a path with ids.
	Logger *slog.Logger
	// Observer observes every answered request, for metrics and traces; nil for none.
	Observer Observer
}

const defaultTimeout = 30 * time.Second

func (c Config) timeout() time.Duration {
	if c.Timeout <= 0 {
		return defaultTimeout
	}
	return c.Timeout
}

func (c Config) logger() *slog.Logger {
	if c.Logger == nil {
		return slog.Default()
	}
	return c.Logger
}
