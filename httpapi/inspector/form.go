package inspector

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/money"
)

// form is an action on a page. The browser posts it to the page's own address, under its
// name. The inspector then builds the page again and runs the form only if the page still
// has it.
type form struct {
	Name, Title, Button string
	Hint                string
	Fields              []field
	Danger              bool
	// Open and Problem show the form again after an error.
	Open    bool
	Problem string

	do func(v *visit, in *input) (*result, error)
}

// run runs the form's action.
func (f *form) run(v *visit, nonce string) (*result, error) {
	v.caller.IdempotencyKey = "inspector-" + f.Name + "-" + nonce
	return f.do(v, &input{values: v.PostForm})
}

// field is an input of a form.
type field struct {
	Name, Label, Hint string
	// Kind is text when empty, or password, number, email, url, date, select,
	// checkbox, lines.
	Kind  string
	Value string
	// Options are the choices of a select, and the suggestions for a text.
	Options  []option
	Required bool
	// Params are further parameters of the service that the field sets.
	Params []string
	// Invalid marks the field that an error is about.
	Invalid bool
}

type option struct{ Value, Label string }

// result says how a form's action goes on: with the same page, with another page, or with
// a section that is shown once, such as a secret.
type result struct {
	redirect string
	showOnce *section
}

// notices are the messages after a form succeeded, by its name.
var notices = map[string]string{
	"add-money": "The money is there.", "create": "Created.", "pay": "Paid.", "activate": "It is active.",
	"deactivate": "It is switched off.", "delete": "Deleted.", "request-otp": "The code is on its way: it waits in the messages.",
	"verify-otp": "The code is verified and good for 10 minutes.", "cancel": "Cancelled.", "succeed": "The provider says that it succeeded.",
	"fail": "The provider says that it failed.", "finalize": "The invoice is open.", "send": "The customer is told.", "void": "The invoice is void.",
	"uncollectible": "The invoice is given up.", "add-line": "The line is added.", "resend": "The event is sent again.",
	"move-clock": "The clock is moved, and what became due is done.", "consumer": "The consumer has a wallet now.", "scan": "Paid.",
	"refund": "The refund is made.", "pay-phone": "The phone is asked.", "confirm": "The code is passed on.", "change": "Changed.", "coupon": "The draft is changed.",
}

// post runs the posted form and redirects.
func (v *visit) post(w http.ResponseWriter, build func(*visit) (*page, error)) error {
	nonce, err := v.checkForm(w)
	if err != nil {
		return err
	}
	p, err := build(v)
	if err != nil {
		return err
	}
	name := v.PostForm.Get("do")
	f := p.find(name)
	if f == nil {
		p.Problem = "This cannot be done any more. The page shows how things are now."
		return v.show(w, http.StatusConflict, p)
	}
	done, err := f.run(v, nonce)
	if err == nil {
		if done == nil {
			done = &result{}
		}
		if done.showOnce == nil {
			to := done.redirect
			if to == "" {
				to = v.root + strings.TrimPrefix(v.URL.EscapedPath(), "/")
			}
			seeOther(w, to+"?done="+url.QueryEscape(name))
			return nil
		}
		if p, err = build(v); err != nil {
			return err
		}
		p.Static = append([]section{*done.showOnce}, p.Static...)
		return v.show(w, http.StatusOK, p)
	}
	refusal := asAPIError(err)
	if refusal == nil {
		return err
	}
	// The error may come from a change meanwhile: build the page again.
	if p, err = build(v); err != nil {
		return err
	}
	p.showError(name, refusal, v.PostForm)
	return v.show(w, statusOf(refusal), p)
}

// find returns the page's form of that name, or nil.
func (p *page) find(name string) *form {
	for _, f := range p.Forms {
		if f.Name == name {
			return f
		}
	}
	for _, sections := range [][]section{p.Static, p.Live} {
		for i := range sections {
			for _, f := range sections[i].Buttons {
				if f.Name == name {
					return f
				}
			}
		}
	}
	return nil
}

// showError shows the form again with the error and the input, except passwords.
func (p *page) showError(name string, refusal *api.Error, entered url.Values) {
	message := refusal.Message
	if refusal.Code == api.IdempotencyKeyReused {
		message = "This form was sent before, with something else in it. Check what became of that, and send it again if you want it twice."
	}
	f := p.find(name)
	if f == nil || len(f.Fields) == 0 {
		p.Problem = message
		return
	}
	f.Open, f.Problem = true, message
	param := refusal.Param[strings.LastIndex(refusal.Param, ".")+1:]
	for i := range f.Fields {
		field := &f.Fields[i]
		if field.Kind != "password" {
			field.Value = entered.Get(field.Name)
		}
		field.Invalid = param != "" && (field.Name == param || slices.Contains(field.Params, param) || strings.HasPrefix(refusal.Param, field.Name+"["))
	}
}

func asAPIError(err error) *api.Error {
	var e *api.Error
	errors.As(err, &e)
	return e
}

// input reads the values of a form. err returns the first error. An empty value reads as
// absent.
type input struct {
	values  url.Values
	problem error
}

func (in *input) err() error { return in.problem }

func (in *input) refuse(err error) {
	if in.problem == nil {
		in.problem = err
	}
}

func (in *input) text(name string) string { return strings.TrimSpace(in.values.Get(name)) }

// lines reads a text of several lines; browsers send them with carriage returns.
func (in *input) lines(name string) string { return strings.ReplaceAll(in.text(name), "\r\n", "\n") }

func (in *input) checked(name string) bool { return in.values.Get(name) != "" }

// optionalText reads a text; nil when empty.
func (in *input) optionalText(name string) *string {
	if s := in.text(name); s != "" {
		return &s
	}
	return nil
}

// ghs reads an amount of GHS; nil when empty.
func (in *input) ghs(name string) *decimal.Decimal {
	amount, err := money.ParseInput(in.text(name))
	if err != nil {
		in.refuse(api.Invalid(name, "Enter the amount in cedis, such as 12.50."))
	}
	return amount
}

func (in *input) amount(name string) decimal.Decimal {
	amount := in.ghs(name)
	if amount == nil {
		in.refuse(api.Missing(name))
		return decimal.Decimal{}
	}
	return *amount
}

// pesewas reads an amount of GHS in pesewas.
func (in *input) pesewas(name string) *int64 {
	amount := in.ghs(name)
	if amount == nil {
		return nil
	}
	n, err := check.Amount(name, *amount)
	if err != nil {
		in.refuse(err)
		return nil
	}
	return &n
}

func (in *input) integer(name string) *int64 {
	text := in.text(name)
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		in.refuse(api.Invalid(name, "Enter a whole number."))
		return nil
	}
	return &n
}

// number reads a decimal such as a quantity or a percentage.
func (in *input) number(name string) *decimal.Decimal {
	text := in.text(name)
	if text == "" {
		return nil
	}
	const longest = 20
	d, err := decimal.NewFromString(text)
	if err != nil || len(text) > longest || strings.ContainsAny(text, "eE") {
		in.refuse(api.Invalid(name, "Enter a number, such as 1.5."))
		return nil
	}
	return &d
}

// wallet reads a service id, an account id or a phone number.
func (in *input) wallet(name string) account.WalletRef {
	text := in.text(name)
	switch {
	case text == "":
		in.refuse(api.Missing(name))
	case strings.HasPrefix(strings.ToUpper(text), "SVC"):
		return account.WalletRef{ServiceID: strings.ToUpper(text)}
	case strings.HasPrefix(text, "acc_"), strings.HasPrefix(text, "cag_"):
		return account.WalletRef{AccountID: text}
	}
	return account.WalletRef{Phone: text}
}

func options(values ...string) []option {
	list := make([]option, len(values))
	for i, value := range values {
		list[i] = option{value, strings.ReplaceAll(value, "_", " ")}
	}
	return list
}

// stringsOf converts states to strings.
func stringsOf[T ~string](states []T) []string {
	list := make([]string, len(states))
	for i, s := range states {
		list[i] = string(s)
	}
	return list
}

// filter returns a select over states; the empty choice stands for all.
func (v *visit) filter(name, label string, values ...string) field {
	all := append([]option{{"", "all"}}, options(values...)...)
	return field{Name: name, Label: label, Kind: "select", Value: v.query.Get(name), Options: all}
}

// dayFilter returns a field for a day.
func (v *visit) dayFilter() field {
	return field{Name: "day", Label: "Day (UTC)", Kind: "date", Value: v.query.Get("day")}
}

// day returns the chosen day; an invalid one selects all.
func (v *visit) day() api.Times {
	day, err := time.Parse(time.DateOnly, v.query.Get("day"))
	if err != nil {
		return api.Times{}
	}
	return api.Times{From: day, Until: day.AddDate(0, 0, 1)}
}
