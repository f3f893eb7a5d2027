package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
)

// checkoutPage is the public page of a checkout session, behind the secret in its address.
type checkoutPage struct{ *hostedPages }

func (p *checkoutPage) routes() []route {
	return pageRoutes(
		problemPages("There is nothing to pay here. Check the address, or go back to the shop and order again."),
		route{method: http.MethodGet, pattern: "/checkout/{id}", handle: p.show},
		route{method: http.MethodPost, pattern: "/checkout/{id}", handle: p.pay},
		route{method: http.MethodGet, pattern: "/checkout/{id}/logo", handle: logoOf(p.Accounts, p.open, func(h *checkout.Hosted) string { return h.Merchant.ID })},
	)
}

// checkoutView is what the template of an open session sees.
type checkoutView struct {
	pageView
	// Action is the address of the page, and Back that of the merchant's website; "" for none.
	Action, Back string
	Total        int64
	Lines        []invoice.ShownLine
	Sums         []invoice.Sum
	Email        string
	Form         waysView
	// Subscription says what is charged later on; "" unless the session begins a subscription. AskName
	// asks for the name of a new customer, which is Name. Begin is the button's verb.
	Subscription, Name, Begin string
	AskName                   bool
	// Waiting is the address of the page of a payment that holds the session; "" for none. Until is the
	// end of its hold, and UntilDatetime the same for programs.
	Waiting, Until, UntilDatetime string
}

// open finds the session. Each page has a limit of its own, so that payers with one address do not slow
// each other. Missing pages share one.
func (p *checkoutPage) open(r *request) (*checkout.Hosted, error) {
	h, err := p.Checkout.Hosted(r.Context(), r.id())
	return h, p.checkPageRate(r, err)
}

func (p *checkoutPage) show(r *request) (any, error) {
	h, err := p.open(r)
	if err != nil {
		return nil, err
	}
	if h.Confirming != nil && h.Refusal == nil && r.URL.Query().Get("another") == "" {
		return askCode(http.StatusOK, h, r.id(), "", "")
	}
	payable := h.Refusal == nil || h.Refusal.Code == api.CouponNotRedeemable
	if payable && h.Attempt != "" {
		m := newMerchantView(&h.Merchant, r.id()+"/logo", look.Text(h.Session.Reference))
		page, err := undecidedPage(r, p.Payments, h.Caller, payment.ListParams{CheckoutSession: h.Session.ID}, m)
		if err != nil || page != nil {
			return page, err
		}
	}
	form := r.emptyForm()
	if number := h.Session.Phone; number != nil {
		form.Phone = phone.National(*number)
	}
	return p.render(http.StatusOK, r, h, form, h.Email, h.Name)
}

// render shows the form of a session that can be paid, the payment that holds one, or why one cannot be
// paid.
func (p *checkoutPage) render(status int, r *request, h *checkout.Hosted, form waysView, email, name string) (*response, error) {
	is := &h.Session
	m := newMerchantView(&h.Merchant, r.id()+"/logo", look.Text(is.Reference))
	held := h.Refusal != nil && h.Refusal.Code == api.PaymentInProgress
	if h.Refusal != nil && !held {
		v := endedSessionView(h, m, r.id())
		v.Alert = status != http.StatusOK
		if is.Payment != nil {
			paid, err := p.Payments.Get(r.Context(), h.Caller, *is.Payment)
			if err != nil {
				return nil, err
			}
			v.Text = givenBack(paid)
		}
		answer, err := renderPage(status, "outcome", v)
		if err == nil && justCompleted(h, followSlowAfter) {
			answer.setHeader("Refresh", fmt.Sprintf("%d; url=%s", followSeconds, is.Destination()))
		}
		return answer, err
	}
	form.offerNetworks(p.Payments.Networks(is.Livemode))
	form.Due = is.Total
	err := p.showFirst(r, h.Caller, &form, payment.ListParams{CheckoutSession: is.ID})
	if err != nil {
		return nil, err
	}
	v := checkoutView{
		pageView: pageView{Title: "Pay " + m.Name, Test: !is.Livemode, Merchant: m},
		Action:   r.id(), Back: look.Text(is.CancelURL), Total: is.Total, Lines: invoice.ShownLines(is.Lines.Data), Sums: h.Sums, Email: email, Form: form,
	}
	if h.Plan != nil {
		v.subscribe(h)
		v.AskName, v.Name = is.Customer == nil, name
	}
	if held {
		token, err := p.Payments.PageToken(r.Context(), h.Caller, h.Attempt)
		if err != nil {
			return nil, err
		}
		v.Waiting = "../payment/" + token
		v.Until, v.UntilDatetime = look.Clock(h.HeldUntil, h.Now), h.HeldUntil.UTC().Format(time.RFC3339)
	}
	answer, err := renderPage(status, "checkout", v)
	if err == nil { // the payer is sent on after the form; browsers block any other address
		answer.setHeader("Content-Security-Policy", pagePolicy("'self' "+is.Origin()))
	}
	return answer, err
}

// subscribe says what begins, and what is charged later on.
func (v *checkoutView) subscribe(h *checkout.Hosted) {
	trial, coupon := h.Plan.TrialPeriodDays, h.Coupon
	inTrial := trial != nil && *trial > 0
	free := h.Session.Total == 0 && !inTrial
	if free && coupon != nil && coupon.Duration == catalog.Once {
		coupon = nil // it has made the first payment free
	}
	price := priceText(h.Plan, *h.Session.Quantity, coupon)
	v.Title = "Subscribe at " + v.Merchant.Name
	switch {
	case inTrial && *trial == 1:
		v.Subscription, v.Begin = "Free for a day, then "+price+".", "Start the free trial"
	case inTrial:
		v.Subscription, v.Begin = fmt.Sprintf("Free for %d days, then %s.", *trial, price), "Start the free trial"
	case free:
		v.Subscription, v.Begin = "Nothing is due now, later "+price+".", "Subscribe"
	default:
		v.Subscription = upperFirst(price) + ". This is the first payment."
	}
	if h.TrialUsed {
		v.Subscription += " The phone that was entered last has had its free trial."
	}
}

// priceText says what each period costs. The coupon may be nil.
func priceText(p *catalog.Plan, quantity int64, coupon *catalog.Coupon) string {
	whole, less, every := p.Amount*quantity, p.Amount*quantity, everyText(p.Interval, p.IntervalCount)
	var duration catalog.Duration
	if coupon != nil {
		less -= coupon.Discount(whole)
		duration = coupon.Duration
	}
	text := look.Money(less) + " " + every
	switch duration {
	case catalog.Once:
		text = look.Money(whole) + " " + every + ", the first time " + look.Money(less)
	case catalog.Repeating:
		first := "month"
		if n := *coupon.DurationInMonths; n > 1 {
			first = fmt.Sprintf("%d months", n)
		}
		text += " in the first " + first + ", and " + look.Money(whole) + " after that"
	}
	if p.Taxable != nil && *p.Taxable {
		text += ", and tax"
	}
	return text
}

// endedSessionView says how a session has ended, or why it cannot be paid.
func endedSessionView(h *checkout.Hosted, m *merchantView, address string) outcomeView {
	is := &h.Session
	v := outcomeView{pageView: pageView{Test: !is.Livemode, Merchant: m}, Questions: true}
	back := action{Label: "Go back to " + m.Name, URL: look.Text(is.CancelURL), Main: true}
	again := "go back to " + m.Name + " and order again."
	switch {
	case is.Status == checkout.Complete:
		v.Icon, v.Heading, v.Amount, v.Note = checkIcon, "Paid", is.Total, "You can close this page."
		if is.Payment == nil {
			v.Heading, v.Text = "Order complete", "There was nothing to pay."
			if is.Subscription != nil {
				v.Heading, v.Text = "Subscribed", "Nothing was taken now."
			}
		} else {
			v.Facts = append(v.Facts, fact{Name: "Payment", ID: *is.Payment})
		}
		v.Facts = append([]fact{timeFact(time.Unix(*is.CompletedAt, 0))}, v.Facts...)
		back.Label, back.URL = "Continue to "+m.Name, is.Destination()
		if justCompleted(h, followSlowAfter) {
			v.Note = "This page takes you back to " + m.Name + " by itself."
		}
	case h.Refusal.Code == api.CouponNotRedeemable:
		v.Icon, v.Heading, v.Before = stopIcon, "The coupon cannot be used now", "Nothing was taken."
		v.Text = "It is over, or somebody else is paying with it at the moment. Try again in a few minutes, or " + again
		v.Actions = []action{{Label: "Try again", URL: address, Main: true}}
		back.Main = false
	default:
		v.Icon, v.Heading, v.Text = clockIcon, "This checkout has expired", "It can no longer be paid. To pay, "+again
	}
	if back.URL != "" {
		v.Actions = append(v.Actions, back)
	}
	v.Title = v.Heading + " · " + m.Name
	return v
}

// pay takes the form.
func (p *checkoutPage) pay(r *request) (any, error) {
	h, err := p.Checkout.Hosted(r.Context(), r.id())
	if err := p.checkRate(r, err); err != nil { // forms count by address: each has a PIN
		return nil, err
	}
	form, err := r.payForm(h.Caller)
	if err != nil {
		return nil, err
	}
	if form.values.Get("action") == "confirm" {
		return p.confirm(r, h, strings.TrimSpace(form.values.Get("code")))
	}
	email, name := h.Email, h.Name
	var params checkout.PayParams
	if form.values.Has("email") {
		email = strings.TrimSpace(form.values.Get("email"))
		params.Email = &email
	}
	subscribes := h.Plan != nil
	if subscribes {
		form.Wallets = false
		asked := h.Session.Customer == nil || h.Session.NewCustomer != "" // also of a form that is posted again
		if asked && form.values.Has("name") {
			name = strings.TrimSpace(form.values.Get("name"))
			params.Name = &name
		}
	}
	pay := func(m means) error {
		params.MobileMoney, params.Wallet, params.PIN, params.From = m.MobileMoney, m.Wallet, m.PIN, m.From
		return p.Checkout.PayHosted(r.Context(), form.caller, h.Session.ID, params)
	}
	switch {
	case h.Session.Total > 0:
		err = p.payWith(r, form, pay)
	case !subscribes:
		err = pay(means{})
	case form.Phone == "":
		err = api.Missing("phone_number")
	default: // the phone gets a code, and is asked to pay when something is due
		err = p.payByPhone(r, form.caller.Live, func(from string) error { return pay(form.phone(from)) })
	}
	if err != nil {
		show := func(e *api.Error) (*response, error) {
			// What became of the session meanwhile is shown with it.
			h, err := p.Checkout.HostedByID(r.Context(), h.Caller, h.Session.ID)
			if err != nil {
				return nil, err
			}
			return p.render(statusOf(e), r, h, form.waysView, email, name)
		}
		if e := asAPIError(err); subscribes && e != nil && (e.Code == api.RateLimited || e.Code == api.OTPAttemptsExceeded) {
			return form.refusedCode(e, show)
		}
		return form.refused(err, show)
	}
	shown := h
	if h, err = p.Checkout.HostedByID(r.Context(), h.Caller, h.Session.ID); err != nil {
		return nil, err
	}
	if h.TrialUsed == shown.TrialUsed || h.Session.Status != checkout.Open {
		return p.next(r, h)
	}
	form.Token, form.Problem, form.Field = newFormToken(), trialProblem(h), "phone_number"
	form.findNetwork()
	return p.render(http.StatusOK, r, h, form.waysView, email, name)
}

// pressAgain is after how long a form of a complete session comes from a payer who is stuck on it.
const pressAgain = 5 * time.Second

// justCompleted reports whether the session was completed less than d ago.
func justCompleted(h *checkout.Hosted, d time.Duration) bool {
	return h.Session.CompletedAt != nil && h.Now.Sub(time.Unix(*h.Session.CompletedAt, 0)) < d
}

// next sends the payer to the page that follows the payment, or, once the session is complete, to the
// merchant's website.
//
// A browser applies the policy of the form to each redirect that follows it. When the website redirects
// to another origin, the browser stops, and the payer stays on the form. The payer's next press then leads
// to the session's own page, which goes on by a Refresh header, to which the policy does not apply.
func (p *checkoutPage) next(r *request, h *checkout.Hosted) (*response, error) {
	if h.Session.Status == checkout.Complete && !justCompleted(h, pressAgain) {
		return seeOther(r.id()), nil
	}
	if h.Session.Status == checkout.Complete {
		answer := seeOther(h.Session.Destination())
		answer.setHeader("Referrer-Policy", "no-referrer")
		return answer, nil
	}
	if h.Confirming != nil || h.Attempt == "" { // a code was sent, or the form asks again
		return seeOther(r.id()), nil
	}
	token, err := p.Payments.PageToken(r.Context(), h.Caller, h.Attempt)
	if err != nil {
		return nil, err
	}
	return seeOther("../payment/" + token), nil
}

// trialProblem says that the price has changed with the phone that was entered.
func trialProblem(h *checkout.Hosted) string {
	switch {
	case !h.TrialUsed:
		return "This phone has its free trial still to come, so nothing is due now. Press again to start it."
	case h.Session.Total == 0:
		return "This phone has had its free trial of " + h.Plan.Name + " already. Nothing is due now all the same. Press again to subscribe without a trial."
	}
	return "This phone has had its free trial of " + h.Plan.Name + " already. The first payment is due now: press again to pay " + look.Money(h.Session.Total) + "."
}

// askCode asks for the code that was sent to the phone of a session. problem is what was wrong with one, and
// field the parameter that it is about.
func askCode(status int, h *checkout.Hosted, token, problem, field string) (*response, error) {
	c := h.Confirming
	v := subscriptionPhoneView{
		pageView: pageView{Title: "Enter the code", Test: !h.Session.Livemode, Merchant: newMerchantView(&h.Merchant, token+"/logo", h.Plan.Name)},
		Action:   token, Sent: maskedPhone(&c.PhoneNumber), Until: c.ExpiresAt.UTC().Format("15:04"), UntilDatetime: c.ExpiresAt.UTC().Format(time.RFC3339),
		Agree: "Confirm and subscribe", Problem: problem, Field: field,
	}
	answer, err := renderPage(status, "subscription-phone", v)
	if err == nil { // the payer is sent on after the form
		answer.setHeader("Content-Security-Policy", pagePolicy("'self' "+h.Session.Origin()))
	}
	return answer, err
}

// confirm takes the code of the phone that is to be charged.
func (p *checkoutPage) confirm(r *request, h *checkout.Hosted, code string) (any, error) {
	err := p.confirmWithCode(r, func() (wrong bool, err error) {
		_, err = p.Checkout.ConfirmPhone(r.Context(), r.onBehalf(h.Caller), h.Session.ID, code)
		return api.CodeOf(err) == api.OTPInvalid, err
	})
	e := asAPIError(err)
	if err != nil && e == nil {
		return nil, err
	}
	if h, err = p.Checkout.HostedByID(r.Context(), h.Caller, h.Session.ID); err != nil {
		return nil, err
	}
	switch {
	case h.Session.Status == checkout.Complete: // also by a form that is posted twice
		return p.next(r, h)
	case e == nil:
		form := r.emptyForm()
		form.Problem, form.Field = trialProblem(h), "phone_number"
		return p.render(http.StatusOK, r, h, form, h.Email, h.Name)
	}
	problem, field := phoneChangeProblem(e, "", false)
	if h.Confirming == nil || h.Refusal != nil { // there is no code to enter any more
		form := r.emptyForm()
		form.Problem = problem
		return p.render(statusOf(e), r, h, form, h.Email, h.Name)
	}
	answer, err := askCode(statusOf(e), h, r.id(), problem, field)
	if err == nil && answer.status == http.StatusTooManyRequests {
		answer.setHeader("Retry-After", strconv.FormatInt(retryAfter(e, answer.status), 10))
	}
	return answer, err
}
