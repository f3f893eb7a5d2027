package httpapi

import (
	"log/slog"
	"net/http"
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
	// RateLimit bounds the requests of each merchant and mode. Off by default:
	// hosts often have their own in front.
	RateLimit RateLimit
	// TestHelpers mounts /v1/test_helpers, where the service is a sandbox. They
	// answer to test keys only.
	TestHelpers bool
	// ClientIP names the client that a request comes from, for the limits on tries
	// at the public pages; nil stands for the address of the connection, or its
	// network of 64 bits for IPv6. A host behind a proxy must set it, since all clients
	// of a proxy would be one, and one stranger could keep the others from paying. It
	// returns the address that the proxy vouches for, and of IPv6 that network, too.
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
