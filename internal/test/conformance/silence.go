package conformance

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// SilentHTTP2 has a transport connect to an HTTP/2 server at https://example.com that answers 200. It is
// for a bubble of testing/synctest. The returned function makes the connections so far lose all that is
// written to them, as a network does that has forgotten them.
func SilentHTTP2(t *testing.T, transport *http.Transport) (silence func()) {
	t.Helper()
	web := httptest.NewTLSServer(nil) // for its certificate
	certificates, trusted := web.TLS.Certificates, x509.NewCertPool()
	trusted.AddCert(web.Certificate())
	web.Close()
	arrived, end := make(pipes), make(chan struct{})
	server := &http.Server{
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor != 2 {
				t.Errorf("a request by %s", r.Proto)
			}
		}),
		TLSConfig: &tls.Config{Certificates: certificates},
	}
	go func() {
		_ = server.ServeTLS(arrived, "", "")
		close(end)
	}()
	t.Cleanup(func() {
		close(arrived)
		<-end
		_ = server.Close()
	})
	if transport.TLSClientConfig == nil {
		transport.TLSClientConfig = &tls.Config{}
	}
	transport.TLSClientConfig.RootCAs = trusted
	var silences atomic.Int64
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		arrived <- far
		return &lossy{near, &silences, silences.Load()}, nil
	}
	return func() { silences.Add(1) }
}

// pipes are the ends of pipes at a server.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (pipes) Close() error   { return nil }
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// lossy is a connection that loses what is written to it after the next silence.
type lossy struct {
	net.Conn
	silences *atomic.Int64
	made     int64
}

func (l *lossy) Write(b []byte) (int, error) {
	if l.silences.Load() != l.made {
		return len(b), nil
	}
	return l.Conn.Write(b)
}
