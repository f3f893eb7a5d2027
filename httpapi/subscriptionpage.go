package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/subscription"
)

// subscriptionPage is the customer's page of a subscription, behind the secret in its address.
type subscriptionPage struct{ *hostedPages }

func (p *subscriptionPage) routes() []route {
	return pageRoutes(
		problemPages("There is no subscription here. Check the address, or ask who sent it to you."),
		route{method: http.MethodGet, pattern: "/subscription/{id}", handle: p.show},
		route{method: http.MethodGet, pattern: "/subscription/{id}/phone", handle: p.showPhone},
		route{method: http.MethodPost, pattern: "/subscription/{id}/phone", handle: p.changePhone},
		route{method: http.MethodGet, pattern: "/subscription/{id}/cancel", handle: p.showCancel},
		route{method: http.MethodPost, pattern: "/subscription/{id}/cancel", handle: p.cancel},
		route{method: http.MethodGet, pattern: "/subscription/{id}/logo", handle: logoOf(p.Accounts, p.open, func(h *subscription.Hosted) string { return h.Merchant.ID })},
	)
}

// open finds the subscription, and bounds how often one client address guesses at secrets.
func (p *subscriptionPage) open(r *request) (*subscription.Hosted, error) {
	h, err := p.Subscriptions.Hosted(r.Context(), r.id())
	return h, p.checkPageRate(r, err)
}

// subscriptionView is what the template of the page sees.
type subscriptionView struct {
	pageView
	// Action is the address of the page, relative to itself.
	Action string
	// Done says what the form before has done; "" for nothing.
	Done string
	// State is the badge.
	State, StateClass string
	// Plan is its name with the quantity, Price what a period costs, and Every how long it is.
	Plan  string
	Price int64
	Every string
	// Next says when the next charge is, and Explain what else is to be known.
	Next, Explain string
	// Pay is the invoice to pay first; nil for none.
	Pay *payLink
	// Phone is the number that is charged, masked; "" for none. Changeable offers another.
	Phone                   string
	Changeable, Cancellable bool
	Credit                  int64
	Facts                   []fact
	Invoices                []invoiceRow
	// NoInvoices stands in place of the table.
	NoInvoices string
	// Newer and Older are the addresses of other pages of invoices; "" for none.
	Newer, Older string
}

// payLink leads to an invoice that can be paid.
type payLink struct {
	URL    string
	Amount int64
}

// invoiceRow is a row of the table of invoices.
type invoiceRow struct {
	Date, Number, URL string
	State, StateClass string
	Amount            int64
	Payable           bool
}

// maxShownInvoices is how many invoices the page shows at once.
const maxShownInvoices = 12

// done are the sentences for what a form has done, by the parameter of the address to which it leads.
var done = map[string]string{
	"phone":  "The phone was changed. From now on charges ask the new one.",
	"cancel": "The subscription was cancelled.",
}

// doneText says what the form before has done; "" for nothing.
func doneText(h *subscription.Hosted, what string) string {
	if what == "cancel" && h.Subscription.CancelAtPeriodEnd {
		return "The subscription will end on " + unixDay(h.Subscription.CurrentPeriodEnd) + "."
	}
	return done[what]
}

func (p *subscriptionPage) show(r *request) (any, error) {
	h, err := p.open(r)
	if err != nil {
		return nil, err
	}
	after := r.URL.Query().Get("after")
	list, err := p.Invoices.List(r.Context(), h.Caller, invoice.ListParams{
		Subscription: h.Subscription.ID, Page: api.Page{Limit: maxShownInvoices, StartingAfter: after},
	})
	if err != nil {
		return nil, err
	}
	v := newSubscriptionView(h, r.id())
	v.Done = doneText(h, r.URL.Query().Get("done"))
	v.takeInvoices(list, after)
	if v.Pay, err = p.firstToPay(r, h, list); err != nil {
		return nil, err
	}
	if v.Pay != nil && h.Subscription.Status == subscription.Cancelled {
		v.Explain = strings.Replace(v.Explain, nothingMore, "An invoice is still to pay. After it nothing more is charged.", 1)
	}
	return renderPage(http.StatusOK, "subscription", v)
}

// firstToPay returns the oldest open invoice; nil for none. Of a cancelled subscription it is the oldest of
// those that the page shows.
func (p *subscriptionPage) firstToPay(r *request, h *subscription.Hosted, shown *api.List[invoice.Invoice]) (*payLink, error) {
	if h.OldestUnpaid != "" {
		is, err := p.Invoices.Get(r.Context(), h.Caller, h.OldestUnpaid)
		if err != nil || is.Status != invoice.Open || is.AmountDue == 0 {
			return nil, err
		}
		return &payLink{invoiceAddress(is), is.AmountDue}, nil
	}
	for i := range slices.Backward(shown.Data) {
		if is := &shown.Data[i]; is.Status == invoice.Open && is.AmountDue > 0 {
			return &payLink{invoiceAddress(is), is.AmountDue}, nil
		}
	}
	return nil, nil
}

// takeInvoices fills the table. after is the invoice before the first; "" at the newest.
func (v *subscriptionView) takeInvoices(list *api.List[invoice.Invoice], after string) {
	for i := range list.Data {
		is := &list.Data[i]
		row := invoiceRow{
			Date: is.InvoiceDate.Format(look.LongDay), Number: is.Number, URL: invoiceAddress(is), Amount: is.Total,
			Payable: is.Status == invoice.Open && is.AmountDue > 0,
		}
		switch is.Status {
		case invoice.Paid:
			row.State, row.StateClass = "Paid", "good"
		case invoice.Open:
			row.State, row.StateClass = "To pay", "wait"
		case invoice.Void:
			row.State, row.StateClass = "Withdrawn", "neutral"
		default:
			row.State, row.StateClass = "Not paid", "bad"
		}
		v.Invoices = append(v.Invoices, row)
	}
	if after != "" {
		v.Newer = v.Action
	}
	if list.HasMore {
		v.Older = v.Action + "?after=" + url.QueryEscape(list.Data[len(list.Data)-1].ID)
	}
}

// invoiceAddress is the address of the page of an invoice, relative to that of a subscription or a payment.
func invoiceAddress(is *invoice.Invoice) string {
	return "../invoice/" + is.HostedURL[strings.LastIndexByte(is.HostedURL, '/')+1:]
}

// finalText says what the final invoice will be; "" without one.
func finalText(h *subscription.Hosted) string {
	if h.Final == 0 {
		return ""
	}
	return "What was used since a change, " + look.Money(h.Final) + ", is invoiced then. "
}

const nothingMore = "Nothing more is charged."

func newSubscriptionView(h *subscription.Hosted, token string) *subscriptionView {
	is := &h.Subscription
	v := &subscriptionView{
		pageView: pageView{
			Title: h.PlanName + " · " + h.Merchant.Name, Test: !is.Livemode,
			Merchant: newMerchantView(&h.Merchant, token+"/logo", "Your subscription"),
		},
		Action: token, Plan: planText(h), Price: is.Amount * is.Quantity, Every: everyText(h.Interval, h.IntervalCount), Credit: is.CreditBalance,
		Cancellable: is.Status != subscription.Cancelled && !is.CancelAtPeriodEnd,
		NoInvoices:  "The first invoice will stand here.",
	}
	end := unixDay(is.CurrentPeriodEnd)
	switch {
	case is.Status == subscription.Cancelled:
		v.State, v.StateClass, v.Explain = "Cancelled", "neutral", nothingMore
		if is.CancelledAt != nil {
			v.Explain = "It ended on " + unixDay(*is.CancelledAt) + ". " + v.Explain
		}
		v.NoInvoices = "There were no invoices."
	case is.Status == subscription.Paused:
		v.State, v.StateClass, v.Explain = "Paused", "neutral", "Nothing is charged until "+h.Merchant.Name+" resumes it."
	case is.CancelAtPeriodEnd:
		v.State, v.StateClass, v.Explain = "Ends soon", "wait", "It ends on "+end+". "+finalText(h)+"After that nothing more is charged."
	case is.Status == subscription.PastDue:
		v.State, v.StateClass, v.Explain = "Payment overdue", "bad", "An invoice is not paid yet. Pay it to keep the subscription."
	case is.Status == subscription.Trialing:
		v.State, v.StateClass, v.Explain = "Trial", "info", "The trial is free and ends on "+end+"."
	default:
		v.State, v.StateClass = "Active", "good"
	}
	automatic := is.CollectionMethod == invoice.ChargeAutomatically
	if h.Next != nil {
		order, what := "Next", "invoice"
		if is.Status == subscription.Trialing {
			order = "First"
		}
		if automatic {
			what = "charge"
		}
		v.Next = fmt.Sprintf("%s %s %s", order, what, unixDay(h.Next.At))
		if h.Next.Total != v.Price {
			v.Next += ": " + look.Money(h.Next.Total)
		}
	}
	if automatic && is.Status != subscription.Cancelled {
		v.Phone = "None"
		if is.PhoneNumber != nil {
			v.Phone = maskedPhone(is.PhoneNumber)
		}
		v.Changeable = true
	}
	switch {
	case is.Status == subscription.Cancelled, is.Status == subscription.Paused:
	case is.Status == subscription.Trialing:
		v.Facts = append(v.Facts, fact{Name: "Trial until", Text: end})
	default:
		v.Facts = append(v.Facts, fact{Name: "This period", Text: invoice.Period{Start: is.CurrentPeriodStart, End: is.CurrentPeriodEnd}.String()})
	}
	v.Facts = append(v.Facts, fact{Name: "Since", Text: unixDay(is.Created)})
	return v
}

// planText is the name of the plan, with the quantity.
func planText(h *subscription.Hosted) string {
	if h.Subscription.Quantity == 1 {
		return h.PlanName
	}
	return fmt.Sprintf("%s × %s", h.PlanName, strings.TrimSuffix(money.Text(h.Subscription.Quantity*100), ".00"))
}

// everyText says how often something costs its price.
func everyText(interval catalog.Interval, count int64) string {
	if count == 1 {
		return "every " + string(interval)
	}
	return fmt.Sprintf("every %d %ss", count, interval)
}

func unixDay(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(look.LongDay) }

// subscriptionPhoneView is what the template of the change of the phone sees.
type subscriptionPhoneView struct {
	pageView
	// Action is the address of the form, and Back that of the subscription, relative to the form.
	Action, Back string
	// Phone is the number that is charged now, masked, and Sent that to which a code was sent.
	Phone, Sent string
	// Until is the time until which the code is valid, and UntilDatetime the same for programs.
	Until, UntilDatetime string
	// Entered is the number that was refused.
	Entered string
	// Agree is the verb of the button that confirms the code.
	Agree string
	// Problem is what went wrong, and Field the parameter it is about.
	Problem, Field string
}

func newSubscriptionPhoneView(h *subscription.Hosted, token string, another bool) subscriptionPhoneView {
	v := subscriptionPhoneView{
		pageView: subPageView(h, "Change the charged phone"),
		Action:   "phone", Agree: "Charge this phone", Back: "../" + token, Phone: maskedPhone(h.Subscription.PhoneNumber),
	}
	if c := h.PhoneChange; c != nil && !another {
		v.Title = "Enter the code"
		v.Sent, v.Until, v.UntilDatetime = maskedPhone(&c.PhoneNumber), c.ExpiresAt.UTC().Format("15:04"), c.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return v
}

// subPageView is the head of a page below that of the subscription.
func subPageView(h *subscription.Hosted, title string) pageView {
	return pageView{Title: title, Test: !h.Subscription.Livemode, Merchant: newMerchantView(&h.Merchant, "logo", planText(h))}
}

// alive refuses what cannot be done on the page of a cancelled subscription, which leads to its page.
func alive(r *request, h *subscription.Hosted) *response {
	if h.Subscription.Status == subscription.Cancelled {
		return seeOther("../" + r.id())
	}
	return nil
}

func (p *subscriptionPage) showPhone(r *request) (any, error) {
	h, err := p.open(r)
	if err != nil {
		return nil, err
	}
	if ended := alive(r, h); ended != nil {
		return ended, nil
	}
	return renderPage(http.StatusOK, "subscription-phone", newSubscriptionPhoneView(h, r.id(), r.URL.Query().Get("another") != ""))
}

// changePhone takes the forms of the page: a new number, to which it has a code sent, or the code.
func (p *subscriptionPage) changePhone(r *request) (any, error) {
	h, err := p.open(r)
	if err != nil {
		return nil, err
	}
	form, err := r.form()
	if err != nil {
		return nil, err
	}
	if ended := alive(r, h); ended != nil {
		return ended, nil
	}
	caller := r.onBehalf(h.Caller)
	sends, entered := form.Get("action") == "send", strings.TrimSpace(form.Get("phone"))
	if sends {
		err = p.payByPhone(r, caller.Live, func(from string) error {
			to := subscription.StartPhoneChangeParams{PhoneNumber: entered, From: from}
			_, err := p.Subscriptions.StartPhoneChange(r.Context(), caller, h.Subscription.ID, to)
			return err
		})
		if err == nil {
			return seeOther("phone"), nil
		}
	} else {
		err = p.confirmWithCode(r, func() (wrong bool, err error) {
			_, err = p.Subscriptions.ConfirmPhone(r.Context(), caller, h.Subscription.ID, strings.TrimSpace(form.Get("code")))
			return api.CodeOf(err) == api.OTPInvalid, err
		})
		if err == nil {
			return seeOther("../" + r.id() + "?done=phone"), nil
		}
	}
	e := asAPIError(err)
	if e == nil {
		return nil, err
	}
	if e.Code == api.OTPInvalid { // a form that is sent twice has changed the phone the first time
		if h, err = p.Subscriptions.Hosted(r.Context(), r.id()); err != nil {
			return nil, err
		}
		if h.PhoneChange == nil {
			return seeOther("../" + r.id()), nil
		}
	}
	v := newSubscriptionPhoneView(h, r.id(), sends)
	v.Entered = entered
	v.Problem, v.Field = phoneChangeProblem(e, entered, sends)
	if v.Sent == "" && v.Field == "code" {
		v.Field = ""
	}
	answer, err := renderPage(statusOf(e), "subscription-phone", v)
	if err == nil && answer.status == http.StatusTooManyRequests {
		answer.setHeader("Retry-After", strconv.FormatInt(retryAfter(e, answer.status), 10))
	}
	return answer, err
}

// phoneChangeProblem says what went wrong as the customer reads it, and the input it is about.
func phoneChangeProblem(e *api.Error, entered string, sends bool) (problem, field string) {
	switch e.Code {
	case api.InvalidPhoneNumber:
		if problem, field = phoneProblem(entered); field == "provider" {
			problem, field = "This number belongs to no mobile money network. Check it, or use another.", "phone_number"
		}
		return problem, field
	case api.OTPInvalid:
		return "This code is wrong. Check it and enter it again, or send another one.", "code"
	case api.OTPExpired:
		return "This code has expired. Send another one.", "code"
	case api.ParameterInvalid:
		return "Enter the six digits of the SMS.", "code"
	case api.OTPAttemptsExceeded:
		if e.RetryAfter > 0 {
			return "Too many wrong codes were entered today. Try again tomorrow.", ""
		}
		return "Too many wrong codes were entered. Send another one.", "code"
	case api.RateLimited:
		if sends {
			return "Too many codes were sent. Wait a while before you send another.", ""
		}
		return "Too many wrong codes were entered from this connection. Try again later.", ""
	}
	return pageProblem(e)
}

// subscriptionCancelView is what the template of the cancellation sees.
type subscriptionCancelView struct {
	pageView
	Action, Back  string
	Plan, Explain string
	// Verb is what the button does.
	Verb    string
	Problem string
}

func newSubscriptionCancelView(h *subscription.Hosted, token string) subscriptionCancelView {
	is := &h.Subscription
	v := subscriptionCancelView{
		pageView: subPageView(h, "Cancel "+h.PlanName), Action: "cancel", Back: "../" + token, Plan: h.PlanName,
	}
	switch end := unixDay(is.CurrentPeriodEnd); is.Status {
	case subscription.Paused:
		v.Explain, v.Verb = "It is paused, and ends at once. "+finalText(h)+nothingMore, "Cancel now"
	case subscription.Trialing:
		v.Explain, v.Verb = "The trial goes on until "+end+", and then it ends. Nothing is charged.", "Cancel on "+end
	default:
		v.Explain, v.Verb = "It goes on until "+end+", the end of the current period. "+finalText(h)+"After that nothing more is charged. Invoices that are not paid yet stay to be paid.", "Cancel on "+end
	}
	return v
}

// endsAlready says that there is nothing to cancel.
func endsAlready(h *subscription.Hosted) bool {
	return h.Subscription.CancelAtPeriodEnd || h.Subscription.Status == subscription.Cancelled
}

func (p *subscriptionPage) showCancel(r *request) (any, error) {
	h, err := p.open(r)
	if err != nil {
		return nil, err
	}
	if endsAlready(h) {
		return seeOther("../" + r.id()), nil
	}
	return renderPage(http.StatusOK, "subscription-cancel", newSubscriptionCancelView(h, r.id()))
}

// cancel ends the subscription with its period, once.
func (p *subscriptionPage) cancel(r *request) (any, error) {
	h, err := p.open(r)
	if err != nil {
		return nil, err
	}
	if _, err := r.form(); err != nil {
		return nil, err
	}
	location := "../" + r.id()
	if endsAlready(h) {
		return seeOther(location), nil
	}
	_, err = p.Subscriptions.Cancel(r.Context(), r.onBehalf(h.Caller), h.Subscription.ID, subscription.CancelParams{AtPeriodEnd: true})
	if err != nil && api.CodeOf(err) != api.SubscriptionCancelled {
		return nil, err
	}
	return seeOther(location + "?done=cancel"), nil
}
