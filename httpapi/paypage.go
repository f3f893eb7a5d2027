package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
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

// qrView is what the template of the page sees.
type qrView struct {
	pageView
	// Action is the address to which the form is posted.
	Action string
	Form   waysView
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
	// The page of a payment that failed leads here with the amount and the other way to pay.
	query := r.URL.Query()
	return p.form(http.StatusOK, offer, waysView{
		Token: newFormToken(), Amount: query.Get("amount"), Wallets: query.Get("method") == methodWallet,
	})
}

// form renders the page of a code that is open, or says why it cannot be paid.
func (p *payPage) form(status int, offer *qrcode.Hosted, form waysView) (*response, error) {
	code := &offer.Code
	m := newMerchantView(&offer.Merchant, code.ID+"/logo", code.Name, code.Description)
	if offer.Refusal != nil {
		return renderPage(status, "outcome", closedView(offer, m))
	}
	if form.Phones = p.payments.TakesPhones(code.Livemode); !form.Phones {
		form.Wallets = true
	}
	if form.AskAmount = code.Amount == nil; !form.AskAmount {
		form.Due = *code.Amount
	}
	return renderPage(status, "qr", qrView{
		pageView: pageView{Title: "Pay " + m.Name, Test: !code.Livemode, Merchant: m}, Action: code.ID, Form: form,
	})
}

// closedView says why a code cannot be paid, and what to ask the merchant for.
func closedView(offer *qrcode.Hosted, m *merchantView) outcomeView {
	v := outcomeView{
		pageView: pageView{Title: m.Name, Test: !offer.Code.Livemode, Merchant: m}, Questions: true, Icon: stopIcon,
		Heading: "This code cannot be paid", Text: offer.Refusal.Message,
	}
	switch offer.Refusal.Code {
	case api.QRLimitReached:
		v.Icon, v.Heading = checkIcon, "This code has been used"
		v.Text = "It was paid as often as it may be. If you still have something to pay, ask " + m.Name + " for a new code."
	case api.QRExpired:
		v.Icon, v.Heading = clockIcon, "This code has expired"
		v.Text = "Nothing was taken. To pay, ask " + m.Name + " for a new code."
	case api.QRInactive:
		v.Heading = "This code was withdrawn"
		v.Text = "It is not active, and nothing was taken. To pay, ask " + m.Name + " for the code that is in use now."
	}
	return v
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
	v := newWaysView(form)
	caller := offer.Caller
	caller.RequestID, caller.IdempotencyKey = r.caller.RequestID, "page-"+v.Token
	var params qrcode.PayParams
	if offer.Code.Amount == nil {
		if params.Amount, err = look.Amount("amount", v.Amount); err != nil {
			return p.formError(offer, v, err)
		}
	}
	location := ""
	pay := func() error {
		paid, err := p.codes.Pay(r.Context(), caller, offer.Code.ID, params)
		switch {
		case err != nil:
			return err
		case v.Wallets:
			location = offer.Code.ID + "/receipt/" + paid.ID
			return nil
		}
		location, err = paymentAddress(r, p.payments, offer.Caller, paid)
		return err
	}
	if v.Wallets {
		params.Wallet, params.PIN = look.Wallet(v.Wallet), form.Get("pin")
		if params.Wallet == (account.WalletRef{}) {
			return p.formError(offer, v, api.Missing("wallet"))
		}
		err = p.payWithPIN(r, func(from string) error {
			params.From = from
			return pay()
		})
	} else {
		if v.Phone == "" {
			return p.formError(offer, v, api.Missing("phone_number"))
		}
		params.MobileMoney = payment.MobileMoney{PhoneNumber: v.Phone, Provider: v.Network}
		err = p.payByPhone(r, pay)
	}
	if api.CodeOf(err) == api.RateLimited {
		return nil, err
	}
	if err != nil {
		return p.formError(offer, v, err)
	}
	return seeOther(location), nil
}

// formError shows the form again with what went wrong. What is no refusal is left
// to the router.
func (p *payPage) formError(offer *qrcode.Hosted, v waysView, err error) (any, error) {
	e := asAPIError(err)
	if e == nil {
		return nil, err
	}
	v.refuse(e)
	switch e.Code {
	case api.QRInactive, api.QRExpired, api.QRLimitReached:
		offer.Refusal = e
	}
	answer, err := p.form(statusOf(e), offer, v)
	return withPromptWait(answer, err, e)
}

// withPromptWait says with a form when the phone may be asked again. The form of a locked PIN
// says no time, because it would tell who has a wallet.
func withPromptWait(answer *response, err error, e *api.Error) (any, error) {
	if err != nil {
		return nil, err
	}
	if e.Code == api.TooManyPrompts {
		answer.setHeader("Retry-After", strconv.FormatInt(retryAfter(e, answer.status), 10))
	}
	return answer, nil
}

// refuse says in the form what went wrong.
func (v *waysView) refuse(e *api.Error) {
	v.Problem, v.Field = pageProblem(e)
	if e.Code == api.InvalidPhoneNumber && !v.Wallets {
		v.Problem, v.Field = phoneProblem(v.Phone)
	}
	v.findNetwork()
	if e.Code == api.IdempotencyKeyReused {
		v.Token = newFormToken()
	}
}

// pageProblem says what went wrong as the payer reads it, and the input it is
// about.
func pageProblem(e *api.Error) (problem, field string) {
	switch e.Code {
	case api.ParameterMissing:
		text, known := map[string]string{
			"wallet": "Enter your wallet number.", "pin": "Enter your PIN.", "amount": "Enter the amount.",
			"phone_number": "Enter your mobile money number, like 024\u00a0123\u00a04567.", "code": "Enter the code that you got.",
		}[e.Param]
		if known {
			return text, e.Param
		}
	case api.AmountRequired:
		return "Enter the amount.", e.Param
	case api.PINInvalid, api.PINLocked:
		// One text for both, and for a number without a wallet: a stranger learns nothing
		// about who has one.
		return "The PIN is wrong or locked. Check the number and the PIN. After too many wrong entries a PIN is locked for a while; its holder is told by SMS.", "pin"
	case api.InvalidPhoneNumber, api.AccountNotFound:
		return "There is no open wallet with this number. Check it and try again.", "wallet"
	case api.InsufficientBalance:
		return "There is not enough money in your wallet for this payment.", "wallet"
	case api.IdempotencyKeyReused:
		return "This form was used for another payment already. Check your messages before you pay again.", ""
	case api.PaymentInProgress, api.InvoicePaymentInProgress:
		return "Another payment of this is waiting for its approval. Finish it on the phone, or try again in ten minutes.", ""
	case api.TooManyPrompts:
		return "This phone was asked to approve payments too often. Try again later, or use another number or a wallet.", "phone_number"
	case api.OTPAttemptsExceeded:
		return "Too many codes were tried. Use another number or a wallet.", ""
	case api.PaymentNotCancellable:
		return "The request is on the phone already. Decline it there, or leave it: it runs out by itself.", ""
	case api.ParameterInvalid:
		switch e.Param {
		case "provider":
			return "Choose one of these networks.", e.Param
		case "customer_email":
			return "This is not an e-mail address. Write it like ama@example.com, or leave it empty.", "email"
		}
	}
	return e.Message, shownField(e.Param)
}

// phoneProblem says what is wrong with a mobile money number, and the input it is about.
func phoneProblem(entered string) (problem, field string) {
	if _, err := phone.Parse(entered); err == nil {
		return "The number does not tell its network. Choose the network, or check the number.", "provider"
	}
	digits := 0
	for _, r := range entered {
		if r >= '0' && r <= '9' {
			digits++
		}
	}
	const example = "A mobile number has ten digits, like 024\u00a0123\u00a04567."
	switch {
	case digits < 10:
		return "This number is too short. " + example, "phone_number"
	case digits > 10 && !strings.Contains(entered, "233"):
		return "This number is too long. " + example, "phone_number"
	}
	return "This is not a mobile number of Ghana. " + example, "phone_number"
}

// shownField is a parameter that has a field on the form, or "".
func shownField(param string) string {
	switch param {
	case "amount", "wallet", "pin", "phone_number", "provider":
		return param
	case "customer_email":
		return "email"
	case "customer_name":
		return "name"
	}
	return ""
}

// receipt is the page after a payment from a wallet. One from a phone has a page of its own, behind a
// secret.
func (p *payPage) receipt(r *request) (any, error) {
	offer, err := p.codes.Hosted(r.Context(), r.id())
	if err != nil {
		return nil, err
	}
	paid, err := p.payments.Get(r.Context(), offer.Caller, r.PathValue("payment"))
	if err != nil {
		return nil, err
	}
	if paid.QRCode == nil || *paid.QRCode != offer.Code.ID || paid.PaymentMethod != payment.ServiceWallet {
		return nil, api.NoSuch("payment")
	}
	m := newMerchantView(&offer.Merchant, "../logo", offer.Merchant.Address)
	return renderPage(http.StatusOK, "outcome", receiptView(m, paid, maskedPhone(paid.Phone), offer.Code.Name))
}

// receiptView is the receipt of a completed payment.
func receiptView(m *merchantView, paid *payment.Payment, number, paidFor string) outcomeView {
	v := outcomeView{
		pageView: pageView{Title: "Paid to " + m.Name, Test: !paid.Livemode, Merchant: m},
		Icon:     checkIcon, Heading: "Paid", Amount: paid.Amount, Note: "A receipt was sent by SMS. You can close this page.",
	}
	at := paid.CreatedAt.Time
	if paid.CompletedAt != nil {
		at = paid.CompletedAt.Time
	}
	v.Facts = []fact{paidWith("Paid with", paid, number), timeFact(at)}
	if paidFor != "" {
		v.Facts = append(v.Facts, fact{Name: "For", Text: paidFor})
	}
	if paid.Reference != "" && paid.Reference != paidFor {
		v.Facts = append(v.Facts, fact{Name: "Reference", Text: paid.Reference})
	}
	v.Facts = append(v.Facts, fact{Name: "Payment", ID: paid.ID})
	if paid.AmountRefunded > 0 {
		v.Text = "GH₵" + look.NoBreak + money.Text(paid.AmountRefunded) + " of it was given back, or is on its way back."
	}
	return v
}

func (p *payPage) logo(r *request) (any, error) {
	offer, err := p.codes.Hosted(r.Context(), r.id())
	if err != nil {
		return nil, err
	}
	return merchantLogo(r, p.accounts, offer.Merchant.ID)
}

// errorPage is the page for everything that the form cannot show.
func (p *payPage) errorPage(_ *request, status int, e *api.Error) (any, error) {
	if status == http.StatusNotFound {
		return problemPage(status, "There is nothing to pay here. The QR code may have been withdrawn; ask for a new one.")
	}
	return problemPage(status, e.Message)
}
