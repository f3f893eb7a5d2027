package httpapi

import (
	"net/http"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
)

// refundRoutes give money back.
func refundRoutes(svc *payments.Service) []route {
	h := refundHandlers{svc.Refunds, svc.Providers}
	return []route{
		{method: http.MethodPost, pattern: "/v1/refunds", resource: "refunds", write: true, handle: h.create},
		{method: http.MethodGet, pattern: "/v1/refunds", resource: "refunds", handle: h.list},
		{method: http.MethodGet, pattern: "/v1/refunds/{id}", resource: "refunds", handle: h.get},
		{method: http.MethodGet, pattern: "/v1/refunds/{id}/credit_note", resource: "refunds", handle: h.creditNote},
	}
}

type refundHandlers struct {
	refunds   *refund.Service
	providers provider.Service
}

func (h refundHandlers) create(r *request) (any, error) {
	b := r.body()
	p := refund.CreateParams{
		Payment:  b.text("payment"),
		Invoice:  b.text("invoice"),
		Amount:   b.optionalPesewas("amount"),
		Reason:   b.text("reason"),
		Metadata: b.metadata("metadata"),
	}
	// Left out, it stands for all that is left. Null may be a sum that went wrong.
	if b.null("amount") {
		b.fail(api.Invalid("amount", "amount must be a whole number of pesewas, such as 1000. Leave it out to refund all that is left."))
	}
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.refunds.Create(r.Context(), r.caller, p)
}

func (h refundHandlers) get(r *request) (any, error) {
	return answerObject(r, h.refunds.GetJSON)
}

func (h refundHandlers) list(r *request) (any, error) {
	q := r.query()
	p := refund.ListParams{
		Page:    q.page(),
		Payment: q.id("payment"),
		Invoice: q.id("invoice"),
		Status:  oneOf(q, "status", refund.Statuses()...),
		Created: q.times("created"),
	}
	if err := q.err(); err != nil {
		return nil, err
	}
	return answerList(r, p, h.refunds.ListJSON)
}

// creditNote sends the caller to the document, whose address needs no key.
func (h refundHandlers) creditNote(r *request) (any, error) {
	address, err := h.refunds.CreditNote(r.Context(), r.caller, r.id())
	if err != nil {
		return nil, err
	}
	return &response{status: http.StatusFound, header: map[string]string{"Location": address}}, nil
}

// settle is a test helper: it plays the provider.
func (h refundHandlers) settle(r *request) (any, error) {
	b := r.body()
	b.require("outcome")
	outcome, reason := b.text("outcome"), b.text("failure_reason")
	if err := b.err(); err != nil {
		return nil, err
	}
	if err := check.Text("failure_reason", reason, api.MaxText); err != nil {
		return nil, err
	}
	result := provider.Result{Outcome: provider.Paid}
	switch outcome {
	case "succeeded":
	case "failed":
		result = provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: reason}}
	default:
		return nil, api.Invalid("outcome", "outcome must be succeeded or failed.")
	}
	if _, err := h.refunds.Get(r.Context(), r.caller, r.id()); err != nil {
		return nil, err
	}
	if err := h.providers.Settle(r.Context(), r.caller, r.id(), result); err != nil {
		return nil, err
	}
	return h.refunds.Get(r.Context(), r.caller, r.id())
}
