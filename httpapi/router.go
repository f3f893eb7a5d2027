package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// route is one row of the table of routes.
type route struct {
	method string
	// pattern is the path as http.ServeMux has it, without the method:
	// "/v1/payouts/{id}". A path under /v1 needs a key, every other is public.
	pattern string
	// resource is what a key's permissions name, as "payouts"; empty where every
	// key will do. A public route has none.
	resource string
	// write says that the key must be allowed to change the resource.
	write bool
	// handle answers. What it returns is rendered as render says; an error that
	// is no [api.Error] is a fault of ours.
	handle func(*request) (any, error)
	// maxBody is the longest body that is read, in bytes; 0 for what all others take.
	maxBody int64
	// heavy says that a request takes megabytes, so that few are worked on at a time.
	heavy bool
	// first has the path looked for before all others: for one that the mux could not
	// tell from another's, as "/v1/things/group/{id}" from "/v1/things/{id}/action".
	first bool
	// refusal renders failures of a route whose answers are pages. Nil renders
	// the JSON of errors. Its status is set by the router.
	refusal func(r *request, status int, e *api.Error) (any, error)
}

// endpoint is the routes of one path.
type endpoint struct {
	pattern string
	names   []string // of the wildcards
	methods map[string]*route
	allow   string // the value of the header Allow
}

// router is the handler: everything but the routes. It serves the same under any
// prefix that http.StripPrefix takes away.
type router struct {
	config    Config
	log       *slog.Logger
	requestID func() string
	limiter   *limiter
	failures  *failures
	clientIP  func(*http.Request) string
	// inFlight bounds all requests, heavy those that take much memory.
	inFlight, heavy *flights
	endpoints       map[string]*endpoint // by pattern
	// first and mux find the endpoint of a path, in this order.
	first, mux *http.ServeMux
	// under is how the paths in first begin, up to their first wildcard: a mux that is
	// asked in vain writes its whole 404, a tenth of what a GET allocates.
	under  []string
	routes []route // held against openapi.yaml by a test
}

// newRouter returns the handler of a table of routes. requestID makes the ids of
// requests, prefix included. config.Authenticate must be set where a route is
// under /v1. Two routes that collide panic.
func newRouter(config Config, requestID func() string, routes []route) *router {
	rt := &router{
		config: config, log: config.logger(), requestID: requestID,
		limiter: newLimiter(config.RateLimit), failures: newFailures(), clientIP: config.clientIP(),
		inFlight: newFlights(config.InFlight), heavy: newFlights(heavyInFlight),
		first: http.NewServeMux(), mux: http.NewServeMux(), routes: routes,
	}
	endpoints := make(map[string]*endpoint)
	rt.endpoints = endpoints
	for i := range routes {
		row := &routes[i]
		e := endpoints[row.pattern]
		if e == nil {
			e = &endpoint{pattern: row.pattern, names: wildcards(row.pattern), methods: make(map[string]*route)}
			endpoints[row.pattern] = e
			mux := rt.mux
			if row.first {
				mux = rt.first
				prefix, _, _ := strings.Cut(row.pattern, "{")
				rt.under = append(rt.under, prefix)
			}
			mux.Handle(row.pattern, e)
		}
		if e.methods[row.method] != nil {
			panic("httpapi: two routes for " + row.method + " " + row.pattern)
		}
		e.methods[row.method] = row
	}
	for _, e := range endpoints {
		e.allow = e.allowed()
	}
	return rt
}

// ServeHTTP answers one request.
func (rt *router) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(hr.Context(), rt.config.timeout())
	defer cancel()
	r := &request{Request: hr.WithContext(ctx), writer: w}
	defer func() {
		r.flight.end()
		r.freight.end()
	}()
	r.caller.RequestID = rt.requestID()
	r.caller.Replayed = &r.replayed
	late := rt.answerLate(w, hr, r.caller.RequestID)

	answer, err := rt.protect(r, func() (any, error) { return rt.serve(r) })
	if err != nil {
		answer = rt.refuse(r, err)
	}
	status := http.StatusServiceUnavailable
	if late.prevent() {
		stop := r.cutOffRest()
		status = answer.write(w, r)
		stop()
	} else {
		r.code = api.Unavailable
	}
	r.release()

	rt.tell(hr.Context(), r, status, time.Since(start))
}

// serve passes a request through what every request must pass, to its handler.
func (rt *router) serve(r *request) (any, error) {
	var err error
	if r.flight, err = rt.inFlight.begin(); err != nil {
		return nil, err
	}
	// The key comes before the path, so that nobody without one learns what
	// paths there are.
	if r.private = isPrivate(r.URL.Path); r.private {
		if err := rt.authenticate(r); err != nil {
			return nil, err
		}
	} else {
		r.client = rt.clientIP(r.Request)
	}
	if err := r.flight.join(r.caller, r.client); err != nil {
		return nil, err
	}
	if r.private {
		if err := rt.limiter.take(r.caller.Scope(), time.Now()); err != nil {
			return nil, err
		}
	}
	e := rt.find(r)
	if e == nil || isPrivate(e.pattern) != r.private {
		return nil, api.Errorf(api.NotFound, "", "There is nothing at this path. Check it against the reference; it has no slash at its end.")
	}
	r.pattern, r.allow = e.pattern, e.allow
	method := r.Method
	if method == http.MethodHead && e.methods[method] == nil {
		method = http.MethodGet // the body is left out when it is written
	}
	if r.route = e.methods[method]; r.route == nil {
		return nil, api.Errorf(api.MethodNotAllowed, "", "This path does not answer that method. It answers %s.", e.allow)
	}
	if r.private && r.route.resource != "" && !r.access.Allows(r.route.resource, r.route.write) {
		return nil, api.Errorf(api.PermissionDenied, "", "This API key does not allow this. It needs the permission to %s %s.", verb(r.route.write), r.route.resource)
	}
	for _, name := range e.names {
		// No object has such an id, and not every store could even look for it.
		if !isName(r.PathValue(name)) {
			return nil, api.NoSuch("object")
		}
	}
	if r.route.heavy {
		if r.freight, err = rt.heavy.wait(r.Context(), r.caller, r.client); err != nil {
			return nil, err
		}
	}
	switch method {
	case http.MethodPost, http.MethodPatch, http.MethodDelete:
		key, err := idempotencyKey(r.Header)
		if err != nil {
			return nil, err
		}
		// A key that may only read keeps nothing, so that it takes no idempotency key away.
		if r.access.Allows(r.route.resource, true) {
			r.caller.IdempotencyKey = key
		}
	}
	if r.private && (method == http.MethodPost || method == http.MethodPatch) {
		// A body that cannot be read is refused even where the handler needs none.
		if err := r.body().err(); err != nil {
			return nil, err
		}
	}
	v, err := r.route.handle(r)
	if err == nil && r.page != nil && r.page.Len() > 0 {
		return content("application/json", r.page.Bytes()), nil
	}
	return v, err
}

// find returns the endpoint of the path and sets the path's values, or nil.
func (rt *router) find(r *request) *endpoint {
	// The mux would redirect such a path, and to a place outside a prefix that
	// http.StripPrefix took away.
	escaped := r.URL.EscapedPath()
	if !strings.HasPrefix(escaped, "/") || (escaped != "/" && path.Clean(escaped) != escaped) || respelled(escaped) {
		return nil
	}
	var f finder
	if slices.ContainsFunc(rt.under, func(prefix string) bool { return strings.HasPrefix(r.URL.Path, prefix) }) {
		rt.first.ServeHTTP(&f, r.Request)
	}
	if f.endpoint == nil {
		rt.mux.ServeHTTP(&f, r.Request)
	}
	return f.endpoint
}

// respelled reports whether a path escapes a character that needs no escape, as
// /v1/%62alance does. A proxy that guards paths by their spelling would not know it.
func respelled(escaped string) bool {
	for _, after := range strings.Split(escaped, "%")[1:] {
		b, err := strconv.ParseUint(after[:min(2, len(after))], 16, 8)
		if err != nil || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("-._~", byte(b)) >= 0 {
			return true
		}
	}
	return false
}

// finder takes the place of a response, so that the mux only finds: what it
// finds reports itself here, and what the mux would write is dropped.
type finder struct{ endpoint *endpoint }

func (*finder) Header() http.Header         { return http.Header{} }
func (*finder) Write(b []byte) (int, error) { return len(b), nil }
func (*finder) WriteHeader(int)             {}

// ServeHTTP reports the endpoint to the finder.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, _ *http.Request) { w.(*finder).endpoint = e }

// allowed lists the methods in the order of the alphabet; GET brings HEAD.
func (e *endpoint) allowed() string {
	var methods []string
	for method := range e.methods {
		methods = append(methods, method)
	}
	if e.methods[http.MethodGet] != nil && e.methods[http.MethodHead] == nil {
		methods = append(methods, http.MethodHead)
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}

// wildcards returns the names in a pattern: id of "/v1/payouts/{id}".
func wildcards(pattern string) []string {
	var names []string
	for segment := range strings.SplitSeq(pattern, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok && name != "$}" {
			names = append(names, strings.TrimSuffix(strings.TrimSuffix(name, "}"), "..."))
		}
	}
	return names
}

// isPrivate reports whether a path needs a key, whether it exists or not.
func isPrivate(path string) bool { return path == "/v1" || strings.HasPrefix(path, "/v1/") }

func verb(write bool) string {
	if write {
		return "change"
	}
	return "read"
}

// loggedMethod keeps a method that a client made up out of the log.
func loggedMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "other"
}
