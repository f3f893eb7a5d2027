package httpapi

import (
	"context"
	"net/http"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/internal/work"
)

// New returns the handler of the whole API: /v1 and the hosted pages. Mount it at the root of the
// host's mux, or under a prefix with http.StripPrefix. payments.Config.BaseURL must then include
// the prefix.
func New(svc *payments.Service, config Config) http.Handler {
	if config.Authenticate == nil {
		config.Authenticate = func(ctx context.Context, key string) (Access, error) {
			a, err := svc.Accounts.Authenticate(ctx, key)
			if err != nil {
				return Access{}, err
			}
			return Access{Merchant: a.Merchant, Live: a.Live, Allow: a.Allows}, nil
		}
	} else {
		own := config.Authenticate
		config.Authenticate = func(ctx context.Context, key string) (Access, error) {
			access, err := own(ctx, key)
			return access, work.HideText(err, "httpapi: the host's Authenticate failed")
		}
	}
	config.ClientIP = config.clientIP() // one for all, which warns once
	routes := moneyRoutes(svc)
	routes = append(routes, qrCodeRoutes(svc)...)
	routes = append(routes, transferRoutes(svc)...)
	routes = append(routes, batchRoutes(svc)...)
	routes = append(routes, customerRoutes(svc)...)
	routes = append(routes, catalogRoutes(svc)...)
	routes = append(routes, invoiceRoutes(svc)...)
	routes = append(routes, subscriptionRoutes(svc)...)
	routes = append(routes, checkoutRoutes(svc)...)
	routes = append(routes, refundRoutes(svc)...)
	routes = append(routes, webhookRoutes(svc)...)
	routes = append(routes, openAPIRoutes(svc)...)
	pages := &hostedPages{svc, newPageLimiter(config)}
	routes = append(routes, (&payPage{pages}).routes()...)
	routes = append(routes, (&invoicePage{pages}).routes()...)
	routes = append(routes, (&checkoutPage{pages}).routes()...)
	routes = append(routes, (&paymentPage{pages}).routes()...)
	routes = append(routes, (&subscriptionPage{pages}).routes()...)
	routes = append(routes, (&shortPage{pages}).routes()...)
	if config.TestHelpers && svc.Sandbox() {
		routes = append(routes, testHelperRoutes(svc)...)
	}
	requestID := func() string { return svc.NewID("req_") }
	return newRouter(config, requestID, routes)
}
