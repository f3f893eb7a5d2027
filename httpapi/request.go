package httpapi

import (
	"net/http"

	"github.com/seed-7082ffec/payments/api"
)

// request is one request on its way to its handler, and all that a handler gets.
// It is for one goroutine. Its context ends with the request's time-out.
type request struct {
	*http.Request
	// caller is on whose behalf the services are called. On a public path it has
	// a request id and nothing else.
	caller api.Caller
	// access is what the key allows.
	access Access
	// route is the row of the table; nil until it is found.
	route *route

	private   bool     // the path needs a key
	pattern   string   // the path as it is logged
	allow     string   // the value of the header Allow
	replayed  bool     // the service answered from an earlier call
	abandoned bool     // the client has gone
	code      api.Code // of a refusal or fault

	writer http.ResponseWriter // for limits on reading the body, not for writing
	parsed *fields
}

// id returns the {id} of the path.
func (r *request) id() string { return r.PathValue("id") }

// body returns the fields of the JSON body. It is read when first asked for; an
// error in that is the fields' first. For POST and PATCH under /v1 this has been
// done before the handler runs.
func (r *request) body() *fields {
	if r.parsed == nil {
		data, err := r.readBody()
		var v jsonValue
		if err == nil {
			v, err = parseBody(data)
		}
		r.parsed = newFields(v, err)
	}
	return r.parsed
}

// query returns the query parameters.
func (r *request) query() *query { return newQuery(r.URL.RawQuery) }
