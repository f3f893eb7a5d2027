package httpapi

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
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
	// Networks are those whose phones can pay. Without one the page offers wallets alone, which Wallets opens.
	Networks []look.Network
	Wallets  bool
	// AskAmount asks for the amount. Due is the amount to pay otherwise, in pesewas.
	AskAmount bool
	Due       int64
	// Amount, Phone, Network and Wallet are what was entered, shown again after a refusal.
	Amount, Phone, Network, Wallet string
	// Found is Network if the page has found it from the number; "" if the payer has chosen.
	Found string
	// Problem is what went wrong, and Field the parameter it is about.
	Problem, Field string
	// NotTaken is the network of a refused number if it is none of Networks.
	NotTaken string
	// First is a request that stays open while this form asks another phone; nil for none.
	First *requestView
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

// offerNetworks offers mobile money of these networks, or opens the wallet where there is none.
func (v *waysView) offerNetworks(codes []string) {
	v.Networks, v.Wallets = nil, v.Wallets || len(codes) == 0
	for _, n := range look.Networks() {
		if slices.Contains(codes, n.Code) {
			v.Networks = append(v.Networks, n)
		}
	}
	if v.NotTaken != "" {
		v.Problem = v.NotTaken + " is not taken here. Use a number of " + v.NetworkNames() + "."
	}
}

// NetworkNames names the networks whose phones can pay: MTN, Telecel or AirtelTigo.
func (v waysView) NetworkNames() string {
	names := make([]string, len(v.Networks))
	for i, n := range v.Networks {
		names[i] = n.Name
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " or " + names[last]
	}
	return strings.Join(names, "")
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

// means is what pays, entered From an address: a phone, or a wallet with its PIN.
type means struct {
	payment.MobileMoney
	Wallet    account.WalletRef
	PIN, From string
}

// phone returns the phone that was entered, by a client at from.
func (f *payForm) phone(from string) means {
	return means{MobileMoney: payment.MobileMoney{PhoneNumber: f.Phone, Provider: f.Network}, From: from}
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
		return v.payByPhone(r, f.caller.Live, func(from string) error { return pay(f.phone(from)) })
	case f.Wallet == "":
		return api.Missing("wallet")
	}
	return v.payWithPIN(r, func(from string) error { return pay(f.wallet(from)) })
}

// refused shows the form again, as show renders it, with what went wrong. An error that a form cannot
// show is left to the router.
//
// With a phone that was asked too often it says when to try again, but not with one that is asked at the moment.
// The form of a locked PIN says no time, because it would tell who has a wallet.
func (f *payForm) refused(err error, show func(e *api.Error) (*response, error)) (any, error) {
	e := asAPIError(err)
	if e == nil || e.Code == api.RateLimited {
		return nil, err
	}
	f.refuse(e)
	answer, err := show(e)
	switch {
	case err != nil || e.Code != api.TooManyPrompts:
	case errors.Is(e, payment.ErrPhoneAsked): // when it was asked is for its holder alone
		answer.setHeader("Retry-After", "60")
	default:
		answer.setHeader("Retry-After", strconv.FormatInt(retryAfter(e, answer.status), 10))
	}
	return answer, err
}

// refusedCode is refused for a form whose phone gets no code for the moment.
func (f *payForm) refusedCode(e *api.Error, show func(e *api.Error) (*response, error)) (any, error) {
	f.Problem, f.Field = phoneChangeProblem(e, f.Phone, true)
	f.findNetwork()
	answer, err := show(e)
	if err == nil && answer.status == http.StatusTooManyRequests {
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
	if e.Code == api.InvalidPhoneNumber && !v.Wallets && v.Field == "provider" && v.Network != "" {
		v.NotTaken = look.NetworkName(v.Network) // the number is one of a network, so that it is refused for that
	}
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
		switch {
		case e.Param == "from":
			return fmt.Sprintf("This was tried too often from your connection. Try again in %d minutes.", int(math.Ceil(e.RetryAfter.Minutes()))), ""
		case errors.Is(e, payment.ErrPhoneAsked): // by whomever: a stranger may have typed the number
			return "This number is asked to approve a payment at the moment. Approve or decline it there, then try again.", "phone_number"
		}
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
