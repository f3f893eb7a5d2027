package inspector

import (
	"cmp"

	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/invoice"
)

var invoiceNoun = &noun[invoice.Invoice]{
	path: "invoices", prefix: "inv", way: "from ", one: "Invoice", many: "Invoices", heads: [5]string{"Customer", "Amount", "Status", "Invoice", "Time"},
	tab: "status", tabs: options(invoice.Open, invoice.Paid, invoice.Draft, invoice.Void, invoice.Uncollectible),
	search: "Name, e-mail or phone", dated: true, loud: true, ordered: true, empty: "A customer reads an invoice by e-mail, and pays it on its page.",
	forms: func(v *visit) []*form {
		return []*form{making("invoice", makes(v.svc.Invoices.Create), ask(
			field{Name: "customer_name", Label: "Customer's name"}, "customer_email", field{Name: "customer_phone", Label: "Customer's phone"},
			line, field{Name: "auto_finalize", Label: "Finalize at once", Kind: "checkbox"},
		))}
	},
	reads: func(v *visit) reader[invoice.Invoice] { return reading(v.svc.Invoices.List, v.svc.Invoices.Get) },
	row: func(v *visit, i *invoice.Invoice) row {
		email := look.Text(i.Email)
		r := row{Href: v.url("invoices", i.ID), Title: cmp.Or(look.Text(i.Name), email, "A customer"), Amount: cedis(i.Total), Badge: state(i.Status), For: i.Number, At: unix(i.Created)}
		if r.Title != email {
			r.Below = email
		}
		if i.DueDate != nil && i.Status == invoice.Open {
			r.ForBelow = "Due " + i.DueDate.UTC().Format("2 January")
			if !v.now.Before(invoice.OverdueAt(i.DueDate.Time)) {
				r.Badge = badges["overdue"]
			}
		}
		return r
	},
	page: (*visit).invoicePage,
}

// line is a line of an invoice, in a form.
var line = ask(
	field{Name: "product", Label: "Product", Soft: "optional", Hint: "The ID of a product, prod_…, fills what is empty below. Without one, say what it is for and the price."},
	field{Name: "description", Label: "What it is for"}, field{Name: "quantity", Label: "Quantity", Value: "1"}, "unit_amount", "tax_percent",
)

func (v *visit) invoicePage(i *invoice.Invoice, p *page) {
	var also []turn
	if i.Customer != nil {
		also = v.messageTurns(*i.Customer, i.Number)
	}
	p.Title, p.Sentence = "Invoice "+i.Number, sentence("%s to %s, %s", i.Number, p.row.Title, v.when(unix(i.Created)))
	lines := linesTable(i.Lines.Data)
	for _, s := range i.Sums() {
		name, figures := value(s.Name), value(look.Figures(s.Amount))
		if s.Bold {
			name, figures = "<b>"+name+"</b>", "<b>"+figures+"</b>"
		}
		lines.Rows = append(lines.Rows, []any{name, "", figures})
	}
	p.Live = []section{{Title: "Lines", Table: lines}}
	p.found(paymentNoun.related(v, "invoice", i.ID))
	p.Live = append(p.Live, v.timeline("invoice", i.ID, unix(i.Created).Time, "", nil, also...))
	hosted := address(i.HostedURL)
	if i.Status == invoice.Draft {
		hosted = link{}
	}
	p.Side = []section{
		{Title: "Money", Money: facts("Total", cedis(i.Total), "Paid", unlessNone(cedis(-i.AmountPaid)), "Due", cedis(i.AmountDue))},
		{Title: "Payer", Facts: facts("Name", cmp.Or(v.linked("customers", i.Customer), link{Text: look.Text(i.Name)}), "E-mail", i.Email, "Phone", look.Phone(look.Text(i.Phone)))},
		{Title: "Details", Facts: facts("Due on", i.DueDate, "Collection", words(i.CollectionMethod), "Attempts", unlessNone(i.AttemptCount), "Next attempt", i.NextPaymentAttempt, "Memo", i.Memo,
			"Coupon", v.linked("coupons", i.Coupon), "Subscription", v.linked("subscriptions", i.Subscription), "Payment", v.linked("payments", i.Payment), "Document", link{"Open the PDF", v.url("invoices", i.ID, "invoice.pdf")},
			"Pay page", hosted, "Invoice", id(i.ID))},
	}
	p.Forms = v.invoiceForms(i, p.row.Title)
}

// linesTable shows the lines of an invoice or a checkout.
func linesTable(lines []invoice.Line) *table {
	t := &table{Caption: "Lines", Numbers: true, Head: []string{"Description", "Quantity", "Amount in GH₵"}}
	for _, l := range lines {
		t.Rows = append(t.Rows, []any{l.Description, l.Quantity.String() + " × " + look.Figures(l.UnitAmount), look.Figures(l.Amount)})
	}
	return t
}

// invoiceForms is what a status allows.
func (v *visit) invoiceForms(i *invoice.Invoice, payer string) []*form {
	svc, due := v.svc.Invoices, cedis(i.AmountDue)
	send := &form{Name: "send", Button: "Send", do: act(svc.Send)}
	void := &form{Name: "void", Title: "Void the invoice", Label: "Void", Button: "Void", Danger: true, Note: "Nothing is due any more. It cannot be opened again.", do: act(svc.Void)}
	switch i.Status {
	case invoice.Draft:
		return []*form{
			{Name: "finalize", Button: "Finalize", Main: true, do: act(svc.Finalize)},
			{Name: "add-line", Title: "Add a line", Button: "Add the line", Fields: ask(line), do: changes(svc.AddLine)},
			{Name: "coupon", Title: "Put a coupon on", Button: "Put it on", Fields: ask(field{Name: "coupon", Label: "Coupon", Hint: "The ID of a coupon, cpn_…; empty takes it off."}), do: changes(svc.Update)},
			{Name: "delete", Title: "Delete", Button: "Delete", Danger: true, Note: "The draft is gone, and its number with it.", do: act(svc.Delete)},
		}
	case invoice.Open:
		forms := append([]*form{send}, v.payForms(payer, due, changes(svc.PayFromWallet), changes(svc.StartPayment))...)
		forms[1].Name, forms[1].Main = "scan", false // to pay an invoice is to charge its customer
		return append(forms, &form{
			Name: "pay", Title: "Charge the customer", Button: "Charge " + plainMoney(due), Will: forms[1].Will, Note: "The simulated charger takes the money at once.", do: changes(svc.Pay),
		}, void, &form{
			Name: "uncollectible", Title: "Give the invoice up", Label: "Give up", Button: "Give it up", Danger: true, Note: "It is no longer expected to be paid. It can still be sent, or become void.", do: act(svc.MarkUncollectible),
		})
	case invoice.Uncollectible:
		return []*form{send, void}
	}
	return []*form{send}
}

// payForms pay an invoice, a checkout or a QR code from a wallet or a phone, as its page does. payer
// is empty for any, and amount nil for what the payer enters.
func (v *visit) payForms(payer string, amount any, wallet, phone action) []*form {
	will := facts("From", payer, "To", v.merchant.Name, "Amount", amount)
	fields, pay, askPhone := ask("amount"), "Pay", "Ask the phone"
	if amount != nil {
		fields, pay, askPhone = nil, "Pay "+plainMoney(amount), "Ask the phone for "+plainMoney(amount)
	}
	return []*form{
		{Name: "pay", Title: "Pay as a consumer", Label: "Pay from a wallet", Button: pay, Main: true, Fields: ask(fields, v.walletPayer()), Will: will, do: wallet},
		{Name: "pay-phone", Title: "Pay from a phone", Button: askPhone, Fields: ask(fields, phonePayer), Will: will, do: phone},
	}
}

// invoicePDF is the document as it goes to the customer.
func (v *visit) invoicePDF() (*file, error) {
	data, name, err := v.svc.Invoices.PDFFile(v.Context(), v.caller, v.id)
	return pdfFile(name, data), err
}
