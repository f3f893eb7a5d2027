package httpapi

import (
	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/refund"
)

// refundRoutes give money back.
func refundRoutes(svc *payments.Service) []route {
	const refunds = "refunds"
	s := svc.Refunds
	return []route{
		write(refunds, "POST /v1/refunds", createRefund(s)),
		read(refunds, "GET /v1/refunds", listFrom(s, s.List, oneOf("status", refund.Statuses()...))),
		read(refunds, "GET /v1/refunds/{id}", getFrom(s, s.Get)),
		// The document's address needs no key.
		read(refunds, "GET /v1/refunds/{id}/credit_note", redirectWithID(s.CreditNoteURL)),
	}
}

func createRefund(s refund.Service) handler {
	return decoded(fromBody[refund.CreateParams](), func(r *request, p refund.CreateParams) (any, error) {
		// Left out, it stands for all that is left. Null may be a sum that went wrong.
		if amount := find(r.members, "amount"); amount != nil && amount.kind == jsonNull {
			return nil, api.Invalid("amount", "amount must be a whole number of pesewas, such as 1000. Leave it out to refund all that is left.")
		}
		return s.Create(r.Context(), r.caller, p)
	})
}
