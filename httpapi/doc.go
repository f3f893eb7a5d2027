// Package httpapi serves the REST API and the hosted payment pages over the services of
// package payments.
//
// It holds everything about HTTP: routes, keys in headers, statuses, parsing of JSON and
// query parameters, limits on size and time. It holds no business rule. The domain packages
// define the errors; one table in errors.go maps them to statuses.
//
// The handler checks, in this order: the key, the rate limit, the path, the method, the key's
// permission, the idempotency key and the body. It checks the key for every path under /v1, known or
// not. Then it calls the route's handler. All errors, panics and time-outs have the same JSON.
package httpapi
