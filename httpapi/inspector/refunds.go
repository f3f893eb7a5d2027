package inspector

import (
	"strings"

	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/refund"
)

func (v *visit) refunds() (*page, error) {
	list, err := v.svc.Refunds.List(v.Context(), v.caller, refund.ListParams{
		Page: v.page(), Status: refund.Status(v.query.Get("status")), Payment: strings.TrimSpace(v.query.Get("payment")), Created: v.day(),
	})
	if err != nil {
		return nil, err
	}
	return &page{
		Title: "Refunds", NavPath: "refunds",
		Filter: []field{
			v.filter("status", "Status", stringsOf(refund.Statuses())...),
			{Name: "payment", Label: "Payment (pay_…)", Value: v.query.Get("payment")},
			v.dayFilter(),
		},
		Live:     []section{{Rows: rowsOf(list, v.refundRow), Empty: "There is no such refund. A payment's page makes one."}},
		NextPage: nextPage(v, list, func(r *refund.Refund) string { return r.ID }),
	}, nil
}

func (v *visit) refundRow(r *refund.Refund) row {
	return row{
		Href: v.url("refunds", r.ID), Title: r.ID, Detail: joinNonEmpty(r.Payment, orEmpty(r.Reason)),
		Amount: formatPesewas(r.Amount), State: string(r.Status), At: r.CreatedAt,
	}
}

// refundForms offers to give a payment back, as long as something of it is left.
func refundForms(p *payment.Payment) []*form {
	left := p.Amount - p.AmountRefunded
	if p.Status != payment.Completed || left <= 0 {
		return nil
	}
	return []*form{{
		Name: "refund", Title: "Give it back", Button: "Refund",
		Fields: []field{
			{Name: "amount", Label: "Amount in GHS", Hint: "Empty for all that is left: " + formatPesewas(left) + "."},
			{Name: "reason", Label: "Reason", Hint: "The customer sees it on the credit note of an invoice."},
		},
		do: (*visit).createRefund,
	}}
}

func (v *visit) createRefund(in *input) (*result, error) {
	p := refund.CreateParams{Payment: v.id, Amount: in.pesewas("amount"), Reason: in.text("reason")}
	if err := in.err(); err != nil {
		return nil, err
	}
	r, err := v.svc.Refunds.Create(v.Context(), v.caller, p)
	if err != nil {
		return nil, err
	}
	return &result{redirect: v.url("refunds", r.ID)}, nil
}

func (v *visit) refund() (*page, error) {
	r, err := v.svc.Refunds.Get(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	history, err := v.history("refund", r.ID, r.CreatedAt.Time, "succeeded", "failed")
	if err != nil {
		return nil, err
	}
	facts := nonEmpty(
		fact{Name: "ID", Value: r.ID, Code: true},
		fact{Name: "Status", Value: string(r.Status), State: true},
		fact{Name: "Payment", Value: r.Payment, Href: v.url("payments", r.Payment)},
		fact{Name: "Method", Value: r.PaymentMethod},
		fact{Name: "Reason", Value: orEmpty(r.Reason), Wide: true},
		fact{Name: "Provider's reference", Value: orEmpty(r.ProviderReference), Code: true},
		fact{Name: "Failure", Value: orEmpty(r.FailureReason), Wide: true},
		fact{Name: "Created", Value: formatTime(r.CreatedAt)},
		fact{Name: "Completed", Value: formatOptionalTime(r.CompletedAt)},
	)
	if r.QRCode != nil {
		facts = append(facts, fact{Name: "QR code", Value: *r.QRCode, Href: v.url("qr-codes", *r.QRCode)})
	}
	if r.Invoice != nil {
		facts = append(facts, fact{Name: "Invoice", Value: *r.Invoice, Href: v.url("invoices", *r.Invoice)})
	}
	if r.CreditNote != nil {
		facts = append(facts, fact{Name: "Document", Value: "Open credit note " + *r.CreditNote, Href: v.url("refunds", r.ID, "credit-note.pdf")})
	}
	p := &page{
		Title: "Refund of " + formatPesewas(r.Amount), NavPath: "refunds",
		Live: []section{{Facts: facts}, history, {JSON: indentJSON(r)}},
	}
	if r.Status == refund.Pending || r.Status == refund.Processing {
		p.Live[0].Buttons = []*form{{Name: "succeed", Button: "Let the provider succeed", do: (*visit).settlePaid}}
		p.Forms = []*form{{
			Name: "fail", Title: "Let the provider decline", Button: "Decline it",
			Fields: failureFields(), do: (*visit).settleRefused,
		}}
	}
	return p, nil
}

// creditNote is the document as it goes to the customer.
func (v *visit) creditNote() (*file, error) {
	data, name, err := v.svc.Invoices.CreditNotePDF(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	return pdfFile(name, data), nil
}
