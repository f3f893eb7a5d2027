package httpapi

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

type nameParams struct {
	Name string `param:"name"`
}

// bodyRoutes answer with the field name of the body.
var bodyRoutes = []route{
	{method: "POST", pattern: "/v1/qr_codes", handle: withBody(func(_ context.Context, _ api.Caller, p nameParams) (string, error) { return p.Name, nil })},
	{method: "POST", pattern: "/v1/qr_codes/deactivate", handle: func(*request) (any, error) { return "done", nil }},
	{method: "DELETE", pattern: "/v1/qr_codes", handle: func(*request) (any, error) { return "done", nil }},
	{method: "GET", pattern: "/v1/qr_codes", handle: func(*request) (any, error) { return "done", nil }},
	{method: "POST", pattern: "/form", handle: func(r *request) (any, error) { return r.PostFormValue("pin"), nil }},
}

// onlyReader hides how long a body is, so that it is sent in chunks.
type onlyReader struct{ io.Reader }

func TestBody(t *testing.T) {
	rt, _ := testRouter(Config{}, bodyRoutes...)
	server := httptest.NewServer(rt)
	defer server.Close()
	const path = "/v1/qr_codes"
	object := `{"name":"` + strings.Repeat("a", maxBody-len(`{"name":""}`)) + `"}`
	for _, tt := range []struct {
		name, method, path, body string
		header                   http.Header
		chunked                  bool
		status                   int
		code                     string
	}{
		{name: "object", body: `{"name":"a"}`, status: 200},
		{name: "chunked", body: `{"name":"a"}`, chunked: true, status: 200},
		{name: "empty", status: 200, header: http.Header{}},
		{name: "empty, chunked", chunked: true, status: 200, header: http.Header{}},
		{name: "white space", body: " \n", status: 200},
		{name: "parameters", body: `{}`, header: http.Header{"Content-Type": {"Application/JSON; charset=UTF-8; x=y"}}, status: 200},
		{name: "identity", body: `{}`, header: http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"Identity"}}, status: 200},
		{name: "256 KiB", body: object, status: 200},
		{name: "256 KiB, chunked", body: object, chunked: true, status: 200},
		{name: "one byte more", body: object + " ", status: 413, code: "body_too_large"},
		{name: "one byte more, chunked", body: object + " ", chunked: true, status: 413, code: "body_too_large"},
		{name: "much more, chunked", body: strings.Repeat(object, 16), chunked: true, status: 413, code: "body_too_large"},
		{name: "no type, chunked", body: `{}`, chunked: true, header: http.Header{}, status: 415, code: "unsupported_media_type"},
		{name: "longer type", body: `{}`, header: http.Header{"Content-Type": {"application/jsonp"}}, status: 415, code: "unsupported_media_type"},
		{name: "another JSON", body: `{}`, header: http.Header{"Content-Type": {"application/problem+json"}}, status: 415, code: "unsupported_media_type"},
		{name: "malformed type", body: `{}`, header: http.Header{"Content-Type": {"application/json; charset"}}, status: 415, code: "unsupported_media_type"},
		{name: "wrong type of a field", body: `{"name":1}`, status: 400, code: "parameter_invalid"},
		{name: "invalid where none is needed", path: path + "/deactivate", body: `{`, status: 400, code: "invalid_json"},
		{name: "none where none is needed", path: path + "/deactivate", header: http.Header{}, status: 200},
		{name: "DELETE does not read", method: "DELETE", body: `{`, header: http.Header{}, status: 200},
		{name: "GET does not read", method: "GET", body: `{`, header: http.Header{}, status: 200},
		{name: "a public form", path: "/form", body: "pin=1234", header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, status: 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var body io.Reader = strings.NewReader(tt.body)
			if tt.chunked {
				body = onlyReader{body}
			}
			method, target := tt.method, tt.path
			if method == "" {
				method = "POST"
			}
			if target == "" {
				target = path
			}
			r, err := http.NewRequest(method, server.URL+target, body)
			must.Do(t, err)
			r.Header.Set("Content-Type", "application/json")
			if tt.header != nil {
				r.Header = tt.header.Clone()
			}
			r.Header.Set("Authorization", "Bearer "+goodKey)
			res := must.Get(http.DefaultClient.Do(r))(t)
			w := httptest.NewRecorder()
			_, err = io.Copy(w.Body, res.Body)
			_ = res.Body.Close()
			must.Do(t, err)
			expect.Equal(t, res.StatusCode, tt.status, "status %d, want %d: %.200s", res.StatusCode, tt.status, w.Body)
			expect.True(t, tt.code == "" || codeOf(w) == tt.code, "code %s, want %s", codeOf(w), tt.code)
		})
	}
}

func TestTruncatedBody(t *testing.T) {
	rt, _ := testRouter(Config{}, bodyRoutes...)
	r := newRequest("POST", "/v1/qr_codes", "{}")
	r.ContentLength = -1
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"name":`), errReader{errors.New("malformed chunk")}))
	if w := serve(rt, r); w.Code != 400 || codeOf(w) != "invalid_json" {
		t.Errorf("got %d %s, want 400 invalid_json", w.Code, codeOf(w))
	}
	r = newRequest("POST", "/v1/qr_codes", "{}")
	r.Body = nil
	if w := serve(rt, r); w.Code != 200 {
		t.Errorf("no body at all: status %d", w.Code)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// pipes is a listener of connections in memory, which a synctest bubble can see
// rest.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// exchange writes text to a server around h, as a client that then falls silent,
// and returns all that comes back and after how long the connection ended.
func exchange(t *testing.T, h http.Handler, change func(*http.Server), text string) (string, time.Duration) {
	t.Helper()
	listener := newPipes()
	server := NewServer("", h)
	if change != nil {
		change(server)
	}
	stopped := make(chan error)
	go func() { stopped <- server.Serve(listener) }()
	conn := listener.dial()
	start := time.Now()
	go func() { _, _ = io.WriteString(conn, text) }() // the server need not read it all
	answer, err := io.ReadAll(conn)
	expect.NoError(t, err, "read answer")
	took := time.Since(start)
	_ = conn.Close()
	_ = server.Close()
	expect.ErrorIs(t, <-stopped, http.ErrServerClosed, "serve")
	return string(answer), took
}

const halfRequest = "POST /v1/qr_codes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + goodKey +
	"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"name\":"

func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, _ := testRouter(Config{Timeout: 5 * time.Second}, bodyRoutes...)
		answer, took := exchange(t, rt, nil, halfRequest)
		expect.True(t, strings.HasPrefix(answer, "HTTP/1.1 503 "), "answer:\n%s", answer)
		expect.True(t, strings.Contains(answer, `"code":"service_unavailable"`), "answer:\n%s", answer)
		expect.Equal(t, took, 5*time.Second, "the connection ended after %v, want 5 s", took)
	})
}

func TestSlowBodyWithShorterServerTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, _ := testRouter(Config{}, bodyRoutes...)
		answer, took := exchange(t, rt, func(s *http.Server) { s.ReadTimeout = 2 * time.Second }, halfRequest)
		expect.True(t, strings.HasPrefix(answer, "HTTP/1.1 503 "), "answer:\n%s", answer)
		expect.Equal(t, took, 2*time.Second, "the connection ended after %v, want 2 s", took)
	})
}

// A body that does not come holds a page's place for 5 seconds, whether the page reads it
// or not.
func TestSlowBodiesOfPages(t *testing.T) {
	const head = " /pay/qr_1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\n"
	long := &response{body: make([]byte, 64<<10)} // such an answer goes out before the handler returns
	for name, tt := range map[string]struct{ request, status string }{
		"a form":           {"POST" + head + "wallet=", "400"},
		"one in no packet": {"POST" + head, "400"},
		"a body of a GET":  {"GET" + head + "wallet=", "200"},
		"no such page":     {"POST /nothing" + head[len(" /pay/qr_1"):], "404"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt, _ := testRouter(Config{},
					route{method: "GET", pattern: "/pay/{id}", handle: func(*request) (any, error) { return long, nil }},
					route{method: "POST", pattern: "/pay/{id}", handle: func(r *request) (any, error) { return r.form() }},
				)
				var held time.Duration
				timed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					start := time.Now()
					rt.ServeHTTP(w, r)
					held = time.Since(start)
				})
				answer, _ := exchange(t, timed, nil, tt.request)
				expect.True(t, strings.HasPrefix(answer, "HTTP/1.1 "+tt.status), "answer:\n%.300s", answer)
				expect.True(t, held <= 5*time.Second, "held for %v", held)
			})
		})
	}
}

// What bounds the time of a form does not outlast it.
func TestSlowAnswersAfterAForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, _ := testRouter(Config{}, route{method: "POST", pattern: "/pay/{id}", handle: func(r *request) (any, error) {
			form, err := r.form()
			time.Sleep(2 * formTimeout)
			if err == nil {
				err = r.Context().Err()
			}
			return form, err
		}})
		answer, _ := exchange(t, rt, nil, "POST /pay/qr_1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+
			"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 5\r\n\r\npin=1")
		expect.True(t, strings.HasPrefix(answer, "HTTP/1.1 200 "), "answer:\n%s", answer)
		expect.True(t, strings.Contains(answer, `{"pin":["1"]}`), "answer:\n%s", answer)
	})
}
