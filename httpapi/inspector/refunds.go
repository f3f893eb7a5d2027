package inspector

import (
	"cmp"

	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/refund"
)

var refundNoun = &noun[refund.Refund]{
	path: "refunds", prefix: "re", way: "to ", one: "Refund", many: "Refunds", heads: [5]string{"To", "Amount", "Status", "Reason", "Time"},
	tab: "status", tabs: options(refund.Succeeded, refund.Pending, refund.Processing, refund.Failed), dated: true, loud: true, ordered: true,
	search: "Payment or invoice", empty: "Money that goes back to payers stands here. The page of a payment makes the first.",
	reads: func(v *visit) reader[refund.Refund] { return reading(v.svc.Refunds.List, v.svc.Refunds.Get) },
	row: func(v *visit, r *refund.Refund) row {
		paid := v.rowOf("", r.Payment)
		return row{Href: v.url("refunds", r.ID), Title: cmp.Or(paid.Title, words(r.PaymentMethod)), Below: paid.Below, Amount: cedis(r.Amount), Badge: state(r.Status), For: look.Text(r.Reason), ForBelow: look.Text(r.FailureReason), At: r.CreatedAt}
	},
	page: (*visit).refundPage,
}

func (v *visit) refundPage(r *refund.Refund, p *page) {
	verb := cmp.Or(map[refund.Status]string{refund.Succeeded: "gave", refund.Failed: "could not give"}[r.Status], "gives")
	p.Sentence = sentence("%s "+verb+" money back to %s, %s", v.merchant.Name, p.row.Title, v.when(r.CreatedAt))
	p.Live = []section{v.timeline("refund", r.ID, r.CreatedAt.Time, string(r.Status), refundSteps(r))}
	var document link
	if r.CreditNote != nil {
		document = link{"Open credit note " + *r.CreditNote, v.url("refunds", r.ID, "credit-note.pdf")}
	}
	money := "To the payer"
	if r.Status == refund.Failed {
		money = "Asked for"
	}
	p.Side = []section{
		{Title: "Money", Money: facts(money, p.Amount)},
		{Title: "Payer", Facts: facts("Name", p.row.Title, "Paid with", p.row.Below)},
		{Title: "Details", Facts: facts("Reason", r.Reason, "Failure", r.FailureReason, "Failure code", (*string)(r.FailureCode), "Payment", v.linked("payments", &r.Payment), "QR code", v.linked("qr-codes", r.QRCode),
			"Invoice", v.linked("invoices", r.Invoice), "Document", document, "Refund", id(r.ID), "At provider", id(look.Text(r.ProviderReference)))},
	}
	if r.Status == refund.Pending || r.Status == refund.Processing {
		p.Forms = outcomes("the provider", "succeed", "decline", facts("Back to the balance", p.Amount))
	}
}

// refundSteps tell the life of a refund, also among what happened to its payment.
func refundSteps(r *refund.Refund) []step {
	with, amount := words(r.PaymentMethod), plainMoney(cedis(r.Amount))
	return []step{
		{"created", "Refund of " + amount + " asked for", "API", "", nil},
		{"succeeded", amount + " is back with the payer", with, "good", nil},
		{"failed", "Not refunded: " + cmp.Or(look.Text(r.FailureReason), "the provider refused"), with, "bad", nil},
	}
}

// creditNote is the document as it goes to the customer.
func (v *visit) creditNote() (*file, error) {
	data, name, err := v.svc.Invoices.CreditNotePDF(v.Context(), v.caller, v.id)
	return pdfFile(name, data), err
}
