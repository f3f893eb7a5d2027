package httpapi

import (
	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
)

func invoiceRoutes(svc *payments.Service) []route {
	const invoices = "invoices"
	s := svc.Invoices
	statuses := oneOf("status", invoice.Draft, invoice.Open, invoice.Paid, invoice.Void, invoice.Uncollectible)
	return []route{
		write(invoices, "POST /v1/invoices", withBody(s.Create)),
		read(invoices, "GET /v1/invoices", listFrom(s, s.List, statuses)),
		read(invoices, "GET /v1/invoices/{id}", getFrom(s, s.Get)),
		write(invoices, "POST /v1/invoices/{id}", withIDBody(s.Update)),
		write(invoices, "DELETE /v1/invoices/{id}", withID(s.Delete)),
		write(invoices, "POST /v1/invoices/{id}/lines", withIDBody(s.AddLine)),
		read(invoices, "GET /v1/invoices/{id}/lines", withIDQuery(s.ListLines)),
		// The document's address needs no key.
		read(invoices, "GET /v1/invoices/{id}/pdf", redirectWithID(s.PDFURL)),
		write(invoices, "POST /v1/invoices/{id}/finalize", withID(s.Finalize)),
		write(invoices, "POST /v1/invoices/{id}/pay", payInvoice(s)),
		write(invoices, "POST /v1/invoices/{id}/void", withID(s.Void)),
		write(invoices, "POST /v1/invoices/{id}/duplicate", withID(s.Duplicate)),
		write(invoices, "POST /v1/invoices/{id}/send", withID(s.Send)),
		write(invoices, "POST /v1/invoices/{id}/mark_uncollectible", withID(s.MarkUncollectible)),
	}
}

func payInvoice(s invoice.Service) handler {
	return decoded(fromBody[invoice.PayParams](), func(r *request, p invoice.PayParams) (any, error) {
		// A form may send the phone empty. The service takes that for no phone, and charges the default
		// method instead.
		phone := find(r.members, "phone_number")
		if phone != nil && phone.kind == jsonString && p.PhoneNumber == "" && p.PaymentMethod == "" && !p.PaidOutOfBand {
			return nil, api.Missing("phone_number")
		}
		return s.Pay(r.Context(), r.caller, r.id(), p)
	})
}
