package httpapi

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// endpoint is the routes of one path.
type endpoint struct {
	pattern string
	names   []string // of the wildcards
	methods map[string]*route
	allow   string // the value of the header Allow
}

// maxWildcards is the largest number of wildcards in a pattern.
const maxWildcards = 2

// paths is the tree of all patterns, which finds the endpoint of a path. A node stands for
// the patterns that begin alike.
type paths struct {
	endpoint *endpoint         // of the pattern that ends here; nil for none
	literals map[string]*paths // what may follow, by the text of the next segment
	wildcard *paths            // what may follow a segment with any other text; nil for nothing
}

// newPaths returns the tree of a table of routes. Two routes that collide panic.
func newPaths(routes []route) *paths {
	root := &paths{literals: make(map[string]*paths)}
	for i := range routes {
		row := &routes[i]
		e := root.add(row.pattern)
		if e.methods[row.method] != nil || e.pattern != row.pattern {
			panic("httpapi: two routes for " + row.method + " " + row.pattern)
		}
		e.methods[row.method] = row
		e.allow = e.allowed()
	}
	return root
}

// add returns the endpoint of a pattern, which it adds to the tree if there is none.
func (p *paths) add(pattern string) *endpoint {
	var names []string
	for segment := range strings.SplitSeq(pattern[1:], "/") {
		name, isWildcard := strings.CutPrefix(segment, "{")
		next := p.literals[segment]
		if isWildcard {
			next = p.wildcard
			names = append(names, strings.TrimSuffix(name, "}"))
		}
		if next == nil {
			next = &paths{literals: make(map[string]*paths)}
		}
		if isWildcard {
			p.wildcard = next
		} else {
			p.literals[segment] = next
		}
		p = next
	}
	if p.endpoint == nil {
		p.endpoint = &endpoint{pattern: pattern, names: names, methods: make(map[string]*route)}
	}
	return p.endpoint
}

// find returns the endpoint of a path and writes the values of its wildcards into values.
// It returns nil for a path that is not written in the one right way, which an
// http.ServeMux would redirect, and to a place outside a prefix that http.StripPrefix took
// away.
func (p *paths) find(escaped string, values *[maxWildcards]string) *endpoint {
	if !strings.HasPrefix(escaped, "/") || path.Clean(escaped) != escaped || hasNeedlessEscape(escaped) {
		return nil
	}
	return p.match(escaped, values[:0])
}

// match finds the endpoint of what is left of a path. A literal goes before a wildcard.
func (p *paths) match(rest string, values []string) *endpoint {
	if rest == "" {
		return p.endpoint
	}
	segment := rest[1:]
	rest = ""
	if end := strings.IndexByte(segment, '/'); end >= 0 {
		segment, rest = segment[:end], segment[end:]
	}
	if text, err := url.PathUnescape(segment); err == nil {
		segment = text
	}
	if next := p.literals[segment]; next != nil {
		if e := next.match(rest, values); e != nil {
			return e
		}
	}
	if p.wildcard == nil || segment == "/" { // an escaped slash alone names nothing
		return nil
	}
	return p.wildcard.match(rest, append(values, segment))
}

// hasNeedlessEscape reports whether a path escapes a character that needs no escape, as
// /v1/%62alance does. A proxy that blocks paths by their text would miss it.
func hasNeedlessEscape(escaped string) bool {
	for _, after, found := strings.Cut(escaped, "%"); found; _, after, found = strings.Cut(after, "%") {
		b, err := strconv.ParseUint(after[:min(2, len(after))], 16, 8)
		if err != nil || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("-._~", byte(b)) >= 0 {
			return true
		}
	}
	return false
}

// route returns the row of a method; nil for none. That of GET answers HEAD, too: the body is left out
// when it is written.
func (e *endpoint) route(method string) *route {
	if method == http.MethodHead && e.methods[method] == nil {
		method = http.MethodGet
	}
	return e.methods[method]
}

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
