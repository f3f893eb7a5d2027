package httpapi

import (
	"log/slog"
	"net/http"
	"net/netip"
	"time"
)

// Config is how the handler behaves. The zero value works.
type Config struct {
	// Authenticate says whose a key is. Nil stands for the service's own API
	// keys; a host with keys of its own replaces it.
	Authenticate Authenticator
	// Timeout is how long a request may take, from its headers to its answer; 0
	// stands for 30 seconds. What takes longer is answered 503, a second later at the
	// latest, also while the store still waits for the outcome of a commit.
	Timeout time.Duration
	// InFlight bounds how many requests are worked on at a time. It is always on.
	InFlight InFlight
	// RateLimit bounds the requests of each merchant and mode. Off by default:
	// hosts often have their own in front.
	RateLimit RateLimit
	// TestHelpers mounts /v1/test_helpers, where the service is a sandbox. They
	// answer to test keys only.
	TestHelpers bool
	// TrustedProxies are the networks of the proxies in front: a request that comes
	// from one of them is the last address' in X-Forwarded-For that is not one of
	// theirs. Nil stands for none, and a warning is logged when a request has that
	// header; an empty list stands for none without it.
	TrustedProxies []netip.Prefix
	// ClientIP names the client that a request comes from, for the limits on bad keys
	// and on tries at the hosted pages; nil stands for the address of the connection,
	// see TrustedProxies. A host behind a proxy sets one of the two, since all clients of
	// a proxy would be one, and one stranger could keep the others from paying. It returns the address that the host's proxy vouches for. Of
	// IPv6 the network of 64 bits counts; for PINs, and for requests under way, that of 48.
	ClientIP func(*http.Request) string
	// Logger receives one line for each request and one for each fault; nil stands
	// for slog.Default(). No line holds a body, a query string, a key, or a path
	// with its ids.
	Logger *slog.Logger
	// Observer is told of every request that was answered, for metrics and traces;
	// nobody when nil.
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
