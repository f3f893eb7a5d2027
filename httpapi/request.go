package httpapi

import (
	"bytes"
	"net/http"
	"slices"
	"sync"

	"github.com/seed-7082ffec/payments/api"
)

// request is one request, and all that a handler gets. It is for one goroutine. Its context
// ends with the request's time-out.
type request struct {
	*http.Request
	// caller is the caller for the services. On a public path it has only a request id.
	caller api.Caller
	// access is what the API key allows.
	access Access
	// route is the row of the table; nil until it is found.
	route *route

	names  []string             // of the wildcards of the path
	values [maxWildcards]string // of the wildcards

	needsAPIKey bool     // the path is under /v1
	pattern     string   // the path as it is logged
	allow       string   // the value of the header Allow
	client      string   // the client's address, see Config.ClientIP
	replayed    bool     // the service returned a stored answer
	ignored     string   // the header Ignored-Parameters; see takes
	abandoned   bool     // the client has gone
	code        api.Code // of the error

	// slot and heavySlot count the request among all, and among the heavy ones.
	slot, heavySlot slot

	refuseUnknown bool // see Config.RefuseUnknown

	writer http.ResponseWriter // for limits on reading the body, not for writing
	// hasBody says that the body was read, with these members or this error.
	hasBody bool
	members []jsonMember
	bodyErr error
	buf     *bytes.Buffer // see buffer; nil until it is used
}

// PathValue returns the value of a wildcard of the path, or "". The router keeps these values
// itself, so the method of http.Request knows none.
func (r *request) PathValue(name string) string {
	if i := slices.Index(r.names, name); i >= 0 {
		return r.values[i]
	}
	return ""
}

func (r *request) id() string { return r.PathValue("id") }

// body returns the members of the JSON body, which the first call reads. For POST and PATCH
// under /v1 the router calls it before the handler.
func (r *request) body() ([]jsonMember, error) {
	if !r.hasBody {
		data, err := r.readBody()
		var v jsonValue
		if err == nil {
			v, err = parseBody(data)
		}
		r.buffer() // no member shares its bytes
		r.hasBody, r.members, r.bodyErr = true, v.members, err
	}
	return r.members, r.bodyErr
}

// buffer returns the request's buffer, emptied. The body is read into it, and later the
// answer is written into it. Another request uses its memory after release.
func (r *request) buffer() *bytes.Buffer {
	if r.buf == nil {
		r.buf = buffers.Get().(*bytes.Buffer)
	}
	r.buf.Reset()
	return r.buf
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxBuffer is the largest buffer that release keeps for the next request.
const maxBuffer = 256 << 10

// release gives the buffer back, once the answer has been written.
func (r *request) release() {
	if r.buf != nil && r.buf.Cap() <= maxBuffer {
		buffers.Put(r.buf)
	}
	r.buf = nil
}

// query returns the query parameters.
func (r *request) query() *query { return newQuery(r.URL.RawQuery) }
