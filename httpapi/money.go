package httpapi

import (
	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/payment"
)

// moneyRoutes are the merchant's balance, the payments received and the events.
func moneyRoutes(svc *payments.Service) []route {
	statement := read("balance", "GET /v1/balance/statement", balanceStatement(svc.Accounts))
	statement.heavy = true
	statuses := oneOf("status", payment.Pending, payment.Processing, payment.Completed, payment.Failed, payment.Cancelled)
	return []route{
		read("balance", "GET /v1/balance", withCaller(svc.Accounts.Balance)),
		read("balance", "GET /v1/balance/entries", withQuery(svc.Accounts.ListEntries)),
		statement,
		write("payments", "POST /v1/payments", withBody(svc.Payments.Create)),
		read("payments", "GET /v1/payments", listFrom(svc.Payments, svc.Payments.List, statuses)),
		read("payments", "GET /v1/payments/{id}", getFrom(svc.Payments, svc.Payments.Get)),
		write("payments", "POST /v1/payments/{id}/cancel", withID(svc.Payments.Cancel)),
		write("payments", "POST /v1/payments/{id}/release", withID(svc.Payments.Release)),
		write("payments", "POST /v1/payments/{id}/confirm", withIDBody(svc.Payments.Confirm)),
		read("events", "GET /v1/events", withQuery(svc.Events.List)),
		read("events", "GET /v1/events/{id}", withID(svc.Events.Get)),
	}
}
