// Command webhookreceiver is a server that receives webhooks: it verifies each delivery,
// leaves out events that it has seen, and prints the others.
//
//	WEBHOOK_SECRET=whsec_… go run ./examples/webhookreceiver
//
// The secret is in the answer that registered the endpoint.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
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
	server := &http.Server{Addr: *addr, Handler: receive(secret, os.Stdout), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Shutdown(context.Background())
	}()
	fmt.Printf("Waiting for deliveries to http://%s/webhooks\n", *addr)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
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
