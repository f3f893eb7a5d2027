package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/mtnmomo"
	"github.com/seed-7082ffec/payments/provider/paystack"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// transferFees and collectionFees are what the merchants pay. Below the provider's price each order
// costs the operator money. These cover Paystack's prices as of 2026: GHS 1 for a transfer to
// mobile money, GHS 8 for one to a bank, and 1.95% of a payment. Compare them with your contracts.
var (
	transferFees = &payout.Fees{
		MobileMoney:  payout.Fee{Percent: decimal.NewFromInt(1), Min: decimal.NewFromInt(1), Cap: decimal.NewFromInt(10)},
		BankTransfer: payout.Fee{Flat: decimal.NewFromInt(8)},
	}
	collectionFee  = payment.Fee{Percent: decimal.RequireFromString("1.95")}
	collectionFees = &payment.Fees{MTN: collectionFee, Telecel: collectionFee, AirtelTigo: collectionFee}
)

// app is the library over its store, with its providers.
type app struct {
	settings
	log   *slog.Logger
	store storage.Store
	end   func() error // closes the store
	svc   *payments.Service
}

// open opens the store and the library. It makes no call to a provider.
func open(ctx context.Context, s settings, log *slog.Logger) (*app, error) {
	a := &app{settings: s, log: log}
	if err := a.openStore(ctx); err != nil {
		return nil, err
	}
	svc, err := payments.New(ctx, a.store, a.config())
	if err != nil {
		return nil, errors.Join(err, a.end())
	}
	a.svc = svc
	return a, nil
}

func (a *app) openStore(ctx context.Context) error {
	if !isPostgreSQL(a.db) {
		return a.openSQLite(ctx)
	}
	pool, err := postgres.Connect(ctx, a.db)
	if err != nil {
		return err
	}
	// The search_path of the URL, if it has one, names another schema than payments.
	schema := pool.Config().ConnConfig.RuntimeParams["search_path"]
	store, err := postgres.Open(ctx, pool, postgres.Config{Schema: schema, Logger: a.log})
	if err != nil {
		pool.Close()
		return err
	}
	a.store, a.end = store, func() error {
		defer pool.Close()
		return store.Close()
	}
	return nil
}

// openSQLite opens the file. A mark beside it says that a start has made it. From then on a missing, empty or
// foreign file ends the start: a new database would hide that the old one is lost.
func (a *app) openSQLite(ctx context.Context) error {
	mark := a.db + ".made"
	_, err := os.Stat(mark)
	made := err == nil
	store, err := sqlite.Open(ctx, a.db, sqlite.Config{Logger: a.log, MustExist: made})
	if made && err != nil {
		return fmt.Errorf("%w. Restore the file; delete %s only to begin anew", err, mark)
	}
	if err != nil {
		return err
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return errors.Join(err, store.Close())
	}
	a.store, a.end = store, store.Close
	return nil
}

func (a *app) config() payments.Config {
	// MTN pays no banks, and the library's own list is sample data.
	banks := provider.NewBankDirectory(nil)
	if a.paystack != nil {
		banks = a.paystack
	}
	router := a.router()
	return payments.Config{
		BaseURL: a.baseURL, Key: a.key, Banks: banks, Logger: a.log, Clock: a.clock,
		Live: payments.Providers{Rail: router, Charger: router, Texter: a.texter, Mailer: a.mailer},
		Fees: transferFees, CollectionFees: collectionFees,
	}
}

// router sends numbers of MTN to MTN, if there is a contract with it, and all else to Paystack.
func (a *app) router() *provider.Router {
	r := &provider.Router{Rails: map[string]provider.Rail{}, Chargers: map[string]provider.Charger{}}
	if a.paystack != nil {
		r.Rails[paystack.Route], r.Chargers[paystack.Route] = a.paystack, a.paystack
	}
	if a.mtn != nil {
		r.Rails[mtnmomo.Route], r.Chargers[mtnmomo.Route] = a.mtn, a.mtn
	}
	choose := func(network string) string {
		if a.mtn != nil && (network == "mtn" || a.paystack == nil) {
			return mtnmomo.Route
		}
		return paystack.Route
	}
	r.Rail = func(t provider.Transfer) string { return choose(t.Network) }
	r.Charger = func(c provider.Charge) string { return choose(c.Network) }
	return r
}

// routes mounts the library beside the callbacks of the providers.
func (a *app) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", httpapi.New(a.svc, httpapi.Config{TrustedProxies: a.proxies, Logger: a.log}))
	if a.paystack != nil {
		mux.Handle("POST "+webhookPaystack, a.paystack.WebhookHandler(a.svc.Providers.Notify))
	}
	if a.mtn != nil {
		mux.Handle(callbackMTN, a.mtn.WebhookHandler(a.svc.Providers.Notify))
	}
	mux.HandleFunc("GET /readyz", a.ready)
	if a.healthToken != "" {
		mux.HandleFunc("GET /health", a.health)
	}
	return mux
}

// ready answers the load balancer: whether the database answers.
func (a *app) ready(w http.ResponseWriter, r *http.Request) {
	if _, ok := a.look(w, r); ok {
		_, _ = w.Write([]byte("ok\n"))
	}
}

// health answers the operator's alarms: queues, orders that need a person, and the balances at the
// providers. Only the operator may read it, so it asks for a token.
func (a *app) health(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if subtle.ConstantTimeCompare([]byte(token), []byte(a.healthToken)) != 1 {
		http.Error(w, "send PAYMENTS_HEALTH_TOKEN as the bearer token", http.StatusUnauthorized)
		return
	}
	if health, ok := a.look(w, r); ok {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(health) // an error means that the client has gone
	}
}

func (a *app) look(w http.ResponseWriter, r *http.Request) (*payments.Health, bool) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	health, err := a.svc.Health(ctx)
	if err != nil {
		a.log.ErrorContext(ctx, "the database does not answer", "error", err)
		http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
		return nil, false
	}
	return health, true
}

// keepBanks loads the list of banks now and each day, until ctx ends. After a failure it tries again
// in a minute. Until the first success, transfers to banks are refused.
func keepBanks(ctx context.Context, log *slog.Logger, load func(context.Context) error) {
	for {
		wait := 24 * time.Hour
		if err := load(ctx); err != nil {
			log.WarnContext(ctx, "the list of banks was not loaded", "error", err)
			wait = time.Minute
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}
