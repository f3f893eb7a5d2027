package httpcall

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/conformance"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

const secret = "233241234567"

// serve returns the address of a server, with a path that no error may quote.
func serve(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.URL + "/" + secret + "?number=" + secret
}

func TestDo(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		expect.Equal(t, r.Header.Get("Api-Key"), "k", "the header")
		expect.Equal(t, r.Header.Get("Content-Type") != "", len(text) > 0, "the content type of %q", text)
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write(text)
	})
	for _, body := range []any{nil, map[string]int{"a": 1}} {
		a := must.Get(Do(t.Context(), Client(nil), Request{Op: "op", Method: "POST", URL: address, Header: http.Header{"Api-Key": {"k"}}, Body: body}))(t)
		want := ""
		if body != nil {
			want = `{"a":1}`
		}
		expect.Equal(t, a.Status, http.StatusTeapot, "status")
		expect.Equal(t, string(a.Body), want, "body")
	}
}

// A redirect is an answer like any other, and the host's client stays as it is.
func TestNoRedirect(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	given := &http.Client{Timeout: time.Minute}
	client := Client(given)
	a := must.Get(Do(t.Context(), client, Request{Op: "op", Method: "POST", URL: address}))(t)
	expect.Equal(t, a.Status, http.StatusTemporaryRedirect, "the status")
	expect.True(t, given.CheckRedirect == nil, "the host's client: CheckRedirect is set")
	expect.Equal(t, client.Timeout, time.Minute, "the host's client: timeout")
	expect.Equal(t, Client(nil).Timeout, timeout, "the time-out")
}

func TestErrorsQuoteNothing(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for what, c := range map[string]struct {
		ctx     context.Context
		address string
		body    any
		want    string
	}{
		"cancelled": {cancelled, serve(t, http.NotFound), nil, "canceled"},
		"cut off": {t.Context(), serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, secret)
		}), nil, "cut off"},
		"hung up":        {t.Context(), serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), nil, "EOF"},
		"too long":       {t.Context(), serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxAnswer+1)) }), nil, "too long"},
		"another answer": {t.Context(), serve(t, func(w http.ResponseWriter, _ *http.Request) { hijack(t, w, secret+"\r\n\r\n") }), nil, "broke"},
		"nobody there":   {t.Context(), closed.URL + "/" + secret, nil, "refused"},
		"no address":     {t.Context(), "http://[" + secret, nil, "BaseURL"},
		"no JSON":        {t.Context(), "http://localhost", func() {}, "JSON"},
		"another scheme": {t.Context(), "pay://" + secret, nil, "BaseURL"},
		"no TLS":         {t.Context(), "http://api.example.com/" + secret, nil, "https"},
		"a private host": {t.Context(), "http://10.0.0.1/" + secret, nil, "https"},
		"no scheme":      {t.Context(), secret + ".example.com/v1", nil, "BaseURL"},
	} {
		_, err := Do(c.ctx, Client(nil), Request{Op: "gateway: send", Method: "POST", URL: c.address, Body: c.body})
		must.True(t, err != nil, "%s is no error", what)
		expect.True(t, strings.HasPrefix(err.Error(), "gateway: send: "), "%s: %v", what, err)
		expect.True(t, strings.Contains(err.Error(), c.want), "%s: %v", what, err)
		expect.True(t, !strings.Contains(err.Error(), secret), "%s: %v", what, err)
	}
	slow := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	_, err := Do(t.Context(), Client(&http.Client{Timeout: time.Millisecond}), Request{Op: "op", Method: "GET", URL: slow})
	expect.True(t, errors.Is(err, context.DeadlineExceeded), "a time-out: %v", err)
}

func hijack(t *testing.T, w http.ResponseWriter, text string) {
	connection, _, err := w.(http.Hijacker).Hijack()
	must.Do(t, err)
	_, _ = io.WriteString(connection, text)
	_ = connection.Close()
}

func TestText(t *testing.T) {
	for in, want := range map[string]Text{`"a"`: "a", `12`: "12", `null`: "", `true`: "", `{}`: "", `[1]`: ""} {
		var got Text
		err := json.Unmarshal([]byte(in), &got)
		expect.NoError(t, err, "%s", in)
		expect.Equal(t, got, want, "%s", in)
	}
}

// A call over a connection that the network has forgotten fails, and the next one connects anew.
func TestSilentConnectionIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := Client(nil)
		transport := client.Transport.(*http.Transport)
		defer transport.CloseIdleConnections()
		silence := conformance.SilentHTTP2(t, transport)
		call := func() error {
			_, err := Do(t.Context(), client, Request{Op: "op", Method: http.MethodPost, URL: "https://example.com/"})
			return err
		}
		expect.NoError(t, call(), "the first call")
		silence()
		expect.True(t, call() != nil, "a call that was lost has an answer")
		expect.NoError(t, call(), "the next call")
	})
}
