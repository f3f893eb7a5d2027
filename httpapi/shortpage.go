package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/seed-7082ffec/payments/message"
)

// shortPage sends a person who follows the short link of an SMS to the page that it stands for.
type shortPage struct{ *hostedPages }

func (p *shortPage) routes() []route {
	leads := func(page message.LinkPage, address func(context.Context, *message.Linked) (string, error)) route {
		return route{method: http.MethodGet, pattern: "/" + string(page) + "/{id}", handle: func(r *request) (any, error) {
			return p.lead(r, page, address)
		}}
	}
	return pageRoutes(
		problemPages("There is nothing at this link. Check it against the SMS, or ask who sent it to you."),
		leads(message.ReceiptPage, p.receipt),
		leads(message.InvoicePage, p.invoice),
		leads(message.SubscriptionPage, p.subscription),
		leads(message.CodePage, p.code),
	)
}

// lead redirects to the page of an object. address returns where it is, relative to a short link. A wrong
// secret counts as that of a page does.
func (p *shortPage) lead(r *request, page message.LinkPage, address func(context.Context, *message.Linked) (string, error)) (any, error) {
	location := ""
	is, err := p.Messages.FindLink(r.Context(), page, r.id())
	if err == nil {
		location, err = address(r.Context(), is)
	}
	if err := p.checkPageRate(r, err); err != nil {
		return nil, err
	}
	answer := seeOther(location)
	answer.setHeader("Referrer-Policy", "no-referrer") // the secret is for nobody else
	return answer, nil
}

func (p *shortPage) receipt(ctx context.Context, is *message.Linked) (string, error) {
	token, err := p.Payments.PageToken(ctx, is.Caller, is.ID)
	return "../payment/" + token, err
}

func (p *shortPage) invoice(ctx context.Context, is *message.Linked) (string, error) {
	v, err := p.Invoices.Get(ctx, is.Caller, is.ID)
	if err != nil {
		return "", err
	}
	return invoiceAddress(v), nil
}

func (p *shortPage) subscription(ctx context.Context, is *message.Linked) (string, error) {
	v, err := p.Subscriptions.Get(ctx, is.Caller, is.ID)
	if err != nil {
		return "", err
	}
	return "../subscription/" + (*v.ManageURL)[strings.LastIndexByte(*v.ManageURL, '/')+1:], nil
}

func (p *shortPage) code(ctx context.Context, is *message.Linked) (string, error) {
	v, err := p.QRCodes.Get(ctx, is.Caller, is.ID)
	if err != nil {
		return "", err
	}
	return "../pay/" + v.ID, nil
}
