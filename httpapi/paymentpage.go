package httpapi

import (
	"context"
	"fmt"
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
func paymentAddress(r *request, payments *payment.Service, caller api.Caller, started *payment.Payment) (string, error) {
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
	Texts   bool
	Problem string
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
	return s, nil
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
	problem := ""
	if next := h.Payment.NextAction; query.Get("code") == "wrong" && next != nil && next.Type == payment.EnterCode {
		problem = "This code was not accepted, or your network has not answered. Check the code and enter it again."
	}
	return p.render(http.StatusOK, r, h, query.Get("stop") == "1", problem)
}

// render shows where the payment stands. A page that waits looks again by itself, unless the payer
// has stopped it or is about to type a code.
func (p *paymentPage) render(status int, r *request, h *payment.Hosted, stop bool, problem string) (*response, error) {
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
func newWaitingView(h *payment.Hosted, m *merchantView, address string, stop bool, problem string) waitingView {
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

// failureTexts are what the payer reads in place of the library's and the simulator's own reasons,
// which speak to the merchant.
var failureTexts = map[string]string{
	"":                                  "The network did not carry out the payment.",
	"The payment failed.":               "The network did not carry out the payment.",
	"The payer declined.":               "The request was declined on the phone.",
	"The payer's balance is too low.":   "There is not enough money in this mobile money account.",
	"The payer did not answer in time.": "The request was not approved in time.",
	"The payment could not be sent to the provider in time.": "The request could not be sent to the phone in time.",
}

// newOutcomeView shows a payment that has ended, or whose time is over.
func newOutcomeView(h *payment.Hosted, m *merchantView, about *subject, address string) outcomeView {
	is := &h.Payment
	v := outcomeView{
		pageView: pageView{Test: !is.Livemode, Merchant: m}, Questions: true,
		Facts: []fact{{Name: "Amount", Money: is.Amount}, paidWith("Tried with", is, payerNumber(h))},
	}
	again := func() {
		if about.Address == "" {
			return
		}
		v.Actions = []action{{Label: "Try again", URL: about.form(methodMobile), Main: true}}
		if !about.PhonesOnly {
			v.Actions = append(v.Actions, action{Label: "Pay from a wallet", URL: about.form(methodWallet)})
		}
	}
	ended := is.Status == payment.Failed || is.Status == payment.Cancelled
	switch {
	case ended && h.Contradicted:
		v.Icon, v.Heading, v.Before = clockIcon, "It is not clear whether this was paid", "Do not pay again."
		v.Text = upperFirst(networkName(is.Provider)) + " has reported different outcomes. Ask " + m.Name + " what has become of the money."
		v.Facts = append(v.Facts, timeFact(is.CreatedAt.Time), fact{Name: "Payment", ID: is.ID})
	case is.Status == payment.Completed:
		m.About = h.Merchant.Address
		v = receiptView(m, is, payerNumber(h), about.Name, about.Texts)
		if about.Invoice && about.Address != "" {
			v.Actions = []action{{Label: "See the invoice", URL: about.Address}}
		}
		if about.Next != "" {
			v.Actions, v.Note = []action{{Label: "Continue to " + m.Name, URL: about.Next, Main: true}}, ""
			if about.Texts {
				v.Note = textedNote
			}
			if about.leads(h) {
				v.Note = look.Join(" ", v.Note, "This page takes you back to "+m.Name+" by itself.")
			}
		}
		if h.Late { // the SMS was no receipt
			v.Note = ""
		}
		switch {
		case is.AmountRefunded == is.Amount:
			v.Heading, v.Icon, v.Text = "Paid, and given back", stopIcon, "The money is on its way back to this number."
		case h.Late:
			v.Heading, v.Icon = "Paid too late", stopIcon
			v.Text = look.Join(" ", v.Text, "It was paid another way, or was no longer to be paid. Ask "+m.Name+" for the money back.")
		}
	case is.Status == payment.Failed:
		reason := ""
		if is.FailureReason != nil {
			reason = *is.FailureReason
		}
		if own, found := failureTexts[reason]; found {
			reason = own
		}
		v.Icon, v.Heading, v.Text, v.After = crossIcon, "Not paid", reason, "Nothing was taken."
		v.Facts = append(v.Facts, timeFact(is.CreatedAt.Time))
		again()
	case is.Status == payment.Cancelled:
		v.Icon, v.Heading, v.Text, v.After = stopIcon, "Cancelled", "The payment was cancelled before the request went out.", "Nothing was taken."
		v.Facts = append(v.Facts, timeFact(is.CreatedAt.Time))
		again()
	default:
		v.notKnown(is)
		v.Facts[1].Name = "From"
		v.Facts = append(v.Facts, fact{Name: "Payment", ID: is.ID})
		v.Actions = []action{{Label: "Check now", URL: address}}
		v.Note = "We keep asking. Look at this page again later."
		if about.Texts {
			v.Note = "We keep asking, and an SMS comes when it is paid. You can close this page."
		}
	}
	v.Title = v.Heading + " · " + m.Name
	return v
}

// notKnown says that it is not known yet whether the payer has paid.
func (v *outcomeView) notKnown(is *payment.Payment) {
	v.Icon, v.Heading = clockIcon, upperFirst(networkName(is.Provider))+" has not answered yet"
	v.Before, v.Text = "Do not pay again.", "If you approved on your phone, the payment arrives. If not, nothing is taken."
}

// undecidedPage stands in place of a form while a payment of those that of selects has no outcome. It is
// nil if there is none. A payer who has not approved it gets the form by a second step. Behind the secret
// in its address, the page leads to the payment. That of a QR code is public, and shows nothing of the payer.
func undecidedPage(r *request, payments *payment.Service, caller api.Caller, of payment.ListParams, m *merchantView) (*response, error) {
	if r.URL.Query().Get("again") == "1" {
		return nil, nil
	}
	unknown, err := payments.Undecided(r.Context(), caller, of)
	if err != nil || unknown == nil {
		return nil, err
	}
	v := outcomeView{
		pageView: pageView{Test: !unknown.Livemode, Merchant: m}, Questions: true,
		Facts:   []fact{{Name: "Amount", Money: unknown.Amount}},
		Actions: []action{{Label: "I did not approve it", URL: r.id() + "?again=1"}},
	}
	if of.QRCode == "" {
		address, err := paymentAddress(r, payments, caller, unknown)
		if err != nil {
			return nil, err
		}
		v.Facts = append(v.Facts, fact{Name: "Payment", ID: unknown.ID})
		v.Actions = append([]action{{Label: "Check the payment", URL: address, Main: true}}, v.Actions...)
	}
	v.notKnown(unknown)
	v.Title = v.Heading + " · " + m.Name
	return renderPage(http.StatusOK, "outcome", v)
}

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
			if wrong = err == nil && is.NextAction != nil && is.NextAction.Type == payment.EnterCode; wrong {
				location += "?code=wrong"
			}
			return wrong, err
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
