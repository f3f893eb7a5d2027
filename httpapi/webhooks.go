package httpapi

import (
	"context"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/webhook"
)

func webhookRoutes(svc *payments.Service) []route {
	const webhooks = "webhooks"
	s := svc.Webhooks
	return []route{
		write(webhooks, "POST /v1/webhooks", withBody(s.Create)),
		read(webhooks, "GET /v1/webhooks", listFrom(s, s.List)),
		read(webhooks, "GET /v1/webhooks/{id}", getFrom(s, s.Get)),
		write(webhooks, "PATCH /v1/webhooks/{id}", withIDBody(s.Update)),
		write(webhooks, "DELETE /v1/webhooks/{id}", withID(s.Delete)),
		write(webhooks, "POST /v1/webhooks/{id}/rotate_secret", withID(s.RotateSecret)),
		write(webhooks, "POST /v1/webhooks/{id}/ping", withID(s.Ping)),
		read(webhooks, "GET /v1/webhooks/{id}/deliveries", withIDQuery(
			func(ctx context.Context, caller api.Caller, id string, page api.Page) (*api.List[webhook.Delivery], error) {
				return s.ListDeliveries(ctx, caller, webhook.ListDeliveriesParams{Endpoint: id, Page: page})
			})),
		write(webhooks, "POST /v1/events/{id}/resend", withID(s.Resend)),
	}
}
