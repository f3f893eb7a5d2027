package inspector

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
)

var invoiceNoun = &noun[invoice.Invoice]{
	path: "invoices", one: "Invoice", many: "Invoices", heads: [5]string{"Customer", "Amount", "Status", "Invoice", "Time"},
	tab: "status", tabs: states(invoice.Open, invoice.Paid, invoice.Draft, invoice.Void, invoice.Uncollectible),
	search: "ID of a customer (cus_…)", dated: true, empty: "A customer reads an invoice by e-mail, and pays it on its page.",
	forms: func(*visit) ([]*form, error) {
		return []*form{{
			Name: "create", Title: "Make an invoice", Button: "Make the invoice", Main: true, do: (*visit).createInvoice,
			Fields: append(append([]field{
				{Name: "customer_name", Label: "Customer's name"}, {Name: "customer_email", Label: "Customer's e-mail", Kind: "email"}, {Name: "customer_phone", Label: "Customer's phone"},
			}, line()...), field{Name: "auto_finalize", Label: "Finalize at once", Kind: "checkbox"}),
		}}, nil
	},
	list: func(v *visit, page api.Page) (*api.List[invoice.Invoice], error) {
		return v.svc.Invoices.List(v.Context(), v.caller, invoice.ListParams{
			Page: page, Status: invoice.Status(v.param("status")), Customer: v.entered("customer", "cus_"), Subscription: v.entered("subscription", "sub_"), Created: v.created(),
		})
	},
	row: func(v *visit, i *invoice.Invoice) row {
		r := row{Href: v.url("invoices", i.ID), Title: customerOf(i), Amount: cedis(i.Total), Badge: v.invoiceBadge(i), For: i.Number, At: unix(i.Created)}
		if r.Title != orEmpty(i.Email) {
			r.Below = orEmpty(i.Email)
		}
		if i.DueDate != nil && i.Status == invoice.Open {
			r.ForBelow = "Due " + i.DueDate.UTC().Format("2 January")
		}
		return r
	},
	get:  func(v *visit) (*invoice.Invoice, error) { return v.svc.Invoices.Get(v.Context(), v.caller, v.id) },
	page: (*visit).invoicePage,
}

// customerOf names who is to pay an invoice.
func customerOf(i *invoice.Invoice) string {
	return orDefault(orEmpty(i.Name), orDefault(orEmpty(i.Email), "A customer"))
}

// invoiceBadge is the state of an invoice, or that it is overdue.
func (v *visit) invoiceBadge(i *invoice.Invoice) badge {
	if i.Status == invoice.Open && i.DueDate != nil && i.DueDate.Before(v.today()) {
		return badges["overdue"]
	}
	return state(i.Status)
}

// line is a line of an invoice, in a form.
func line() []field {
	return []field{
		{Name: "product", Label: "Product", Hint: "The ID of a product, prod_…, fills what is empty below. Without one, say what it is for and the price."},
		{Name: "description", Label: "What it is for"},
		{Name: "quantity", Label: "Quantity", Value: "1"},
		{Name: "unit_amount", Label: "Price of one in cedis"},
		taxField(),
	}
}

func (in *input) line() invoice.LineParams {
	l := invoice.LineParams{Product: in.text("product"), Description: in.text("description"), Quantity: in.number("quantity"), UnitAmount: in.pesewas("unit_amount")}
	l.Taxable, l.TaxPercent = in.tax()
	return l
}

func (v *visit) createInvoice(in *input) (any, error) {
	return create(v, in, v.svc.Invoices.Create, invoice.CreateParams{
		Fields: invoice.Fields{
			Name: in.optionalText("customer_name"), Email: in.optionalText("customer_email"), Phone: in.optionalText("customer_phone"),
			Lines: []invoice.LineParams{in.line()},
		},
		AutoFinalize: in.checked("auto_finalize"),
	})
}

func (v *visit) invoicePage(i *invoice.Invoice, p *page) error {
	var also []turn
	if i.Customer != nil {
		also = v.messageTurns(*i.Customer, i.Number)
	}
	happened, err := v.timeline("invoice", i.ID, unix(i.Created).Time, []step{
		{"created", "Made", "API", ""},
		{"updated", "Changed", "API", ""},
		{"finalized", "Finalized: number and amount are fixed", "API", ""},
		{"sent", "Sent to the customer", "E-mail", ""},
		{"paid", "Paid", "Payer", "good"},
		{"payment_failed", "A payment failed", "Payer", "bad"},
		{"voided", "Void: nothing is due any more", "API", "wait"},
		{"marked_uncollectible", "Given up", "API", "wait"},
	}, also...)
	if err != nil {
		return err
	}
	attempts, err := v.svc.Payments.List(v.Context(), v.caller, payment.ListParams{Page: api.Page{Limit: latest}, Invoice: i.ID})
	if err != nil {
		return err
	}
	p.Title, p.Amount, p.Badge = "Invoice "+i.Number, cedis(i.Total), v.invoiceBadge(i)
	p.Sentence = sentence("%s to %s, %s", i.Number, customerOf(i), v.when(unix(i.Created)))
	p.Live = []section{{Title: "Lines", Table: invoiceTable(i)}}
	if len(attempts.Data) > 0 {
		p.Live = append(p.Live, related(v, paymentNoun, attempts, "Payments", "", v.url("payments")+"?invoice="+i.ID))
	}
	p.Live = append(p.Live, happened)
	hosted := &link{i.HostedURL, i.HostedURL}
	if i.Status == invoice.Draft {
		hosted = nil
	}
	p.Side = []section{
		{Title: "Money", Money: facts("Total", cedis(i.Total), "Paid", cedis(i.AmountPaid), "Due", cedis(i.AmountDue))},
		{Title: "Payer", Facts: facts("Name", i.Name, "E-mail", i.Email, "Phone", maskedNumber(orEmpty(i.Phone)), "Customer", v.linked("customers", i.Customer))},
		{Title: "Details", Facts: facts("Due on", i.DueDate, "Collection", words(i.CollectionMethod), "Attempts", i.AttemptCount, "Next attempt", i.NextPaymentAttempt, "Memo", i.Memo,
			"Coupon", v.linked("coupons", i.Coupon), "Subscription", v.linked("subscriptions", i.Subscription), "Payment", v.linked("payments", i.Payment), "Document", &link{"Open the PDF", v.url("invoices", i.ID, "invoice.pdf")},
			"Customer's page", hosted, "Invoice", id(i.ID))},
	}
	p.Forms, err = v.invoiceForms(i)
	return err
}

func invoiceTable(i *invoice.Invoice) *table {
	t := &table{Caption: "Lines", Numbers: true, Head: []string{"Description", "Quantity", "Amount in GH₵"}}
	for _, l := range i.Lines.Data {
		t.Rows = append(t.Rows, []any{l.Description, l.Quantity.String() + " × " + look.Figures(l.UnitAmount), look.Figures(l.Amount)})
	}
	for _, s := range i.Sums() {
		t.Rows = append(t.Rows, []any{s.Name, "", look.Figures(s.Amount)})
	}
	return t
}

// invoiceForms is what a status allows.
func (v *visit) invoiceForms(i *invoice.Invoice) ([]*form, error) {
	svc, due := v.svc.Invoices, plainMoney(i.AmountDue)
	will := facts("From", customerOf(i), "To", v.merchant.Name, "Amount", cedis(i.AmountDue))
	send := &form{Name: "send", Button: "Send", do: act(svc.Send)}
	void := &form{Name: "void", Title: "Void the invoice", Label: "Void", Button: "Void", Danger: true, Note: "Nothing is due any more. It cannot be opened again.", do: act(svc.Void)}
	switch i.Status {
	case invoice.Draft:
		return []*form{
			{Name: "finalize", Button: "Finalize", Main: true, do: act(svc.Finalize)},
			{Name: "add-line", Title: "Add a line", Button: "Add the line", Fields: line(), do: func(v *visit, in *input) (any, error) { return update(v, in, svc.AddLine, in.line()) }},
			{
				Name: "coupon", Title: "Put a coupon on", Button: "Put it on", Fields: []field{{Name: "coupon", Label: "Coupon", Hint: "The ID of a coupon, cpn_…; empty takes it off."}},
				do: func(v *visit, in *input) (any, error) {
					return update(v, in, svc.Update, invoice.Fields{Coupon: new(in.text("coupon"))})
				},
			},
			{Name: "delete", Title: "Delete", Button: "Delete", Danger: true, Note: "The draft is gone, and its number with it.", do: act(svc.Delete)},
		}, nil
	case invoice.Open:
		wallets, err := v.wallets()
		return []*form{
			send,
			{
				Name: "scan", Title: "Pay as a consumer", Label: "Pay from a wallet", Button: "Pay " + due, Fields: payer(wallets), Will: will,
				do: func(v *visit, in *input) (any, error) {
					_, err := update(v, in, svc.PayFromWallet, invoice.PayFromWalletParams{Wallet: in.wallet("wallet"), PIN: in.text("pin")})
					return nil, err
				},
			},
			{
				Name: "pay-phone", Title: "Pay from a phone", Button: "Ask the phone for " + due, Fields: phonePayer(), Will: will,
				do: func(v *visit, in *input) (any, error) { return update(v, in, svc.StartPayment, in.phonePayer()) },
			},
			{
				Name: "pay", Title: "Charge the customer", Button: "Charge " + due, Will: will, Note: "The simulated charger takes the money at once.",
				do: func(v *visit, in *input) (any, error) { return update(v, in, svc.Pay, invoice.PayParams{}) },
			},
			void,
			{Name: "uncollectible", Title: "Give the invoice up", Label: "Give up", Button: "Give it up", Danger: true, Note: "It is no longer expected to be paid. It can still be sent, or become void.", do: act(svc.MarkUncollectible)},
		}, err
	case invoice.Uncollectible:
		return []*form{send, void}, nil
	}
	return []*form{send}, nil
}

// invoicePDF is the document as it goes to the customer.
func (v *visit) invoicePDF() (*file, error) {
	data, name, err := v.svc.Invoices.PDFFile(v.Context(), v.caller, v.id)
	return pdfFile(name, data), err
}
