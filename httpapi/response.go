package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// raw is an answer as it goes out. Handlers return one where the answer is not
// JSON: a picture, a page, a redirect, nothing.
type raw struct {
	status int    // 0 stands for 200
	kind   string // the Content-Type
	header map[string]string
	body   []byte
}

// set sets a header of the answer. Cache-Control may be set; what all answers
// have in common besides (Request-Id, Content-Length) may not.
func (a *raw) set(name, value string) {
	if a.header == nil {
		a.header = make(map[string]string, 2)
	}
	a.header[name] = value
}

// content returns an answer of 200 with a body of that Content-Type.
func content(contentType string, body []byte) *raw {
	return &raw{kind: contentType, body: body}
}

// redirect sends the client elsewhere, this once (302).
func redirect(location string) *raw {
	return &raw{status: http.StatusFound, header: map[string]string{"Location": location}}
}

// render turns what a handler returned into an answer: a *raw as it is, nil into
// 204 without a body, everything else into JSON with 200.
func render(r *request, v any) (*raw, error) {
	switch v := v.(type) {
	case nil:
		return &raw{status: http.StatusNoContent}, nil
	case *raw:
		return v, nil
	}
	return encode(r, http.StatusOK, v)
}

// encode writes the whole JSON before any of it goes out, so that a failure half
// way is still answered as one. It is in the request's buffer.
func encode(r *request, status int, v any) (*raw, error) {
	b := r.buffer()
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false) // the Content-Type is JSON's, and nosniff
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("httpapi: encode answer: %w", err)
	}
	answer := content("application/json", b.Bytes())
	answer.status = status
	return answer, nil
}

// write sends the answer and returns its status.
func (a *raw) write(w http.ResponseWriter, r *request) int {
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
	// Answers are a merchant's own, and some hold secrets that are shown once.
	set("Cache-Control", "no-store")
	if a.kind != "" {
		set("Content-Type", a.kind)
	}
	for name, value := range a.header {
		h.Set(name, value)
	}
	set("Request-Id", r.caller.RequestID)
	set("X-Content-Type-Options", "nosniff")
	if r.replayed && status < http.StatusBadRequest {
		h.Set("Idempotent-Replayed", "true")
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead && len(a.body) > 0 {
		// An error means that the client has gone; there is nobody to tell.
		_, _ = w.Write(a.body)
	}
	return status
}
