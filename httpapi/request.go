package httpapi

import (
	"context"
	"net/http"
	"sync"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/shown"
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
	client    string   // whom it comes from, see Config.ClientIP
	replayed  bool     // the service answered from an earlier call
	abandoned bool     // the client has gone
	code      api.Code // of a refusal or fault

	// flight and freight are the request's places among those that are worked on, and
	// among the heavy ones.
	flight, freight flight

	writer http.ResponseWriter // for limits on reading the body, not for writing
	parsed *fields
	// page is the request's buffer, see buffer; nil until it is used. After a handler
	// that asked for reading it has what was read, as JSON.
	page *shown.Page
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
		r.buffer() // no field shares its bytes
		r.parsed = newFields(v, err)
	}
	return r.parsed
}

// reading returns the context for the one call of a handler that hands on what the
// call returns, as it is: what it reads is then answered as JSON without having been
// a Go value.
func (r *request) reading() context.Context {
	return shown.Into(r.Context(), r.buffer())
}

// buffer returns the request's buffer, emptied: the body is read into it, and the answer
// put together there, one after the other. Its memory is another request's afterwards.
func (r *request) buffer() *shown.Page {
	if r.page == nil {
		r.page = shownPages.Get().(*shown.Page)
	}
	r.page.Reset()
	return r.page
}

var shownPages = sync.Pool{New: func() any { return new(shown.Page) }}

// maxPage is the largest buffer whose memory is kept for the next request.
const maxPage = 256 << 10

// release gives the memory of the buffer back, once the answer has been written.
func (r *request) release() {
	if r.page != nil && r.page.Cap() <= maxPage {
		shownPages.Put(r.page)
	}
	r.page = nil
}

// query returns the query parameters.
func (r *request) query() *query { return newQuery(r.URL.RawQuery) }
