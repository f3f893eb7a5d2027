// Command embed mounts the library in a server that a company already runs, with a mux,
// middleware and users of its own: /v1 and the hosted pages
// under /payments, with the company's tokens in place of the library's keys.
//
//	go run ./examples/embed
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8081", "address to listen on; port 0 picks a free one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, addr string, out io.Writer) (err error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	base := "http://" + listener.Addr().String()

	// A real host opens a database: sqlite.Open(ctx, "payments.db", sqlite.Config{}).
	store := memory.New()
	defer func() { err = errors.Join(err, store.Close()) }()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	svc, err := payments.New(ctx, store, payments.Config{BaseURL: base + prefix, Logger: log})
	if err != nil {
		return err
	}
	company, err := newCompany(ctx, svc, log)
	if err != nil {
		return err
	}

	svc.Start(context.WithoutCancel(ctx)) // Stop ends it, after the server
	server := httpapi.NewServer("", company.handler())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	_, err = fmt.Fprintf(out, `Serving %[1]s

  curl -s %[1]s/hello
  curl -s %[1]s/payments/v1/balance -H "Authorization: Bearer token-of-esi"
  curl -s %[1]s/payments/v1/qr_codes -H "Authorization: Bearer token-of-esi" \
    -H "Content-Type: application/json" -d '{"amount":1250}'
  curl -s %[1]s/readyz
`, base)
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-failed:
		}
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, server.Shutdown(end), svc.Stop(end))
}
