package inspector

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
)

var refundNoun = &noun[refund.Refund]{
	path: "refunds", one: "Refund", many: "Refunds", heads: [5]string{"To", "Amount", "Status", "Reason", "Time"},
	tab: "status", tabs: states(refund.Succeeded, refund.Pending, refund.Processing, refund.Failed), dated: true,
	search: "ID of a payment (pay_…) or an invoice (inv_…)", empty: "Money that goes back to payers stands here. The page of a payment makes the first.",
	list: func(v *visit, page api.Page) (*api.List[refund.Refund], error) {
		return v.svc.Refunds.List(v.Context(), v.caller, refund.ListParams{
			Page: page, Status: refund.Status(v.param("status")), Payment: v.entered("payment", "pay_"), Invoice: v.entered("invoice", "inv_"), Created: v.created(),
		})
	},
	row: func(v *visit, r *refund.Refund) row {
		name, below := v.refunded(r)
		return row{Href: v.url("refunds", r.ID), Title: name, Below: below, Amount: cedis(r.Amount), Badge: state(r.Status), For: orEmpty(r.Reason), ForBelow: orEmpty(r.FailureReason), At: r.CreatedAt}
	},
	get:  func(v *visit) (*refund.Refund, error) { return v.svc.Refunds.Get(v.Context(), v.caller, v.id) },
	page: (*visit).refundPage,
}

// refunded names the payer who gets money back.
func (v *visit) refunded(r *refund.Refund) (name, below string) {
	p, err := v.svc.Payments.Get(v.Context(), v.caller, r.Payment)
	if err != nil {
		v.note(err)
		return words(r.PaymentMethod), ""
	}
	return v.payer(p)
}

func (v *visit) refundPage(r *refund.Refund, p *page) (err error) {
	name, below := v.refunded(r)
	p.Title, p.Amount, p.Badge = "Refund of "+plainMoney(r.Amount), cedis(r.Amount), state(r.Status)
	p.Sentence = sentence("%s gives money back to %s, %s", v.merchant.Name, name, v.when(r.CreatedAt))
	p.Live = make([]section, 1)
	p.Live[0], err = v.timeline("refund", r.ID, r.CreatedAt.Time, possible(r.Status, []step{
		{"created", "Asked for; the amount is reserved", "API", ""},
		{"succeeded", "The money is back", words(r.PaymentMethod), "good"},
		{"failed", orDefault(orEmpty(r.FailureReason), "Failed"), words(r.PaymentMethod), "bad"},
	}))
	var document *link
	if r.CreditNote != nil {
		document = &link{"Open credit note " + *r.CreditNote, v.url("refunds", r.ID, "credit-note.pdf")}
	}
	p.Side = []section{
		{Title: "Money", Money: facts("To the payer", cedis(r.Amount))},
		{Title: "Payer", Facts: facts("Name", name, "Paid with", below)},
		{Title: "Details", Facts: facts("Reason", r.Reason, "Failure", r.FailureReason, "Payment", v.linked("payments", &r.Payment), "QR code", v.linked("qr-codes", r.QRCode),
			"Invoice", v.linked("invoices", r.Invoice), "Document", document, "Refund", id(r.ID), "At the provider", id(orEmpty(r.ProviderReference)), "Created", r.CreatedAt, "Completed", r.CompletedAt)},
	}
	if r.Status == refund.Pending || r.Status == refund.Processing {
		p.Forms = []*form{
			{Name: "succeed", Button: "Let the provider succeed", do: settle(provider.Paid)},
			{Name: "fail", Title: "Let the provider decline", Button: "Decline it", Danger: true, Fields: failureFields(), Will: facts("Back to the balance", cedis(r.Amount)), do: settle(provider.Refused)},
		}
	}
	return err
}

// creditNote is the document as it goes to the customer.
func (v *visit) creditNote() (*file, error) {
	data, name, err := v.svc.Invoices.CreditNotePDF(v.Context(), v.caller, v.id)
	return pdfFile(name, data), err
}
