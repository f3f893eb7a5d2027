package httpcall

import (
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// bodyReaders is how many bodies of callbacks are read at a time. A provider sends one in
	// milliseconds.
	bodyReaders = 16
	// readerWait is how long a request waits for its turn, and bodyTime how long its body may take.
	readerWait = 5 * time.Second
	bodyTime   = 10 * time.Second
)

// Bodies reads the bodies of callbacks, few at a time and each within a few seconds. So strangers who send
// slowly can fill neither the memory nor, for long, the places of the provider.
type Bodies struct{ readers chan struct{} }

// NewBodies returns a Bodies for one handler.
func NewBodies() *Bodies { return &Bodies{make(chan struct{}, bodyReaders)} }

// Read returns a body of at most that many bytes. If it fails, it has answered the request.
func (b *Bodies) Read(w http.ResponseWriter, r *http.Request, limit int64) (body []byte, ok bool) {
	if r.ContentLength > limit {
		http.Error(w, "the body is too long", http.StatusRequestEntityTooLarge)
		return nil, false
	}
	// The sender may hang up as soon as the body is out, so the request's context says nothing.
	wait := time.NewTimer(readerWait)
	defer wait.Stop()
	select {
	case b.readers <- struct{}{}:
	case <-wait.C:
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many bodies are being sent", http.StatusServiceUnavailable)
		return nil, false
	}
	defer func() { <-b.readers }()
	// A server that cannot set deadlines leaves it to its own.
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(bodyTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
		http.Error(w, "the body is too long", http.StatusRequestEntityTooLarge)
		return nil, false
	}
	if err != nil {
		http.Error(w, "the body was cut off", http.StatusBadRequest)
		return nil, false
	}
	_ = c.SetReadDeadline(time.Time{})
	return body, true
}
