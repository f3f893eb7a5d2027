package httpapi

import (
	"net/http"
	"strings"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
)

// invoicePage is the public page of an invoice, behind the secret in its address.
type invoicePage struct {
	invoices *invoice.Service
	accounts *account.Service
	*pageLimiter
}

func newInvoicePage(svc *payments.Service, v *pageLimiter) *invoicePage {
	return &invoicePage{svc.Invoices, svc.Accounts, v}
}

func (p *invoicePage) routes() []route {
	return []route{
		{method: http.MethodGet, pattern: "/invoice/{id}", handle: p.show, errorPage: p.errorPage},
		{method: http.MethodPost, pattern: "/invoice/{id}", handle: p.pay, errorPage: p.errorPage},
		{method: http.MethodGet, pattern: "/invoice/{id}/pdf", heavy: true, handle: p.document, errorPage: p.errorPage},
		{method: http.MethodGet, pattern: "/invoice/{id}/credit_notes/{note}", heavy: true, handle: p.creditNote, errorPage: p.errorPage},
		{method: http.MethodGet, pattern: "/invoice/{id}/logo", handle: p.logo, errorPage: p.errorPage},
	}
}

// invoiceView is what the template sees.
type invoiceView struct {
	Hosted *invoice.Hosted
	// Logo, Document and Notes are addresses relative to the page; Notes is followed by
	// the id of a refund.
	Logo, Document, Notes string
	// Token makes a form that is posted twice pay once.
	Token string
	// Wallet is what was entered, shown again after a refusal.
	Wallet string
	// Problem is what went wrong, and Field the input it is about.
	Problem, Field string
}

// open finds the invoice, and bounds how often one client address guesses at secrets and PINs.
func (p *invoicePage) open(r *request) (*invoice.Hosted, error) {
	h, err := p.invoices.Hosted(r.Context(), r.id())
	return h, p.checkRate(r, err)
}

func (p *invoicePage) show(r *request) (any, error) {
	h, err := p.open(r)
	if err != nil {
		return nil, err
	}
	return p.render(http.StatusOK, r, h, invoiceView{Token: newFormToken()})
}

func (p *invoicePage) render(status int, r *request, h *invoice.Hosted, v invoiceView) (any, error) {
	v.Hosted, v.Document, v.Notes = h, r.id()+"/pdf", r.id()+"/credit_notes/"
	if h.Merchant.HasLogo {
		v.Logo = r.id() + "/logo"
	}
	return renderPage(status, "invoice", v)
}

// pay takes the form.
func (p *invoicePage) pay(r *request) (any, error) {
	h, err := p.open(r)
	if err != nil {
		return nil, err
	}
	form, err := r.form()
	if err != nil {
		return nil, err
	}
	v := invoiceView{Token: formToken(form.Get("token")), Wallet: strings.TrimSpace(form.Get("wallet"))}
	caller := h.Caller
	caller.RequestID, caller.IdempotencyKey = r.caller.RequestID, "page-"+v.Token
	params := invoice.PayFromWalletParams{Wallet: wallet(v.Wallet), PIN: form.Get("pin")}
	if params.Wallet == (account.WalletRef{}) && h.Invoice.AmountDue > 0 {
		err = api.Missing("wallet")
	} else {
		err = p.payWithPIN(r, func(from string) error {
			params.From = from
			_, err := p.invoices.PayFromWallet(r.Context(), caller, h.Invoice.ID, params)
			return err
		})
	}
	if api.CodeOf(err) == api.RateLimited {
		return nil, err
	}
	if err == nil {
		// The page shows that it is paid, and can be loaded again without paying.
		return &response{status: http.StatusSeeOther, header: map[string]string{"Location": r.id()}}, nil
	}
	e := asAPIError(err)
	if e == nil {
		return nil, err
	}
	v.Problem, v.Field = pageProblem(e)
	// What became of the invoice meanwhile is shown with it.
	if h, err = p.invoices.Hosted(r.Context(), r.id()); err != nil {
		return nil, err
	}
	if e.Code == api.IdempotencyKeyReused {
		v.Token = newFormToken()
	}
	return p.render(statusOf(e), r, h, v)
}

func (p *invoicePage) document(r *request) (any, error) {
	data, name, err := p.invoices.HostedPDF(r.Context(), r.id()) // also of a draft
	return inlinePDF(data, name, p.checkRate(r, err))
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
	data, name, err := p.invoices.HostedCreditNote(r.Context(), r.id(), r.PathValue("note"))
	return inlinePDF(data, name, p.checkRate(r, err))
}

func (p *invoicePage) logo(r *request) (any, error) {
	h, err := p.open(r)
	if err != nil {
		return nil, err
	}
	return merchantLogo(r, p.accounts, h.Merchant.ID)
}

// errorPage is the page for everything that the invoice cannot show.
func (p *invoicePage) errorPage(_ *request, status int, e *api.Error) (any, error) {
	v := payView{Problem: e.Message}
	if status == http.StatusNotFound {
		v.Problem = "There is no invoice here. Check the address, or ask who sent it to you."
	}
	return renderPage(status, "problem", v)
}
