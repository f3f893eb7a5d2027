// Package httpapi is the HTTP skin over the services: it reads requests, names
// the caller, and writes answers.
//
// It owns all that HTTP is about: routes, keys in headers, statuses, the JSON
// that comes in, query parameters, limits on size and time. It owns no rule of
// the business; what a refusal means is said by the domain packages, and the one
// table in errors.go gives it a status.
//
// A request passes, in this order: the key (for every path under /v1, known or
// not), the rate limit, the path, the method, the key's permission, the
// idempotency key, the body, and then its handler. Whatever fails on the way,
// panics and time-outs included, is answered in the one shape of errors.
package httpapi
