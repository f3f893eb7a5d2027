//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/storage/postgres"
)

// openService opens the library over the cluster. Both results are for the caller to end:
// the service with Stop, if it was started, and then the store with closeStore.
func openService(ctx context.Context, db string, config payments.Config) (svc *payments.Service, closeStore func() error, err error) {
	pool, err := postgres.Connect(ctx, db)
	if err != nil {
		return nil, nil, err
	}
	store, err := postgres.Open(ctx, pool, postgres.Config{})
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	closeStore = func() error {
		err := store.Close()
		pool.Close()
		return err
	}
	if svc, err = payments.New(ctx, store, config); err != nil {
		return nil, nil, errors.Join(err, closeStore())
	}
	return svc, closeStore, nil
}

// runServer is a child that serves the library over db, as a host would. It writes its
// address to out, and stops when in ends.
func runServer(db string, in io.Reader, out io.Writer) (err error) {
	ctx := context.Background()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	svc, closeStore, err := openService(ctx, db, payments.Config{Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	svc.Start(ctx)
	server := httpapi.NewServer("", httpapi.New(svc, httpapi.Config{Logger: log}))
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	if _, err = fmt.Fprintln(out, listener.Addr()); err == nil {
		_, err = io.Copy(io.Discard, in) // until it ends
	}
	// A database that hangs does not keep this process alive.
	time.AfterFunc(8*time.Second, func() { os.Exit(1) })
	end, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err = errors.Join(err, server.Shutdown(end), svc.Stop(end))
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// front is two servers and the proxy before them.
type front struct {
	address string
	servers []*child
	proxy   *http.Server
	pool    *http.Transport
}

func newFront(ctx context.Context, dir, db string) (f *front, err error) {
	f = &front{pool: &http.Transport{MaxIdleConnsPerHost: 256}}
	defer func() {
		if err != nil {
			_ = f.close() // the error to report is another
		}
	}()
	var hosts []string
	for i := range 2 {
		server, err := spawn("server", fmt.Sprintf("server%d", i+1), dir, nil, db)
		if err != nil {
			return nil, err
		}
		f.servers = append(f.servers, server)
		address, err := server.line()
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, address)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f.address = listener.Addr().String()
	var next atomic.Uint64
	f.proxy = &http.Server{Handler: &httputil.ReverseProxy{
		Transport: f.pool,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: hosts[next.Add(1)%uint64(len(hosts))]})
		},
		// A server that cut off its answer is reported as the status, not in words.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}}
	go func() { _ = f.proxy.Serve(listener) }() // it ends when it is closed
	return f, nil
}

// close stops them. It may be called again.
func (f *front) close() (err error) {
	if f.proxy != nil {
		err = f.proxy.Close()
	}
	f.pool.CloseIdleConnections()
	for _, s := range f.servers {
		err = errors.Join(err, s.close())
	}
	f.servers = nil
	return err
}
