package httpapi

import (
	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/subscription"
)

func subscriptionRoutes(svc *payments.Service) []route {
	const subscriptions = "subscriptions"
	s := svc.Subscriptions
	statuses := oneOf("status", subscription.Trialing, subscription.Active, subscription.PastDue, subscription.Paused, subscription.Cancelled)
	return []route{
		write(subscriptions, "POST /v1/subscriptions", withBody(s.Create)),
		read(subscriptions, "GET /v1/subscriptions", listFrom(s, s.List, statuses)),
		read(subscriptions, "GET /v1/subscriptions/{id}", getFrom(s, s.Get)),
		write(subscriptions, "POST /v1/subscriptions/{id}", withIDBody(s.Update)),
		write(subscriptions, "POST /v1/subscriptions/{id}/cancel", withIDBody(s.Cancel)),
		write(subscriptions, "POST /v1/subscriptions/{id}/pause", withID(s.Pause)),
		write(subscriptions, "POST /v1/subscriptions/{id}/resume", withID(s.Resume)),
	}
}
