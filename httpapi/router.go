package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
)

// route is one row of the table of routes.
type route struct {
	method string
	// pattern is a path in which a segment may be a wildcard: "/v1/payouts/{id}". A path
	// under /v1 needs an API key, every other is public.
	pattern string
	// resource is what an API key's permissions name, such as "payouts"; empty where every key will
	// do. A public route has none.
	resource string
	// write says that the API key must have the permission to change the resource.
	write  bool
	handle handler
	// maxBody bounds the body in bytes; 0 stands for the package's maxBody.
	maxBody int64
	// heavy says that a request takes megabytes of memory, so that few run at a time.
	heavy bool
	// errorPage renders errors of a route whose answers are pages; nil stands for JSON.
	// The router sets the status.
	errorPage func(r *request, status int, e *api.Error) (any, error)
}

// router is the handler: everything but the routes. It serves the same under any
// prefix that http.StripPrefix takes away.
type router struct {
	config    Config
	log       *slog.Logger
	requestID func() string
	limiter   *limiter
	badKeys   *badKeyLimiter
	clientIP  func(*http.Request) string
	// inFlight bounds all requests, heavy those that take much memory.
	inFlight, heavy *concurrencyLimiter
	paths           *paths
	routes          []route // held against openapi.yaml by a test
}

// newRouter returns the handler of a table of routes. requestID makes the ids of
// requests, prefix included. config.Authenticate must be set where a route is
// under /v1. Two routes that collide panic.
func newRouter(config Config, requestID func() string, routes []route) *router {
	return &router{
		config: config, log: config.logger(), requestID: requestID,
		limiter: newLimiter(config.RateLimit), badKeys: newBadKeyLimiter(), clientIP: config.clientIP(),
		inFlight: newConcurrencyLimiter(config.InFlight), heavy: newConcurrencyLimiter(heavyInFlight),
		paths: newPaths(routes), routes: routes,
	}
}

// ServeHTTP answers one request.
func (rt *router) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(hr.Context(), rt.config.timeout())
	defer cancel()
	r := &request{Request: hr.WithContext(ctx), writer: w, refuseUnknown: rt.config.RefuseUnknown}
	defer func() {
		r.slot.release()
		r.heavySlot.release()
	}()
	r.caller.RequestID = rt.requestID()
	r.caller.Replayed = &r.replayed
	late := rt.startHardTimeout(w, hr, r.caller.RequestID)

	answer, err := rt.renderRecovered(r, func() (any, error) { return rt.serve(r) })
	if err != nil {
		answer = rt.errorResponse(r, err)
	}
	status := http.StatusServiceUnavailable
	if late.stop() {
		stop := r.limitUnreadBody()
		status = answer.write(w, r)
		stop()
	} else {
		r.code = api.Unavailable
	}
	r.release()

	rt.observe(hr.Context(), r, status, time.Since(start))
}

// serve checks the API key, limits, path, method, permission and body, and calls the handler.
func (rt *router) serve(r *request) (any, error) {
	var err error
	if r.slot, err = rt.inFlight.acquire(); err != nil {
		return nil, err
	}
	// Check the API key before the path, so that a client without one learns no paths.
	if r.needsAPIKey = pathNeedsAPIKey(r.URL.Path); r.needsAPIKey {
		if err := rt.authenticate(r); err != nil {
			return nil, err
		}
	} else {
		r.client = rt.clientIP(r.Request)
	}
	if err := r.slot.joinGroup(r.caller, r.client); err != nil {
		return nil, err
	}
	if r.needsAPIKey {
		if err := rt.limiter.take(engine.Scope(r.caller), time.Now()); err != nil {
			return nil, err
		}
	}
	e := rt.paths.find(r.URL.EscapedPath(), &r.values)
	if e == nil || pathNeedsAPIKey(e.pattern) != r.needsAPIKey {
		return nil, api.Errorf(api.NotFound, "", "There is nothing at this path. Check it against the reference; it has no slash at its end.")
	}
	r.pattern, r.allow, r.names = e.pattern, e.allow, e.names
	if r.route = e.route(r.Method); r.route == nil {
		return nil, api.Errorf(api.MethodNotAllowed, "", "This path does not answer that method. It answers %s.", e.allow)
	}
	if r.needsAPIKey && r.route.resource != "" && !r.access.Allows(r.route.resource, r.route.write) {
		return nil, api.Errorf(api.PermissionDenied, "", "This API key does not allow this. It needs the permission to %s %s.", verb(r.route.write), r.route.resource)
	}
	for _, value := range r.values[:len(e.names)] {
		// No object has such an id, and some stores fail on it.
		if !isName(value) {
			return nil, api.NoSuch("object")
		}
	}
	if r.route.heavy {
		if r.heavySlot, err = rt.heavy.wait(r.Context(), r.caller, r.client); err != nil {
			return nil, err
		}
	}
	switch r.Method {
	case http.MethodPost, http.MethodPatch, http.MethodDelete:
		key, err := idempotencyKey(r.Header)
		if err != nil {
			return nil, err
		}
		// A read-only API key stores nothing, so it uses up no idempotency key.
		if r.access.Allows(r.route.resource, true) {
			r.caller.IdempotencyKey = key
		}
	}
	if r.needsAPIKey && (r.Method == http.MethodPost || r.Method == http.MethodPatch) {
		// Refuse a malformed body even if the handler needs none.
		if _, err := r.body(); err != nil {
			return nil, err
		}
	}
	return r.route.handle(r)
}

// pathNeedsAPIKey reports whether a path needs an API key, even if it does not exist.
func pathNeedsAPIKey(path string) bool { return path == "/v1" || strings.HasPrefix(path, "/v1/") }

func verb(write bool) string {
	if write {
		return "change"
	}
	return "read"
}

// loggedMethod returns a standard method, or "other", so that clients cannot write to the log.
func loggedMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "other"
}
