package httpapi

import (
	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/checkout"
)

func checkoutRoutes(svc *payments.Service) []route {
	const sessions = "checkout_sessions"
	s := svc.Checkout
	return []route{
		write(sessions, "POST /v1/checkout/sessions", withBody(s.Create)),
		read(sessions, "GET /v1/checkout/sessions", listFrom(s, s.List, oneOf("status", checkout.Open, checkout.Complete, checkout.Expired))),
		read(sessions, "GET /v1/checkout/sessions/{id}", getFrom(s, s.Get)),
		read(sessions, "GET /v1/checkout/sessions/{id}/lines", withIDQuery(s.ListLines)),
		write(sessions, "POST /v1/checkout/sessions/{id}/expire", withID(s.Expire)),
	}
}
