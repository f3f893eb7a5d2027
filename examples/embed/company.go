package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi"
)

// prefix is where the library is mounted. It is part of payments.Config.BaseURL,
// since the pages behind QR codes and invoices are reached through it.
const prefix = "/payments"

// user is a user of the company.
type user struct {
	name string
	// merchant is the library's id for the user's business, which a host keeps beside
	// its own record of it.
	merchant string
	// clerk limits the user to reading, and to making QR codes.
	clerk bool
}

// company is the host.
type company struct {
	svc    *payments.Service
	log    *slog.Logger
	tokens map[string]user // by token; a real host keeps hashes, or asks its own service
}

// newCompany makes a merchant for each business of the company's users.
func newCompany(ctx context.Context, svc *payments.Service, log *slog.Logger) (*company, error) {
	c := &company{svc: svc, log: log, tokens: map[string]user{}}
	for _, business := range []struct{ name, phone, owner, clerk string }{
		{"Esi's Kitchen", "0301000001", "esi", "yaw"},
		{"Kofi Motors", "0301000002", "kofi", ""},
	} {
		m, err := svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: business.name, Phone: business.phone})
		if err != nil {
			return nil, fmt.Errorf("make merchant %s: %w", business.name, err)
		}
		c.tokens["token-of-"+business.owner] = user{name: business.owner, merchant: m.ID}
		if business.clerk != "" {
			c.tokens["token-of-"+business.clerk] = user{name: business.clerk, merchant: m.ID, clerk: true}
		}
	}
	return c, nil
}

// handler is the company's server: its mux, with the library under its prefix, all
// of it behind the middleware that the company had before.
func (c *company) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "Hello from the company") })
	mux.HandleFunc("GET /readyz", c.ready)

	library := httpapi.New(c.svc, httpapi.Config{Authenticate: c.authenticate, Logger: c.log})
	mux.Handle(prefix+"/", http.StripPrefix(prefix, library))
	return c.middleware(mux)
}

// authenticate finds the merchant of a token. The library calls it for every request under
// /v1, and answers every refusal with the same 401.
func (c *company) authenticate(_ context.Context, token string) (httpapi.Access, error) {
	u, ok := c.tokens[token]
	if !ok {
		return httpapi.Access{}, api.Errorf(api.APIKeyInvalid, "", "The token is not valid.")
	}
	access := httpapi.Access{Merchant: u.merchant}
	if u.clerk {
		access.Allow = func(resource string, write bool) bool { return !write || resource == "qr_codes" }
	}
	return access, nil
}

// middleware stands for the company's own middleware, before all of its handlers.
func (c *company) middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		if r.Header.Get("X-Blocked") != "" { // its firewall, say
			http.Error(w, "blocked", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ready answers the company's load balancer. It stays 200 while work waits: that needs more workers, not
// fewer. What needs a person goes to the log, because anyone may ask, and Health has the money at providers.
func (c *company) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	health, err := c.svc.Health(ctx)
	if err != nil {
		c.log.ErrorContext(ctx, "the database does not answer", "error", err)
		http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
		return
	}
	if health.Lag() > time.Minute || health.StuckLive > 0 || health.SealLag() > account.SealWithin {
		c.log.WarnContext(ctx, "payments need attention", "lag", health.Lag(), "stuck", health.StuckLive, "seals", health.SealLag())
	}
	fmt.Fprintln(w, "ok")
}
