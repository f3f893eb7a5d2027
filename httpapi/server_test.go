package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
)

func TestServerCutsSlowHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer, took := exchange(t, http.NotFoundHandler(), nil, "GET / HTTP/1.1\r\nHost: x\r\n")
		expect.Equal(t, took, 10*time.Second, "the connection ended after %v, want 10 s", took)
		expect.True(t, !strings.Contains(answer, " 200 "), "answer: %s", answer)
	})
}

func TestServerEndsIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, took := exchange(t, http.NotFoundHandler(), nil, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		expect.Equal(t, took, 120*time.Second, "the connection ended after %v, want 120 s", took)
	})
}

func TestServerRefusesLongHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer, _ := exchange(t, http.NotFoundHandler(), nil,
			"GET / HTTP/1.1\r\nHost: x\r\nA: "+strings.Repeat("a", 64<<10)+"\r\n\r\n")
		expect.True(t, strings.HasPrefix(answer, "HTTP/1.1 431 "), "answer: %.100s", answer)
	})
}

// TestServerLeavesTimeToAnswer: the limits of the server are not reached before
// the request's own.
func TestServerLeavesTimeToAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, _ := testRouter(Config{}, route{method: "POST", pattern: "/v1/qr_codes", handle: func(r *request) (any, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}})
		answer, _ := exchange(t, rt, nil, strings.Replace(halfRequest, "Content-Length: 100", "Connection: close\r\nContent-Length: 10", 1)+`1}`)
		expect.True(t, strings.HasPrefix(answer, "HTTP/1.1 503 "), "answer:\n%s", answer)
		expect.True(t, strings.Contains(answer, "took too long"), "answer:\n%s", answer)
	})
}

func TestNewServer(t *testing.T) {
	s := NewServer("127.0.0.1:0", http.NotFoundHandler())
	expect.Equal(t, s.Addr, "127.0.0.1:0", "address")
	expect.True(t, s.Handler != nil, "Handler is nil")
	expect.True(t, s.ReadTimeout >= s.ReadHeaderTimeout+defaultTimeout, "the server ends requests before their own time-out")
	expect.True(t, s.WriteTimeout > defaultTimeout, "the server ends requests before their own time-out")
}
