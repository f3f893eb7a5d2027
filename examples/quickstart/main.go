// Quickstart serves the whole library on 127.0.0.1:8080 over a database file in
// the working directory, with a merchant, consumers with money, the test helpers
// and the inspector, and prints what to do next.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/inspector"
	"github.com/seed-7082ffec/payments/httpapi/reference"
	"github.com/seed-7082ffec/payments/provider/smtp"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

type options struct {
	addr, db, baseURL, smtp string
	json                    bool
}

func main() {
	var o options
	flag.StringVar(&o.addr, "addr", "127.0.0.1:8080", "address to listen on; port 0 picks a free one")
	flag.StringVar(&o.db, "db", "payments.db", "database file, :memory:, or postgres://… for the schema payments of a PostgreSQL database")
	flag.StringVar(&o.baseURL, "base-url", "", "where browsers reach this server (default: http:// and the address)")
	flag.StringVar(&o.smtp, "smtp", "", "host:port of an SMTP server that gets all e-mails, those of test mode, too")
	flag.BoolVar(&o.json, "json", false, "print one line of JSON and nothing else on standard output")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends, and returns nil when it has stopped cleanly.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	if o.baseURL == "" {
		o.baseURL = "http://" + reachable(listener.Addr())
	}

	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	store, err := open(ctx, o.db, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	config := payments.Config{
		BaseURL: o.baseURL, Sandbox: true, Logger: log,
		// A developer who tries webhooks runs the receiver on this machine.
		WebhookAllow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
	}
	if o.smtp != "" {
		mailer, err := smtp.New(smtp.Config{Server: o.smtp, From: "invoices@example.com", Insecure: true})
		if err != nil {
			return err
		}
		config.Live.Mailer, config.Test.Mailer = mailer, mailer
	}
	svc, err := payments.New(ctx, store, config)
	if err != nil {
		return err
	}
	shop, err := prepare(ctx, svc)
	if err != nil {
		return err
	}

	v1 := httpapi.New(svc, httpapi.Config{TestHelpers: true, Logger: log})
	docs := reference.New(reference.Config{BaseURL: o.baseURL, Try: &reference.Try{API: v1, Key: shop.TestKey}})
	svc.Start(context.WithoutCancel(ctx)) // Stop ends it, after the server
	look := inspector.New(svc, inspector.Config{Logger: log})
	server := httpapi.NewServer("", withPages(v1, map[string]http.Handler{
		"/inspector": look, "/docs": docs,
	}))
	server.RegisterOnShutdown(look.Close)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()

	if o.json {
		err = json.NewEncoder(out).Encode(shop.keys)
	} else {
		err = welcome(out, shop)
	}
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

// reachable returns the address for a browser on this machine: a listener on all addresses names none
// that every browser opens.
func reachable(listening net.Addr) string {
	tcp, ok := listening.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return listening.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}

// withPages serves each page under its prefix, leads from / to the inspector, and hands every other path
// to rest as it came. A mux would redirect paths that are not clean.
func withPages(rest http.Handler, pages map[string]http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Location", "/inspector/")
			w.WriteHeader(http.StatusSeeOther)
			return
		}
		for prefix, page := range pages {
			switch {
			case r.URL.Path == prefix:
				w.Header().Set("Location", prefix+"/")
				w.WriteHeader(http.StatusMovedPermanently)
				return
			case strings.HasPrefix(r.URL.Path, prefix+"/"):
				http.StripPrefix(prefix, page).ServeHTTP(w, r)
				return
			}
		}
		rest.ServeHTTP(w, r)
	})
}

// logProgress logs how far the migration of a table is, after an upgrade.
func logProgress(log *slog.Logger) func(storage.Progress) {
	return func(p storage.Progress) {
		if p.Done > 0 {
			log.Info("bringing the database up to date", "table", p.What, "rows", p.Done)
		}
	}
}

// open opens the store that -db names.
func open(ctx context.Context, db string, log *slog.Logger) (storage.Store, error) {
	switch {
	case db == ":memory:":
		return memory.New(), nil
	case strings.HasPrefix(db, "postgres://"), strings.HasPrefix(db, "postgresql://"):
		pool, err := postgres.Connect(ctx, db)
		if err != nil {
			return nil, err
		}
		// The search_path of the URL, if it has one, names another schema.
		store, err := postgres.Open(ctx, pool, postgres.Config{
			Schema: pool.Config().ConnConfig.RuntimeParams["search_path"], MigrationProgress: logProgress(log),
		})
		if err != nil {
			pool.Close()
			return nil, err
		}
		return &pooled{store, pool}, nil
	case strings.Contains(db, "://"):
		return nil, fmt.Errorf("-db %s is neither :memory:, nor postgres://…, nor the path of a file", db)
	}
	return sqlite.Open(ctx, db, sqlite.Config{MigrationProgress: logProgress(log)})
}

// pooled is a store that closes its pool with itself.
type pooled struct {
	*postgres.Store
	pool *pgxpool.Pool
}

func (p *pooled) Close() error {
	err := p.Store.Close()
	p.pool.Close()
	return err
}
