package httpcall_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/internal/httpcall"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

func TestBodies(t *testing.T) {
	b := httpcall.NewBodies()
	for body, want := range map[string]int{"": 200, "12345678": 200, "123456789": 413} {
		for _, length := range []int64{int64(len(body)), -1} {
			r := httptest.NewRequest("POST", "/", strings.NewReader(body))
			r.ContentLength = length
			w := httptest.NewRecorder()
			got, ok := b.Read(w, r, 8)
			expect.Equal(t, ok, want == 200, "%q of length %d", body, length)
			expect.Equal(t, w.Code, want, "%q of length %d: status", body, length)
			expect.True(t, !ok || string(got) == body, "%q of length %d: %q, %d", body, length, got, w.Code)
		}
	}
}

// stalled is a body that never comes, until its sender goes.
type stalled struct{ gone chan struct{} }

func (s stalled) Read([]byte) (int, error) { <-s.gone; return 0, io.ErrUnexpectedEOF }
func (stalled) Close() error               { return nil }

// Sixteen bodies are read at a time; others wait for five seconds and are refused before they are read.
func TestStalledBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := httpcall.NewBodies()
		gone := make(chan struct{})
		statuses := make(chan int, 400)
		send := func(body io.ReadCloser) int {
			r := httptest.NewRequest("POST", "/", nil)
			r.Body, r.ContentLength = body, -1
			w := httptest.NewRecorder()
			b.Read(w, r, 1<<20)
			return w.Code
		}
		for range 400 {
			go func() { statuses <- send(stalled{gone}) }()
		}
		synctest.Wait()
		expect.Equal(t, len(statuses), 0, "answered at once")
		long := httptest.NewRequest("POST", "/", nil)
		long.Body, long.ContentLength = stalled{gone}, 1<<20+1
		w := httptest.NewRecorder()
		b.Read(w, long, 1<<20)
		expect.Equal(t, w.Code, http.StatusRequestEntityTooLarge, "a body that says that it is too long, before it is read")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		expect.Equal(t, len(statuses), 384, "answered after five seconds")
		for range 384 {
			expect.Equal(t, <-statuses, http.StatusServiceUnavailable, "a body that waited")
		}
		close(gone)
		for range 16 {
			expect.Equal(t, <-statuses, http.StatusBadRequest, "a body that was cut off")
		}
		expect.Equal(t, send(io.NopCloser(strings.NewReader("{}"))), http.StatusOK, "a body afterwards")
	})
}

// timed is a response whose request has a read deadline.
type timed struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
}

func (w *timed) SetReadDeadline(at time.Time) error {
	w.deadlines = append(w.deadlines, at)
	return nil
}

// A body has ten seconds. The deadline does not stay for the connection's next request.
func TestBodyHasTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &timed{ResponseRecorder: httptest.NewRecorder()}
		_, ok := httpcall.NewBodies().Read(w, httptest.NewRequest("POST", "/", strings.NewReader("{}")), 8)
		expect.True(t, ok, "the body is refused with %d", w.Code)
		expect.Same(t, w.deadlines, []time.Time{time.Now().Add(10 * time.Second), {}}, "the read deadlines")
	})
}
