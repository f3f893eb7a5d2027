package httpapi

import (
	"crypto/rand"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/payment"
)

// The ways to pay, as forms name them.
const (
	methodMobile = "mobile"
	methodWallet = "wallet"
)

// waysView is the form with the ways to pay.
type waysView struct {
	// Token makes a form that is posted twice pay once.
	Token string
	// Phones offers mobile money, and Wallets opens the wallet in place of it.
	Phones, Wallets bool
	// AskAmount asks for the amount. Due is the amount to pay otherwise, in pesewas.
	AskAmount bool
	Due       int64
	// Amount, Phone, Network and Wallet are what was entered, shown again after a refusal.
	Amount, Phone, Network, Wallet string
	// Found is Network if the page has found it from the number; "" if the payer has chosen.
	Found string
	// Problem is what went wrong, and Field the parameter it is about.
	Problem, Field string
}

// newWaysView reads what was entered.
func newWaysView(form url.Values) waysView {
	entered := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	v := waysView{
		Token: formToken(form.Get("token")), Wallets: form.Get("method") != methodMobile,
		Amount: entered("amount"), Phone: entered("phone"), Network: entered("network"), Wallet: entered("wallet"),
	}
	if v.Network == form.Get("found") { // from a number in whose place there may be another one now
		v.Network = ""
	}
	return v
}

// emptyForm is the form that a page shows at first. A link may open the wallet.
func (r *request) emptyForm() waysView {
	return waysView{Token: newFormToken(), Wallets: r.URL.Query().Get("method") == methodWallet}
}

// offerPhones offers mobile money, or opens the wallet where there is none.
func (v *waysView) offerPhones(offered bool) {
	v.Phones, v.Wallets = offered, v.Wallets || !offered
}

// findNetwork chooses the network of the number, unless the payer has chosen one.
func (v *waysView) findNetwork() {
	if v.Network != "" {
		return
	}
	if number, err := phone.Parse(v.Phone); err == nil {
		v.Network = phone.Provider(number)
		v.Found = v.Network
	}
}

// payForm is a form with the ways to pay that a payer has posted.
type payForm struct {
	waysView
	values url.Values
	// caller stands for the merchant. Its key makes a form that is posted twice pay once.
	caller api.Caller
}

// payForm reads a posted form. merchant is the caller of the page.
func (r *request) payForm(merchant api.Caller) (*payForm, error) {
	values, err := r.form()
	if err != nil {
		return nil, err
	}
	f := &payForm{waysView: newWaysView(values), values: values, caller: r.onBehalf(merchant)}
	f.caller.IdempotencyKey = "page-" + f.Token
	return f, nil
}

// onBehalf returns the caller of a page with the id of the request.
func (r *request) onBehalf(merchant api.Caller) api.Caller {
	merchant.RequestID = r.caller.RequestID
	return merchant
}

// means is what pays: a phone, or a wallet with its PIN, entered From an address.
type means struct {
	payment.MobileMoney
	Wallet    account.WalletRef
	PIN, From string
}

// phone returns the phone that was entered.
func (f *payForm) phone() means {
	return means{MobileMoney: payment.MobileMoney{PhoneNumber: f.Phone, Provider: f.Network}}
}

// wallet returns the wallet that was entered, by a client at from.
func (f *payForm) wallet(from string) means {
	return means{Wallet: look.Wallet(f.Wallet), PIN: f.values.Get("pin"), From: from}
}

// payWith runs a payment in the way that the payer has chosen, within the limits of the page of r.
func (v *pageLimiter) payWith(r *request, f *payForm, pay func(means) error) error {
	switch {
	case !f.Wallets && f.Phone == "":
		return api.Missing("phone_number")
	case !f.Wallets:
		return v.payByPhone(r, f.caller.Live, func() error { return pay(f.phone()) })
	case f.Wallet == "":
		return api.Missing("wallet")
	}
	return v.payWithPIN(r, func(from string) error { return pay(f.wallet(from)) })
}

// refused shows the form again, as show renders it, with what went wrong. An error that a form cannot
// show is left to the router.
//
// With a phone that was asked too often it says when to try again. The form of a locked PIN says no
// time, because it would tell who has a wallet.
func (f *payForm) refused(err error, show func(e *api.Error) (*response, error)) (any, error) {
	e := asAPIError(err)
	if e == nil || e.Code == api.RateLimited {
		return nil, err
	}
	f.refuse(e)
	answer, err := show(e)
	if err == nil && e.Code == api.TooManyPrompts {
		answer.setHeader("Retry-After", strconv.FormatInt(retryAfter(e, answer.status), 10))
	}
	return answer, err
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

const formTokenLength = 22

// newFormToken returns a token by which a form that is posted twice pays once.
func newFormToken() string { return ids.Secret(rand.Reader, formTokenLength) }

// formToken returns the token of a posted form, or a new one if given is no token.
func formToken(given string) string {
	if !ids.IsBase62(given) || len(given) != formTokenLength {
		return newFormToken()
	}
	return given
}
