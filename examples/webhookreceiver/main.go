// Command webhookreceiver is a server that receives webhooks: it verifies each delivery,
// leaves out events that it has seen, and prints the others.
//
//	WEBHOOK_SECRET=whsec_… go run ./examples/webhookreceiver
//
// The secret is in the answer that registered the endpoint.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/webhook"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:9000", "address to listen on")
	flag.Parse()
	secret := os.Getenv("WEBHOOK_SECRET")
	if secret == "" {
		log.Fatal("set WEBHOOK_SECRET to the secret of the endpoint, whsec_…")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("Waiting for deliveries to http://%s/webhooks\n", listener.Addr())
	if err := serve(ctx, listener, receive(secret, os.Stdout)); err != nil {
		log.Fatal(err)
	}
}

// serve serves until ctx ends. It returns once the deliveries in hand are answered: one that is cut off is
// sent again, although its order may have been changed already.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 20 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case <-ctx.Done():
	case err := <-failed:
		return err
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return server.Shutdown(end)
}

// receive returns the handler. A receiver that keeps orders would, in place of
// printing, change its order and note the event's id in one transaction, and give
// webhook.Handler a webhook.Seen that looks there.
func receive(secret string, out io.Writer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /webhooks", webhook.Handler(secret, nil, func(_ context.Context, e event.Event) error {
		_, err := fmt.Fprintf(out, "%s %s %s\n", e.ID, e.Type, e.Data.Object)
		return err
	}))
	return mux
}
