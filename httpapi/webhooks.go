package httpapi

import (
	"net/http"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/webhook"
)

func webhookRoutes(svc *payments.Service) []route {
	const webhooks = "webhooks"
	h := webhookHandlers{svc.Webhooks}
	return []route{
		{method: http.MethodPost, pattern: "/v1/webhooks", resource: webhooks, write: true, handle: h.create},
		{method: http.MethodGet, pattern: "/v1/webhooks", resource: webhooks, handle: h.list},
		{method: http.MethodGet, pattern: "/v1/webhooks/{id}", resource: webhooks, handle: h.get},
		{method: http.MethodPatch, pattern: "/v1/webhooks/{id}", resource: webhooks, write: true, handle: h.update},
		{method: http.MethodDelete, pattern: "/v1/webhooks/{id}", resource: webhooks, write: true, handle: h.delete},
		{method: http.MethodPost, pattern: "/v1/webhooks/{id}/rotate_secret", resource: webhooks, write: true, handle: h.rotate},
		{method: http.MethodPost, pattern: "/v1/webhooks/{id}/ping", resource: webhooks, write: true, handle: h.ping},
		{method: http.MethodGet, pattern: "/v1/webhooks/{id}/deliveries", resource: webhooks, handle: h.deliveries},
		{method: http.MethodPost, pattern: "/v1/events/{id}/resend", resource: webhooks, write: true, handle: h.resend},
	}
}

type webhookHandlers struct{ webhooks *webhook.Service }

// eventTypes reads a list of types; nil when it was not sent.
func eventTypes(b *fields) []event.Type {
	names := b.texts("events")
	if names == nil {
		return nil
	}
	types := make([]event.Type, len(names))
	for i, name := range names {
		types[i] = event.Type(name)
	}
	return types
}

func (h webhookHandlers) create(r *request) (any, error) {
	b := r.body()
	b.require("url", "events")
	p := webhook.CreateParams{URL: b.text("url"), Events: eventTypes(b)}
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.webhooks.Create(r.Context(), r.caller, p)
}

func (h webhookHandlers) get(r *request) (any, error) {
	return answerObject(r, h.webhooks.GetJSON)
}

func (h webhookHandlers) list(r *request) (any, error) {
	q := r.query()
	page := q.page()
	if err := q.err(); err != nil {
		return nil, err
	}
	return answerList(r, webhook.ListParams{Page: page}, h.webhooks.ListJSON)
}

func (h webhookHandlers) update(r *request) (any, error) {
	b := r.body()
	p := webhook.UpdateParams{URL: b.optionalText("url"), Events: eventTypes(b), Active: b.optionalBoolean("is_active")}
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.webhooks.Update(r.Context(), r.caller, r.id(), p)
}

func (h webhookHandlers) delete(r *request) (any, error) {
	return h.webhooks.Delete(r.Context(), r.caller, r.id())
}

func (h webhookHandlers) rotate(r *request) (any, error) {
	return h.webhooks.RotateSecret(r.Context(), r.caller, r.id())
}

func (h webhookHandlers) ping(r *request) (any, error) {
	return h.webhooks.Ping(r.Context(), r.caller, r.id())
}

func (h webhookHandlers) deliveries(r *request) (any, error) {
	q := r.query()
	page := q.page()
	if err := q.err(); err != nil {
		return nil, err
	}
	return h.webhooks.ListDeliveries(r.Context(), r.caller, webhook.DeliveryListParams{Endpoint: r.id(), Page: page})
}

func (h webhookHandlers) resend(r *request) (any, error) {
	return h.webhooks.Resend(r.Context(), r.caller, r.id())
}
