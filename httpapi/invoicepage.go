package httpapi

import (
	"net/http"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
)

// invoicePage is the public page of an invoice, behind the secret in its address.
type invoicePage struct{ *hostedPages }

func (p *invoicePage) routes() []route {
	return pageRoutes(
		problemPages("There is no invoice here. Check the address, or ask who sent it to you."),
		route{method: http.MethodGet, pattern: "/invoice/{id}", handle: p.show},
		route{method: http.MethodPost, pattern: "/invoice/{id}", handle: p.pay},
		route{method: http.MethodGet, pattern: "/invoice/{id}/pdf", heavy: true, handle: p.document},
		route{method: http.MethodGet, pattern: "/invoice/{id}/credit_notes/{note}", heavy: true, handle: p.creditNote},
		route{method: http.MethodGet, pattern: "/invoice/{id}/logo", handle: logoOf(p.Accounts, p.open, func(h *invoice.Hosted) string { return h.Merchant.ID })},
	)
}

// invoiceView is what the template sees.
type invoiceView struct {
	pageView
	Invoice     *invoice.Invoice
	CreditNotes []invoice.CreditNote
	// Action, Document and Notes are addresses relative to the page; Notes is followed by
	// the id of a refund.
	Action, Document, Notes string
	// State is the badge of an invoice that is not open, and Explain what it means.
	State, StateClass, Explain string
	// Due says when the invoice is due, and Overdue that this is over.
	Due     string
	Overdue bool
	Open    bool
	Facts   []fact
	Lines   []invoice.ShownLine
	Sums    []invoice.Sum
	Form    waysView
}

func newInvoiceView(h *invoice.Hosted, token string, now time.Time, form waysView) invoiceView {
	is := &h.Invoice
	v := invoiceView{
		pageView: pageView{
			Title: "Invoice " + is.Number, Test: !is.Livemode,
			Merchant: newMerchantView(&h.Merchant, token+"/logo", "Invoice "+is.Number),
		},
		Invoice: is, CreditNotes: h.CreditNotes, Action: token, Document: token + "/pdf", Notes: token + "/credit_notes/",
		Open: is.Status == invoice.Open, Form: form, Lines: invoice.ShownLines(is.Lines.Data), Sums: is.Sums(),
	}
	v.Form.Due = is.AmountDue
	switch is.Status {
	case invoice.Paid:
		v.State, v.StateClass, v.Explain = "Paid", "good", "Thank you."
		if is.PaidAt != nil {
			v.Due = is.PaidAt.Format(look.LongDay)
		}
	case invoice.Void:
		v.State, v.StateClass, v.Explain = "Withdrawn", "neutral", "This invoice was withdrawn. There is nothing to pay."
	case invoice.Uncollectible:
		v.State, v.StateClass, v.Explain = "Closed", "wait", "This invoice can no longer be paid here. Please ask "+h.Merchant.Name+"."
	default:
		v.Due = "To pay"
		if is.DueDate != nil && is.AmountDue > 0 {
			v.Due, v.Overdue = dueText(is.DueDate.Time, now)
		}
	}
	add := func(name string, text *string) {
		if text != nil && *text != "" {
			v.Facts = append(v.Facts, fact{Name: name, Text: *text})
		}
	}
	add("For", is.Name)
	add("Date", new(is.InvoiceDate.Format(look.LongDay)))
	if is.Status != invoice.Open && is.DueDate != nil {
		add("Due", new(is.DueDate.Format(look.LongDay)))
	}
	add("About", is.Description)
	if is.Payment != nil {
		v.Facts = append(v.Facts, fact{Name: "Payment", ID: *is.Payment})
	}
	return v
}

// open finds the invoice. Each page has a limit of its own, so that payers with one address do not slow
// each other. Missing pages share one.
func (p *invoicePage) open(r *request) (*invoice.Hosted, error) {
	h, err := p.Invoices.Hosted(r.Context(), r.id())
	return h, p.checkPageRate(r, err)
}

func (p *invoicePage) show(r *request) (any, error) {
	h, err := p.open(r)
	if err != nil {
		return nil, err
	}
	if h.Invoice.Status == invoice.Open {
		m := newMerchantView(&h.Merchant, r.id()+"/logo", "Invoice "+h.Invoice.Number)
		page, err := undecidedPage(r, p.Payments, h.Caller, payment.ListParams{Invoice: h.Invoice.ID}, m)
		if err != nil || page != nil {
			return page, err
		}
	}
	return p.render(http.StatusOK, r, h, r.emptyForm())
}

func (p *invoicePage) render(status int, r *request, h *invoice.Hosted, form waysView) (*response, error) {
	now, err := p.Now(r.Context(), h.Caller)
	if err != nil {
		return nil, err
	}
	form.offerNetworks(p.Payments.Networks(h.Invoice.Livemode))
	err = p.showFirst(r, h.Caller, &form, payment.ListParams{Invoice: h.Invoice.ID})
	if err != nil {
		return nil, err
	}
	return renderPage(status, "invoice", newInvoiceView(h, r.id(), now.Time, form))
}

// pay takes the form.
func (p *invoicePage) pay(r *request) (any, error) {
	h, err := p.Invoices.Hosted(r.Context(), r.id())
	if err := p.checkRate(r, err); err != nil { // forms count by address: each has a PIN
		return nil, err
	}
	form, err := r.payForm(h.Caller)
	if err != nil {
		return nil, err
	}
	// The page shows that it is paid, and can be loaded again without paying.
	location := r.id()
	fromWallet := func(m means) error {
		_, err := p.Invoices.PayFromWallet(r.Context(), form.caller, h.Invoice.ID, invoice.PayFromWalletParams{Wallet: m.Wallet, PIN: m.PIN, From: m.From})
		return err
	}
	if h.Invoice.AmountDue == 0 && form.Wallets { // a form that is posted again repeats what has paid
		err = p.payWithPIN(r, func(from string) error { return fromWallet(form.wallet(from)) })
	} else {
		err = p.payWith(r, form, func(m means) error {
			if form.Wallets {
				return fromWallet(m)
			}
			started, err := p.Invoices.StartHostedPayment(r.Context(), form.caller, h.Invoice.ID, invoice.HostedPayment{MobileMoney: m.MobileMoney, From: m.From})
			if err == nil && started != nil { // nil if nothing is due any more
				location, err = paymentAddress(r, p.Payments, h.Caller, started)
			}
			return err
		})
	}
	if err == nil {
		return seeOther(location), nil
	}
	return form.refused(err, func(e *api.Error) (*response, error) {
		// What became of the invoice meanwhile is shown with it.
		h, err := p.Invoices.Hosted(r.Context(), r.id())
		if err != nil {
			return nil, err
		}
		return p.render(statusOf(e), r, h, form.waysView)
	})
}

func (p *invoicePage) document(r *request) (any, error) {
	data, name, err := p.Invoices.HostedPDF(r.Context(), r.id()) // also of a draft
	return inlinePDF(data, name, p.checkPageRate(r, err))
}

// inlinePDF answers a document under its name.
func inlinePDF(data []byte, name string, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	answer := newResponse("application/pdf", data)
	answer.setHeader("Content-Disposition", `inline; filename="`+name+`"`)
	return answer, nil
}

func (p *invoicePage) creditNote(r *request) (any, error) {
	data, name, err := p.Invoices.HostedCreditNote(r.Context(), r.id(), r.PathValue("note"))
	return inlinePDF(data, name, p.checkPageRate(r, err))
}
