package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/payment"
)

// openRequest is a payment from a phone on a page of what it pays: in most places one that may still be approved.
type openRequest struct {
	*payment.Hosted
	// token is the secret of the payment's page. In a cookie it proves that this browser has begun the payment.
	token string
}

// The cookie of a QR code's page holds the secrets of the last payments that this browser began there, the
// newest first. It is sent to that page alone, for a day.
const (
	openCookie     = "payments"
	openCookieLife = 24 * time.Hour
	maxOpenCookie  = 3
)

// remember makes an answer remember that this browser has begun a payment of the code on the page of r.
func (v *hostedPages) remember(r *request, answer *response, code, token string) {
	tokens := append([]string{token}, slices.DeleteFunc(cookieTokens(r), func(t string) bool { return t == token })...)
	path := "/pay/" + code
	base, err := url.Parse(v.BaseURL())
	if err == nil {
		path = strings.TrimRight(base.Path, "/") + path
	}
	answer.setHeader("Set-Cookie", (&http.Cookie{
		Name: openCookie, Value: strings.Join(tokens[:min(len(tokens), maxOpenCookie)], "."), Path: path, MaxAge: int(openCookieLife / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: err == nil && base.Scheme == "https",
	}).String())
}

// cookieTokens returns the secrets in the cookie of the page.
func cookieTokens(r *request) []string {
	c, err := r.Cookie(openCookie)
	if err != nil || len(c.Value) > 1000 {
		return nil
	}
	tokens := strings.Split(c.Value, ".")
	return tokens[:min(len(tokens), maxOpenCookie)]
}

// opened returns the newest payment of a QR code without an outcome that this browser has begun, as its cookie
// proves. It is nil if there is none.
func (v *hostedPages) opened(r *request, merchant api.Caller, code string) (*openRequest, error) {
	for _, token := range cookieTokens(r) {
		h, err := v.Payments.Hosted(r.Context(), token)
		switch {
		case api.CodeOf(err) == api.ResourceMissing:
			continue
		case err != nil:
			return nil, err
		}
		if h.Caller.Merchant == merchant.Merchant && h.Caller.Live == merchant.Live && look.Text(h.Payment.QRCode) == code && undecided(h) {
			return &openRequest{h, token}, nil
		}
	}
	return nil, nil
}

func undecided(h *payment.Hosted) bool {
	return h.Payment.Status == payment.Pending || h.Payment.Status == payment.Processing
}

// showFirst says in the form of a page behind a secret which request of what is paid there stays open.
func (v *hostedPages) showFirst(r *request, merchant api.Caller, form *waysView, of payment.ListParams) error {
	of.Page, of.Status = api.Page{Limit: 1}, payment.Processing
	list, err := v.Payments.List(r.Context(), merchant, of)
	if err != nil || len(list.Data) == 0 {
		return err
	}
	open, err := requestOf(r, v.Payments, merchant, list.Data[0].ID)
	if err == nil && open.waits() {
		form.First = open.view()
	}
	return err
}

// requestOf returns a payment with the secret of its page; nil for one that is not from a phone.
func requestOf(r *request, payments payment.Service, merchant api.Caller, id string) (*openRequest, error) {
	token, err := payments.PageToken(r.Context(), merchant, id)
	if api.CodeOf(err) == api.ResourceMissing {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h, err := payments.Hosted(r.Context(), token)
	if err != nil {
		return nil, err
	}
	return &openRequest{h, token}, nil
}

// waits reports whether the payer may still approve in time.
func (o *openRequest) waits() bool { return o != nil && waits(o.Hosted) }

// requestView is an open request, as the pages of what it pays show it.
type requestView struct {
	Amount int64
	// Number is the phone that is asked, masked, and Merchant who is paid.
	Number, Merchant string
	// Asked and Until are when the phone was asked and until when it can approve; the others are the same for
	// programs.
	Asked, AskedDatetime, Until, UntilDatetime string
	// Address is that of the payment's page.
	Address string
	// Sent says that the phone was asked and cannot be asked back.
	Sent bool
}

func (o *openRequest) view() *requestView {
	is := &o.Payment
	return &requestView{
		Amount: is.Amount, Number: payerNumber(o.Hosted), Merchant: o.Merchant.Name,
		Asked: look.Clock(is.CreatedAt.Time, o.Now), AskedDatetime: is.CreatedAt.UTC().Format(time.RFC3339),
		Until: look.Clock(o.Deadline, o.Now), UntilDatetime: o.Deadline.UTC().Format(time.RFC3339),
		Address: "../payment/" + o.token, Sent: is.Status == payment.Processing,
	}
}

// openView is the page of a code for the payer whose request is still open.
type openView struct {
	pageView
	Due     int64
	Request *requestView
	// Refused says that the page answers a form that would have asked a phone once more.
	Refused bool
}
