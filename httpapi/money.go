package httpapi

import (
	"net/http"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/payment"
)

// moneyRoutes are the merchant's balance, the payments received and the events.
func moneyRoutes(svc *payments.Service) []route {
	h := moneyHandlers{svc}
	return []route{
		{method: http.MethodGet, pattern: "/v1/balance", resource: "balance", handle: h.balance},
		{method: http.MethodGet, pattern: "/v1/balance/entries", resource: "balance", handle: h.entries},
		{method: http.MethodGet, pattern: "/v1/balance/statement", resource: "balance", heavy: true, handle: h.statement},
		{method: http.MethodGet, pattern: "/v1/payments", resource: "payments", handle: h.payments},
		{method: http.MethodGet, pattern: "/v1/payments/{id}", resource: "payments", handle: h.payment},
		{method: http.MethodGet, pattern: "/v1/events", resource: "events", handle: h.events},
		{method: http.MethodGet, pattern: "/v1/events/{id}", resource: "events", handle: h.event},
	}
}

type moneyHandlers struct{ svc *payments.Service }

func (h moneyHandlers) balance(r *request) (any, error) {
	return h.svc.Accounts.Balance(r.Context(), r.caller)
}

func (h moneyHandlers) entries(r *request) (any, error) {
	q := r.query()
	p := account.ListEntriesParams{Page: q.page(), Created: q.times("created"), Type: q.text("type"), Source: q.text("source")}
	if err := q.err(); err != nil {
		return nil, err
	}
	return h.svc.Accounts.ListEntries(r.Context(), r.caller, p)
}

func (h moneyHandlers) payment(r *request) (any, error) {
	return answerObject(r, h.svc.Payments.GetJSON)
}

func (h moneyHandlers) payments(r *request) (any, error) {
	q := r.query()
	p := payment.ListParams{
		Page: q.page(),
		Status: oneOf(q, "status", payment.Pending, payment.Processing, payment.Completed,
			payment.Failed, payment.Cancelled),
		QRCode:  q.id("qr_code"),
		Invoice: q.id("invoice"),
		Created: q.times("created"),
	}
	if err := q.err(); err != nil {
		return nil, err
	}
	return answerList(r, p, h.svc.Payments.ListJSON)
}

func (h moneyHandlers) event(r *request) (any, error) {
	return h.svc.Events.Get(r.Context(), r.caller, r.id())
}

func (h moneyHandlers) events(r *request) (any, error) {
	q := r.query()
	p := event.ListParams{Page: q.page(), Type: event.Type(q.text("type")), Created: q.times("created")}
	if err := q.err(); err != nil {
		return nil, err
	}
	return h.svc.Events.List(r.Context(), r.caller, p)
}
