// Command customrail serves payments whose live money moves through a provider of your own:
// rail.go is a provider.Rail over HTTP, charger.go a provider.Charger of phones, client.go what both
// call, and callback.go the route for the provider's callbacks. The provider is imaginary; copy the
// files and put yours in its place. The tests run packages railtest and chargertest, which check the
// promises of a rail and of a charger, against them.
//
//	PROVIDER_TOKEN=… CALLBACK_SECRET=… go run ./examples/customrail -provider https://…
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8081", "address to serve on")
	db := flag.String("db", "customrail.db", "path of the database")
	providerURL := flag.String("provider", "", "address of the provider's interface")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	token, secret := os.Getenv("PROVIDER_TOKEN"), os.Getenv("CALLBACK_SECRET")
	if *providerURL == "" || token == "" || secret == "" {
		log.Fatal("give -provider, and PROVIDER_TOKEN and CALLBACK_SECRET in the environment")
	}
	if err := run(ctx, *addr, *db, newClient(*providerURL, token), []byte(secret)); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, addr, db string, c *client, secret []byte) (err error) {
	store, err := sqlite.Open(ctx, db, sqlite.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	svc, err := payments.New(ctx, store, payments.Config{BaseURL: "http://" + addr, Live: live(c)})
	if err != nil {
		return err
	}
	svc.Start(context.WithoutCancel(ctx)) // Stop ends it, after the server
	server := httpapi.NewServer(addr, routes(svc, secret))
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(end), svc.Stop(end))
}

// live are the providers of live mode.
func live(c *client) payments.Providers {
	return payments.Providers{Rail: &rail{c}, Charger: &charger{c}}
}

// routes mounts the library beside the provider's callback.
func routes(svc *payments.Service, secret []byte) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", httpapi.New(svc, httpapi.Config{}))
	mux.HandleFunc("POST /callbacks/provider", callback(svc.Providers, secret))
	return mux
}
