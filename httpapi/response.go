package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// response is an answer with its headers. Handlers return one if the answer is not a value
// to encode: an image, a page, a redirect, JSON from the database.
type response struct {
	status      int // 0 stands for 200
	contentType string
	header      map[string]string
	body        []byte
}

// setHeader sets a header of the answer. It may set Cache-Control, but no other header that
// all answers have (Request-Id, Content-Length).
func (a *response) setHeader(name, value string) {
	if a.header == nil {
		a.header = make(map[string]string, 2)
	}
	a.header[name] = value
}

// newResponse returns an answer with status 200 and that Content-Type.
func newResponse(contentType string, body []byte) *response {
	return &response{contentType: contentType, body: body}
}

// redirect returns a temporary redirect (302).
func redirect(location string) *response {
	return &response{status: http.StatusFound, header: map[string]string{"Location": location}}
}

// render turns a handler's result into an answer: a *response unchanged, nil into 204
// without a body, everything else into JSON with 200.
func render(r *request, v any) (*response, error) {
	switch v := v.(type) {
	case nil:
		return &response{status: http.StatusNoContent}, nil
	case *response:
		return v, nil
	}
	return encode(r, http.StatusOK, v)
}

// encode encodes the whole JSON into the request's buffer before any of it is sent, so that
// an encoding error is still answered as an error.
func encode(r *request, status int, v any) (*response, error) {
	b := r.buffer()
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false) // the Content-Type is JSON's, and nosniff
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("httpapi: encode answer: %w", err)
	}
	answer := newResponse("application/json", b.Bytes())
	answer.status = status
	return answer, nil
}

// write sends the answer and returns its status.
func (a *response) write(w http.ResponseWriter, r *request) int {
	status := a.status
	if status == 0 {
		status = http.StatusOK
	}
	h := w.Header()
	// The values share one allocation, each in a slice that cannot grow into the next.
	values := make([]string, 0, 5)
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	// Answers hold a merchant's data, and some hold secrets.
	set("Cache-Control", "no-store")
	if a.contentType != "" {
		set("Content-Type", a.contentType)
	}
	for name, value := range a.header {
		h.Set(name, value)
	}
	set("Request-Id", r.caller.RequestID)
	set("X-Content-Type-Options", "nosniff")
	if r.ignored != "" {
		h.Set("Ignored-Parameters", r.ignored)
	}
	if r.replayed && status < http.StatusBadRequest {
		h.Set("Idempotent-Replayed", "true")
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead && len(a.body) > 0 {
		// An error means that the client has gone.
		_, _ = w.Write(a.body)
	}
	return status
}
