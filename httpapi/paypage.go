package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
)

var (
	//go:embed pages/style.css
	pageStyle string
	//go:embed pages/pay.html pages/invoice.html
	pageTemplates embed.FS

	pages = template.Must(template.New("pages").Funcs(template.FuncMap{
		"ghs":   func(pesewas int64) string { return money.Text(pesewas) },
		"style": func() template.CSS { return template.CSS(pageStyle) },
	}).ParseFS(pageTemplates, "pages/*.html"))

	// pagePolicy allows a page its one style sheet, pictures and a form of its own
	// origin, and nothing else: no script, no frame around it.
	pagePolicy = func() string {
		sum := sha256.Sum256([]byte(pageStyle))
		return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
	}()
)

const (
	// maxForm is the longest form that is read, in bytes.
	maxForm = 16 << 10
	// formTimeout is how long a form may take to arrive. A browser sends it in a packet or two.
	formTimeout = 5 * time.Second
)

// payPage is the public page that a merchant's QR code points to.
type payPage struct {
	codes    *qrcode.Service
	accounts *account.Service
	payments *payment.Service
	*pageLimiter
}

func newPayPage(svc *payments.Service, v *pageLimiter) *payPage {
	return &payPage{svc.QRCodes, svc.Accounts, svc.Payments, v}
}

func (p *payPage) routes() []route {
	return []route{
		{method: http.MethodGet, pattern: "/pay/{id}", handle: p.show, errorPage: p.errorPage},
		{method: http.MethodPost, pattern: "/pay/{id}", handle: p.pay, errorPage: p.errorPage},
		{method: http.MethodGet, pattern: "/pay/{id}/logo", handle: p.logo, errorPage: p.errorPage},
		{method: http.MethodGet, pattern: "/pay/{id}/receipt/{payment}", handle: p.receipt, errorPage: p.errorPage},
	}
}

// payView is what the templates see.
type payView struct {
	Offer *qrcode.Hosted
	// Logo is the address of the merchant's logo, relative to the page; "" for
	// none.
	Logo string
	// Token makes a form that is posted twice pay once.
	Token string
	// Amount and Wallet are what was entered, shown again after a refusal.
	Amount, Wallet string
	// Problem is what went wrong, and Field the input it is about.
	Problem, Field string
	Payment        *payment.Payment
}

// show is the page, and, with .png at the end of the path, the picture of the
// code.
func (p *payPage) show(r *request) (any, error) {
	id, picture := strings.CutSuffix(r.id(), ".png")
	offer, err := p.codes.Hosted(r.Context(), id)
	if err != nil {
		return nil, err
	}
	if picture {
		data, err := offer.Code.Image(qrcode.PNG, qrcode.DefaultSize)
		if err != nil {
			return nil, err
		}
		answer := newResponse("image/png", data)
		// What the picture shows never changes while the code exists.
		answer.setHeader("Cache-Control", "public, max-age=300")
		return answer, nil
	}
	return p.form(http.StatusOK, offer, payView{Token: newFormToken()})
}

// form renders the page of a code that is open, or says why it cannot be paid.
func (p *payPage) form(status int, offer *qrcode.Hosted, v payView) (any, error) {
	v.Offer = offer
	v.Logo = logoPath(offer, offer.Code.ID+"/logo")
	if offer.Refusal != nil {
		v.Problem = offer.Refusal.Message
		return renderPage(status, "closed", v)
	}
	return renderPage(status, "form", v)
}

// pay takes the form.
func (p *payPage) pay(r *request) (any, error) {
	offer, err := p.codes.Hosted(r.Context(), r.id())
	if err := p.checkRate(r, err); err != nil {
		return nil, err
	}
	form, err := r.form()
	if err != nil {
		return nil, err
	}
	v := payView{Token: formToken(form.Get("token")), Amount: form.Get("amount"), Wallet: strings.TrimSpace(form.Get("wallet"))}
	caller := offer.Caller
	caller.RequestID, caller.IdempotencyKey = r.caller.RequestID, "page-"+v.Token
	params := qrcode.PayParams{Wallet: wallet(v.Wallet), PIN: form.Get("pin")}
	if params.Wallet == (account.WalletRef{}) {
		return p.formError(offer, v, api.Missing("wallet"))
	}
	if offer.Code.Amount == nil {
		if params.Amount, err = enteredAmount(v.Amount); err != nil {
			return p.formError(offer, v, err)
		}
	}
	var paid *payment.Payment
	err = p.payWithPIN(r, func(from string) error {
		params.From = from
		paid, err = p.codes.Pay(r.Context(), caller, offer.Code.ID, params)
		return err
	})
	if api.CodeOf(err) == api.RateLimited {
		return nil, err
	}
	if err != nil {
		return p.formError(offer, v, err)
	}
	return &response{
		status: http.StatusSeeOther,
		header: map[string]string{"Location": offer.Code.ID + "/receipt/" + paid.ID},
	}, nil
}

// formError shows the form again with what went wrong. What is no refusal is left
// to the router.
func (p *payPage) formError(offer *qrcode.Hosted, v payView, err error) (any, error) {
	e := asAPIError(err)
	if e == nil {
		return nil, err
	}
	v.Problem, v.Field = pageProblem(e)
	switch e.Code {
	case api.QRInactive, api.QRExpired, api.QRLimitReached:
		offer.Refusal = e
	case api.IdempotencyKeyReused:
		v.Token = newFormToken()
	}
	return p.form(statusOf(e), offer, v)
}

// pageProblem says what went wrong as the payer reads it, and the input it is
// about.
func pageProblem(e *api.Error) (problem, field string) {
	switch e.Code {
	case api.ParameterMissing:
		return map[string]string{
			"wallet": "Enter your wallet number.", "pin": "Enter your PIN.", "amount": "Enter the amount.",
		}[e.Param], e.Param
	case api.AmountRequired:
		return "Enter the amount.", e.Param
	case api.PINInvalid, api.PINLocked:
		// One text for both, and for a number without a wallet: a stranger learns nothing
		// about who has one.
		return "The PIN is wrong or locked. Check the number and the PIN. After too many wrong entries a PIN is locked for a while; its holder is told by SMS.", "pin"
	case api.AccountNotFound, api.InvalidPhoneNumber:
		return "There is no open wallet with this number. Check it and try again.", "wallet"
	case api.InsufficientBalance:
		return "There is not enough money in your wallet for this payment.", e.Param
	case api.IdempotencyKeyReused:
		return "This form was used for another payment already. Check your messages before you pay again.", e.Param
	}
	return e.Message, e.Param
}

// receipt is the page after a payment.
func (p *payPage) receipt(r *request) (any, error) {
	offer, err := p.codes.Hosted(r.Context(), r.id())
	if err != nil {
		return nil, err
	}
	paid, err := p.payments.Get(r.Context(), offer.Caller, r.PathValue("payment"))
	if err != nil {
		return nil, err
	}
	if paid.QRCode == nil || *paid.QRCode != offer.Code.ID {
		return nil, api.NoSuch("payment")
	}
	return renderPage(http.StatusOK, "receipt", payView{Offer: offer, Payment: paid, Logo: logoPath(offer, "../logo")})
}

func (p *payPage) logo(r *request) (any, error) {
	offer, err := p.codes.Hosted(r.Context(), r.id())
	if err != nil {
		return nil, err
	}
	return merchantLogo(r, p.accounts, offer.Merchant.ID)
}

// merchantLogo answers with a merchant's logo, which pages show.
func merchantLogo(r *request, accounts *account.Service, merchant string) (any, error) {
	logo, err := accounts.GetLogo(r.Context(), api.Caller{}, merchant)
	if err != nil {
		return nil, err
	}
	answer := newResponse(logo.Type, logo.Data)
	answer.setHeader("Cache-Control", "public, max-age=300")
	return answer, nil
}

// errorPage is the page for everything that the form cannot show.
func (p *payPage) errorPage(_ *request, status int, e *api.Error) (any, error) {
	v := payView{Problem: e.Message}
	if status == http.StatusNotFound {
		v.Problem = "There is nothing to pay here. The QR code may have been withdrawn; ask for a new one."
	}
	return renderPage(status, "problem", v)
}

// renderPage renders a template with the headers that every hosted page has.
func renderPage(status int, name string, v any) (any, error) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, v); err != nil {
		return nil, fmt.Errorf("httpapi: render page: %w", err)
	}
	answer := newResponse("text/html; charset=utf-8", b.Bytes())
	answer.status = status
	answer.setHeader("Content-Security-Policy", pagePolicy)
	answer.setHeader("X-Frame-Options", "DENY")
	answer.setHeader("Referrer-Policy", "no-referrer")
	return answer, nil
}

// form reads a form that a browser posts.
func (r *request) form() (url.Values, error) {
	r.Body = http.MaxBytesReader(r.writer, r.Body, maxForm)
	ctx, cancel := context.WithTimeout(r.Context(), formTimeout)
	defer cancel()
	stop := interruptRead(ctx, r.writer)
	err := r.ParseForm()
	stop()
	var exceeded *http.MaxBytesError
	switch {
	case errors.As(err, &exceeded):
		return nil, api.Errorf(api.BodyTooLarge, "", "The form is longer than %d bytes.", maxForm)
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.Is(r.Context().Err(), context.DeadlineExceeded):
		// The server ends the request's context, too, when it was cut off.
		return nil, api.Invalid("", "The form took too long to arrive. Go back and try again.")
	case err != nil && r.Context().Err() != nil:
		return nil, r.Context().Err()
	case err != nil:
		return nil, api.Invalid("", "The form could not be read. Go back and try again.")
	}
	return r.PostForm, nil
}

// wallet tells a service id from a phone number.
func wallet(entered string) account.WalletRef {
	if strings.HasPrefix(strings.ToUpper(entered), "SVC") {
		return account.WalletRef{ServiceID: strings.ToUpper(entered)}
	}
	return account.WalletRef{Phone: entered}
}

// enteredAmount reads an amount of a form in pesewas.
func enteredAmount(text string) (*int64, error) {
	ghs, err := money.ParseInput(text)
	if err == nil && ghs == nil {
		return nil, nil // the service refuses a missing amount
	}
	if err == nil {
		var n int64
		if n, err = check.Amount("amount", *ghs); err == nil {
			return &n, nil
		}
	}
	return nil, api.Invalid("amount", "Enter the amount in cedis, such as 12.50, up to %s.", money.Text(money.Max))
}

func logoPath(offer *qrcode.Hosted, path string) string {
	if !offer.Merchant.HasLogo {
		return ""
	}
	return path
}

// asAPIError returns the refusal in an error, or nil.
func asAPIError(err error) *api.Error {
	var e *api.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
