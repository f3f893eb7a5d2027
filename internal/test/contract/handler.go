package contract

import (
	"bytes"
	"io"
	"net/http"
	"testing"
)

// Handler returns next with every exchange checked. It must get requests as the
// handler of package httpapi gets them: without a host's prefix. A benchmark is let
// alone: it measures the handler.
func (c *Contract) Handler(tb testing.TB, next http.Handler) http.Handler {
	if _, ok := tb.(*testing.B); ok {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := r.Clone(r.Context()) // next may change the request
		sent := &listener{ReadCloser: r.Body}
		r.Body = sent
		answer := &recorder{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(answer, r)
		x := exchange{
			request: seen, sent: sent.heard.Bytes(),
			status: answer.status, header: w.Header().Clone(), body: answer.body.Bytes(),
		}
		if err := c.check(x); err != nil {
			tb.Errorf("%s %s: %d %.300s\nnot as openapi.yaml has it: %.1500s", r.Method, r.URL, x.status, x.body, err.Error())
		}
	})
}

// listener keeps what is read from a body.
type listener struct {
	io.ReadCloser
	heard bytes.Buffer
}

func (l *listener) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	l.heard.Write(p[:n])
	return n, err
}

// recorder keeps what is answered.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	r.body.Write(p)
	return r.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController find the deadlines of the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

type readCloser struct{ io.Reader }

func (readCloser) Close() error { return nil }
