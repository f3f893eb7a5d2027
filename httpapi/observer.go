package httpapi

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// Observer is told of requests. Package otelpayments, a module of its own, is one
// for OpenTelemetry; that of the background work is payments.Observer.
type Observer interface {
	// ObserveRequest is called when a request has been answered, with the context that
	// the handler was called with, so that a span which the host's middleware began
	// can be given a name. It is called by many goroutines at once, and holds up the
	// connection. A panic in it is logged and ends nothing.
	ObserveRequest(ctx context.Context, r Observation)
}

// Observation is what is told of a request. It holds ids, and nothing of a person.
type Observation struct {
	// Method is a method of HTTP, or "other".
	Method string
	// Route is the pattern of the path, as "/v1/payouts/{id}"; empty where there is no
	// such path, or no key to look at it. Two deployments have the same few.
	Route  string
	Status int
	// Code is that of a refusal or fault, as "insufficient_balance"; empty when the
	// request was answered well.
	Code     api.Code
	Duration time.Duration
	// RequestID is what the answer carries as Request-Id.
	RequestID string
	// Merchant and Live say whose key it was; empty and false on a public path.
	Merchant string
	Live     bool
	// Replayed says that the answer is that of an earlier request.
	Replayed bool
	// Abandoned says that the client went away before it was answered.
	Abandoned bool
}

// tell tells the log and the observer of a request.
func (rt *router) tell(ctx context.Context, r *request, status int, took time.Duration) {
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
