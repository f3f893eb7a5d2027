package httpapi

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// Observer receives an Observation of each request. Package otelpayments, a module of its
// own, has one for OpenTelemetry. payments.Observer observes the background work.
type Observer interface {
	// The handler calls ObserveRequest after it has answered a request, with the
	// request's own context, so that it can name a span that the host's middleware began.
	// Many goroutines call it at once, and the connection waits for it. The handler logs a
	// panic in it and goes on.
	ObserveRequest(ctx context.Context, r Observation)
}

// Observation describes an answered request. It holds ids and no personal data.
type Observation struct {
	// Method is a standard HTTP method, or "other".
	Method string
	// Route is the pattern of the path, such as "/v1/payouts/{id}". It is empty for an unknown
	// path, and under /v1 for a request without a valid key.
	Route  string
	Status int
	// Code is the error's, such as "insufficient_balance"; empty when the request succeeded.
	Code     api.Code
	Duration time.Duration
	// RequestID is the answer's header Request-Id.
	RequestID string
	// Merchant and Live belong to the key; empty and false on a public path.
	Merchant string
	Live     bool
	// Replayed says that the answer repeats that of an earlier request.
	Replayed bool
	// Abandoned says that the client closed the connection before the answer.
	Abandoned bool
}

// observe logs an answered request and calls the observer.
func (rt *router) observe(ctx context.Context, r *request, status int, took time.Duration) {
	level := slog.LevelInfo
	if r.abandoned {
		level = slog.LevelDebug
	}
	method := loggedMethod(r.Method)
	if rt.log.Enabled(ctx, level) {
		attrs := make([]slog.Attr, 0, 9)
		// The pattern stands for the path: an id in it may be a hosted page's token.
		attrs = append(attrs,
			slog.String("method", method),
			slog.String("route", r.pattern),
			slog.Int("status", status),
			slog.Duration("duration", took),
			slog.String("request_id", r.caller.RequestID),
			slog.String("merchant", r.caller.Merchant),
			slog.Bool("live", r.caller.Live))
		if r.code != "" {
			attrs = append(attrs, slog.String("code", string(r.code)))
		}
		if r.replayed {
			attrs = append(attrs, slog.Bool("replayed", true))
		}
		rt.log.LogAttrs(ctx, level, "request", attrs...)
	}
	if rt.config.Observer == nil {
		return
	}
	defer func() {
		if recover() != nil {
			rt.log.ErrorContext(ctx, "the observer panicked", "request_id", r.caller.RequestID, "stack", string(debug.Stack()))
		}
	}()
	rt.config.Observer.ObserveRequest(ctx, Observation{
		Method: method, Route: r.pattern, Status: status, Code: r.code, Duration: took, RequestID: r.caller.RequestID,
		Merchant: r.caller.Merchant, Live: r.caller.Live, Replayed: r.replayed, Abandoned: r.abandoned,
	})
}
