package httpapi

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
)

// How often a page that waits looks again: every 5 seconds, and from the third minute on every 15.
const (
	followSeconds     = 5
	followSlowSeconds = 15
	followSlowAfter   = 2 * time.Minute
)

var phoneIcon = icon{"info", "M8 3h8a1 1 0 0 1 1 1v16a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1ZM11 17.5h2"}

// paymentPage is the page that follows a payment from a phone, behind the secret in its address.
type paymentPage struct{ *hostedPages }

func (p *paymentPage) routes() []route {
	return pageRoutes(
		p.errorPage,
		route{method: http.MethodGet, pattern: "/payment/{id}", handle: p.show},
		route{method: http.MethodPost, pattern: "/payment/{id}", handle: p.act},
		route{method: http.MethodGet, pattern: "/payment/{id}/logo", handle: logoOf(p.Accounts, p.open, func(h *payment.Hosted) string { return h.Merchant.ID })},
	)
}

// paymentAddress is the address of a payment's page, relative to the form that started it.
func paymentAddress(r *request, payments payment.Service, caller api.Caller, started *payment.Payment) (string, error) {
	token, err := payments.PageToken(r.Context(), caller, started.ID)
	return "../payment/" + token, err
}

// waitingView is what the template of a payment that waits for its payer sees.
type waitingView struct {
	pageView
	Icon   icon
	Amount int64
	// From is the payer's number with the network, and Network the network alone.
	From, Network string
	// Action is the address of the page, and Check that of another look.
	Action, Check string
	// Follow says that the page can follow by itself. Seconds is after how many it looks again; 0
	// for never.
	Follow  bool
	Seconds int
	// Progress says what is waited for, and when the page looked.
	Progress string
	// AskCode asks for a code, and Message is the provider's text for the payer.
	AskCode bool
	Message string
	// Help is where a payer finds a request that does not appear.
	Help string
	// Cancellable offers to cancel the payment; otherwise Leavable offers another way, unless what is paid
	// for is gone. PhonesOnly says that this is another number.
	Cancellable, Leavable, PhonesOnly bool
	// Until is the time until which the payer is asked, and UntilDatetime the same for programs.
	Until, UntilDatetime string
	// Texts says that an SMS tells the payer of the payment.
	Texts bool
	// Problem is what went wrong: a text, or HTML of the page's own.
	Problem any
}

// subject is what a payment is for.
type subject struct {
	// Name is that of the code, the invoice or the order.
	Name string
	// Address is that of its page, relative to the page of the payment; "" for none.
	Address string
	// Query are the parameters with which the form keeps what was entered.
	Query url.Values
	// Invoice says that it is an invoice, and PhonesOnly that no wallet can pay it.
	Invoice, PhonesOnly bool
	// Texts says that an SMS tells the payer of the payment.
	Texts bool
	// Refund is the newest of the payment; nil for none.
	Refund *refund.Refund
	// Next is the address of the merchant's website to which the payer goes after the payment that
	// completed a checkout session; "" for none.
	Next string
}

// form is the address of the form, with a way to pay.
func (s *subject) form(method string) string {
	query := url.Values{}
	for name, values := range s.Query {
		query[name] = values
	}
	if method == methodWallet {
		query.Set("method", method)
	}
	if len(query) == 0 {
		return s.Address
	}
	return s.Address + "?" + query.Encode()
}

// subject finds what a payment is for. One that is gone has no address.
func (p *paymentPage) subject(ctx context.Context, h *payment.Hosted) (s *subject, err error) {
	is := &h.Payment
	s = &subject{Name: is.Description, Texts: p.Messages.CanText(is.Livemode)}
	switch {
	case is.QRCode != nil:
		var code *qrcode.QRCode
		if code, err = p.QRCodes.Get(ctx, h.Caller, *is.QRCode); err != nil {
			break
		}
		s.Name, s.Address = code.Name, "../pay/"+code.ID
		if code.Amount == nil {
			s.Query = url.Values{"amount": {money.Text(is.Amount)}}
		}
	case is.CheckoutSession != nil:
		var sold *checkout.Brief
		if sold, err = p.Checkout.Brief(ctx, h.Caller, *is.CheckoutSession); err != nil {
			break
		}
		s.Address, s.PhonesOnly = "../checkout/"+sold.Token, sold.Mode == checkout.ModeSubscription
		if sold.Reference != nil {
			s.Name = *sold.Reference
		}
		if look.Text(sold.Payment) == is.ID {
			s.Next = sold.Destination()
		}
	case is.Invoice != nil:
		var paid *invoice.Invoice
		if paid, err = p.Invoices.Get(ctx, h.Caller, *is.Invoice); err != nil {
			break
		}
		s.Name, s.Address, s.Invoice = "Invoice "+paid.Number, invoiceAddress(paid), true
	}
	if err != nil && api.CodeOf(err) != api.ResourceMissing {
		return nil, err
	}
	if is.AmountRefunded == 0 {
		return s, nil
	}
	refunds, err := p.Refunds.List(ctx, h.Caller, refund.ListParams{Page: api.Page{Limit: 1}, Payment: is.ID})
	if err == nil && len(refunds.Data) > 0 {
		s.Refund = &refunds.Data[0]
	}
	return s, err
}

// open finds the payment. Each page has a limit of its own, so that payers with one address do not
// slow each other; missing ones share theirs, against guesses.
func (p *paymentPage) open(r *request) (*payment.Hosted, error) {
	h, err := p.Payments.Hosted(r.Context(), r.id())
	return h, p.checkPageRate(r, err)
}

func (p *paymentPage) show(r *request) (any, error) {
	h, err := p.open(r)
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	var problem any
	if next := h.Payment.NextAction; next != nil && next.Type == payment.EnterCode {
		problem = codeProblems[query.Get("code")]
	}
	return p.render(http.StatusOK, r, h, query.Get("stop") == "1", problem)
}

// codeProblems are what the payer reads after a code that has not ended the payment, by the parameter code of
// the page's address.
var codeProblems = map[string]any{
	codeWrong:  template.HTML("<b>That code is not right.</b> Look at the newest message on the phone and type its digits again."),
	codeUnsure: template.HTML("<b>The code was not accepted, or your network has not answered.</b> Check in a moment, before you type it again."),
}

// What became of a code, in the page's address.
const (
	codeWrong  = "wrong"
	codeUnsure = "unsure"
)

// render shows where the payment stands. A page that waits looks again by itself, unless the payer
// has stopped it or is about to type a code.
func (p *paymentPage) render(status int, r *request, h *payment.Hosted, stop bool, problem any) (*response, error) {
	about, err := p.subject(r.Context(), h)
	if err != nil {
		return nil, err
	}
	m := newMerchantView(&h.Merchant, r.id()+"/logo", about.Name)
	if !waits(h) {
		answer, err := renderPage(status, "outcome", newOutcomeView(h, m, about, r.id()))
		if err == nil && about.leads(h) {
			answer.setHeader("Refresh", fmt.Sprintf("%d; url=%s", followSeconds, about.Next))
		}
		return answer, err
	}
	v := newWaitingView(h, m, r.id(), stop, problem)
	v.Leavable, v.PhonesOnly, v.Texts = about.Address != "", about.PhonesOnly, about.Texts
	answer, err := renderPage(status, "waiting", v)
	if err == nil && v.Seconds > 0 {
		answer.setHeader("Refresh", strconv.Itoa(v.Seconds))
	}
	return answer, err
}

// leads reports whether the page takes the payer to the merchant's website by itself: right after the
// payment, not when the payer looks at it again later.
func (s *subject) leads(h *payment.Hosted) bool {
	return s.Next != "" && h.Payment.AmountRefunded == 0 && h.Payment.CompletedAt != nil && h.Now.Sub(h.Payment.CompletedAt.Time) < followSlowAfter
}

// waits reports whether the payer may still approve in time.
func waits(h *payment.Hosted) bool {
	undecided := h.Payment.Status == payment.Pending || h.Payment.Status == payment.Processing
	return undecided && h.Now.Before(h.Deadline)
}

// newWaitingView shows a payment that waits for its payer.
func newWaitingView(h *payment.Hosted, m *merchantView, address string, stop bool, problem any) waitingView {
	is := &h.Payment
	name := networkName(is.Provider)
	v := waitingView{
		pageView: pageView{Title: "Approve on your phone", Test: !is.Livemode, Merchant: m},
		Icon:     phoneIcon, Amount: is.Amount, Network: name, From: look.Join(" · ", payerNumber(h), name),
		Action: address, Check: address, Problem: problem,
		Cancellable: is.Status == payment.Pending,
		Until:       look.Clock(h.Deadline, h.Now), UntilDatetime: h.Deadline.UTC().Format(time.RFC3339),
	}
	if next := is.NextAction; next != nil {
		v.AskCode = next.Type == payment.EnterCode
		if next.Message != ownApproveMessage {
			v.Message = next.Message
		}
	}
	if !v.AskCode && is.Provider != nil && !strings.Contains(v.Message, "*") { // the provider has not said it
		v.Help = approvals[*is.Provider]
	}
	checked := "Checked at " + h.Now.UTC().Format("15:04:05")
	switch {
	case v.AskCode:
		v.Title = "Enter the code"
		v.Progress = checked + "; this page does not check by itself while you type."
	case stop:
		v.Follow, v.Check = true, address+"?stop=1"
		v.Progress = checked + "; this page does not check by itself."
	default:
		v.Follow, v.Seconds = true, followSeconds
		if h.Now.Sub(is.CreatedAt.Time) >= followSlowAfter {
			v.Seconds = followSlowSeconds
		}
		v.Progress = fmt.Sprintf("Waiting for %s. %s; checks again every %d seconds.", name, checked, v.Seconds)
	}
	return v
}

// approvals say where the payers of a network find the requests that they have not answered.
var approvals = map[string]string{phone.MTN: "Dial *170#, choose My Wallet, then My Approvals."}

// ownApproveMessage is the library's own text for a payer, which repeats what the page says.
const ownApproveMessage = "Approve the payment on your phone."

// act takes the forms of the page.
func (p *paymentPage) act(r *request) (any, error) {
	h, err := p.open(r)
	if err != nil {
		return nil, err
	}
	form, err := r.form()
	if err != nil {
		return nil, err
	}
	location, caller := r.id(), r.onBehalf(h.Caller)
	switch form.Get("action") {
	case "confirm":
		err = p.confirmWithCode(r, func() (wrong bool, err error) {
			code := strings.TrimSpace(form.Get("code"))
			is, err := p.Payments.Confirm(r.Context(), caller, h.Payment.ID, payment.ConfirmParams{Code: code})
			if err != nil || is.NextAction == nil || is.NextAction.Type != payment.EnterCode {
				return false, err
			}
			order, err := p.Providers.Get(r.Context(), h.Caller, h.Payment.ID)
			if err != nil {
				return false, err
			}
			became := codeWrong
			if !order.UnansweredAt.Before(h.Now.Truncate(time.Millisecond)) { // by the network
				became = codeUnsure
			}
			location += "?code=" + became
			return true, nil // one without an answer counts, too: it may have been a guess
		})
	case "cancel":
		_, err = p.Payments.Cancel(r.Context(), caller, h.Payment.ID)
	case "another":
		location, err = p.leave(r, caller, h)
	}
	if err == nil {
		return seeOther(location), nil
	}
	e := asAPIError(err)
	if e == nil || e.Code == api.RateLimited {
		return nil, err
	}
	// What became of the payment meanwhile is shown with it.
	if h, err = p.Payments.Hosted(r.Context(), r.id()); err != nil {
		return nil, err
	}
	problem, _ := pageProblem(e)
	return p.render(statusOf(e), r, h, true, problem)
}

// leave ends the hold of a payment whose payer chooses another way to pay, and returns the address
// of the form. A payment that has ended meanwhile is shown instead.
func (p *paymentPage) leave(r *request, caller api.Caller, h *payment.Hosted) (string, error) {
	about, err := p.subject(r.Context(), h)
	if err != nil {
		return "", err
	}
	if !waits(h) || about.Address == "" {
		return r.id(), nil
	}
	return about.form(""), p.Payments.Leave(r.Context(), caller, h.Payment.ID)
}

// errorPage is the page for everything that the page cannot show. The payment goes on behind it.
func (p *paymentPage) errorPage(r *request, status int, e *api.Error) (any, error) {
	switch {
	case status == http.StatusNotFound:
		return problemPage(status, "There is no payment here. Check the address.")
	case status < http.StatusInternalServerError && status != http.StatusTooManyRequests:
		return problemPage(status, e.Message)
	}
	answer, err := renderPage(status, "outcome", outcomeView{
		pageView: pageView{Title: "Payment"}, Icon: clockIcon, Heading: "We cannot look at the payment now",
		Before: "Do not pay again.", Text: "The payment goes on, whatever this page shows. Look again in a moment.",
		Actions: []action{{Label: "Check now", URL: "?"}},
	})
	if err == nil && r.Method != http.MethodPost {
		answer.setHeader("Refresh", strconv.Itoa(followSlowSeconds))
	}
	return answer, err
}

func upperFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}
