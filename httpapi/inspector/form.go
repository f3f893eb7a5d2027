package inspector

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/money"
)

// form is something that can be done on a page. A form with fields or consequences has a page of
// its own, under the query ?form=; any other is a button. The browser posts it to the page's own
// address, under its name. The inspector then builds the page again and runs the form only if the
// page still has it.
type form struct {
	// Title heads the form's own page. Label is the button that leads there; empty for Title.
	Name, Title, Label, Button string
	Hint                       string
	Fields                     []field
	// Main is what most people do next, and Danger what cannot be taken back.
	Main, Danger bool
	// Will says what will happen, and Note adds a sentence.
	Will []fact
	Note string
	// Problem says why the form is shown again, and Wrong, under the field that it is about, what to
	// enter.
	Problem, Wrong string

	do action
}

// action does what a form is for. It returns the object whose page follows, a section that is shown
// once, such as a secret, or nil.
type action func(v *visit, in *input) (any, error)

// Opens reports whether the form has a page of its own.
func (f *form) Opens() bool { return len(f.Fields) > 0 || len(f.Will) > 0 || f.Note != "" }

// participles are those of the verbs on buttons that are not regular.
var participles = map[string]string{"Make": "made", "Pay": "paid", "Keep": "kept", "Put": "put on", "Give": "given up", "Take": "taken back", "Let": "done", "Verify": "verified", "Cancel": "cancelled"}

// Undone says that the action was refused: "Not refunded yet".
func (f *form) Undone() string {
	verb, _, _ := strings.Cut(f.Button, " ")
	return "Not " + cmp.Or(participles[verb], strings.TrimSuffix(strings.ToLower(verb), "e")+"ed") + " yet"
}

// run runs the form's action. It reads what was posted for the form's own fields.
func (f *form) run(v *visit, nonce string) (any, error) {
	v.caller.IdempotencyKey = "inspector-" + f.Name + "-" + nonce
	in := &input{values: url.Values{}}
	for _, field := range f.Fields {
		in.values.Set(field.Name, v.PostForm.Get(field.Name))
	}
	return f.do(v, in)
}

// field is an input of a form.
type field struct {
	Name, Label, Hint string
	// Kind is text when empty, or password, number, email, url, date, search, select,
	// checkbox, lines.
	Kind               string
	Value, Placeholder string
	// Options are the choices of a select, and the suggestions for a text.
	Options []option
	// Params are further parameters of the service that the field sets.
	Params []string
	// Soft stands after the label, such as optional.
	Soft string
	// Invalid marks the field that an error is about.
	Invalid bool
}

type option struct{ Name, Value, Label string }

// notices are the messages after a form succeeded, by its name.
var notices = map[string]string{
	"add-money": "The money is there.", "create": "Created.", "pay": "Paid.", "activate": "It is active.",
	"deactivate": "It is switched off.", "delete": "Deleted.", "request-otp": "The code is on its way: it waits in the messages.",
	"verify-otp": "The code is verified and good for 10 minutes.", "cancel": "Cancelled.", "succeed": "The provider says that it succeeded.",
	"fail": "The provider says that it failed.", "reverse": "The provider has taken it back.", "finalize": "The invoice is open.", "send": "The customer is told.",
	"void": "The invoice is void.", "uncollectible": "The invoice is given up.", "add-line": "The line is added.", "resend": "The event is sent again.",
	"move-clock": "The clock is moved, and what became due is done.", "consumer": "The consumer has a wallet now.", "scan": "Paid.",
	"book": "The balance is corrected, and the report is off the list.", "keep": "It stays as it is booked, and the report is off the list.",
	"refund": "The refund is made.", "receipt": "The receipt was sent again to the payer.", "pay-phone": "The phone is asked.", "confirm": "The code is passed on.", "change": "Changed.", "coupon": "The draft is changed.",
	"expire": "It is expired.", "pause": "It is paused.", "resume": "It goes on.",
}

const errGone = "This cannot be done any more. The page shows how things are now."

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
		p.Problem = errGone
		return v.show(w, http.StatusConflict, p)
	}
	done, err := f.run(v, nonce)
	if err == nil {
		once, ok := done.(*section)
		if !ok {
			seeOther(w, v.after(done)+"?done="+url.QueryEscape(name))
			return nil
		}
		if p, err = build(v); err != nil {
			return err
		}
		p.Once = once
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
	at := slices.IndexFunc(p.Forms, func(f *form) bool { return f.Name == name })
	if at < 0 {
		return nil
	}
	return p.Forms[at]
}

// showError shows the form again with the error and the input, except passwords.
func (p *page) showError(name string, refusal *api.Error, entered url.Values) {
	message := strings.ReplaceAll(refusal.Message, "GHS ", "GH₵"+look.NoBreak)
	if refusal.Code == api.IdempotencyKeyReused {
		message = "This form was sent before, with something else in it. Check what became of that, and send it again if you want it twice."
	}
	f := p.find(name)
	if f == nil || !f.Opens() {
		p.Problem = message
		return
	}
	p.Shown, f.Problem = f, message
	param := refusal.Param[strings.LastIndex(refusal.Param, ".")+1:]
	for i := range f.Fields {
		field := &f.Fields[i]
		if field.Kind != "password" {
			field.Value = entered.Get(field.Name)
		}
		if param != "" && (field.Name == param || slices.Contains(field.Params, param) || strings.HasPrefix(refusal.Param, field.Name+"[")) {
			if rest, named := strings.CutPrefix(message, refusal.Param+" "); named { // as the API calls it
				f.Problem = field.Label + " " + rest
			}
			field.Invalid, f.Wrong = true, cmp.Or(field.Hint, f.Problem)
		}
	}
}

// after is the page that follows an action: that of the object that it made or changed, the list of
// an object that is gone, or the same page.
func (v *visit) after(done any) string {
	if _, gone := done.(*api.Deleted); gone {
		list, _, _ := strings.Cut(v.kind, "/")
		return v.url(list)
	}
	if at := v.source(textField(done, "Object"), textField(done, "ID")); at != "" {
		return at
	}
	return v.here()
}

// textField is a field of the object to which o points; "" if there is none.
func textField(o any, name string) string {
	p := reflect.ValueOf(o)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return ""
	}
	if f := p.Elem().FieldByName(name); f.IsValid() && f.Kind() == reflect.String {
		return f.String()
	}
	return ""
}

func asAPIError(err error) *api.Error {
	var e *api.Error
	errors.As(err, &e)
	return e
}

// input reads the values of a form. problem is the first error. An empty value reads as absent.
type input struct {
	values  url.Values
	problem error
}

func (in *input) refuse(err error) {
	if in.problem == nil {
		in.problem = err
	}
}

// text reads a text. Browsers send those of several lines with carriage returns.
func (in *input) text(name string) string {
	return strings.ReplaceAll(strings.TrimSpace(in.values.Get(name)), "\r\n", "\n")
}

const wantAmount = "Enter the amount in cedis, such as 12.50."

// required returns a value that must be there.
func required[T any](in *input, name string, value *T) (is T) {
	if value == nil {
		in.refuse(api.Invalid(name, wantAmount))
		return is
	}
	return *value
}

// ghs reads an amount of GHS; nil when empty. The service checks its range.
func (in *input) ghs(name string) *decimal.Decimal {
	amount, err := money.ParseInput(in.text(name))
	if err != nil {
		in.refuse(api.Invalid(name, wantAmount))
	}
	return amount
}

// pesewas reads an amount of GHS in pesewas; nil when empty.
func (in *input) pesewas(name string) *int64 {
	n, err := look.Amount(name, in.text(name))
	if err != nil {
		in.refuse(err)
	}
	return n
}

// read reads a value; nil when empty. want says what is to be entered.
func read[T any](in *input, name, want string, parse func(string) (T, error)) *T {
	text := in.text(name)
	if text == "" {
		return nil
	}
	is, err := parse(text)
	if err != nil {
		in.refuse(api.Invalid(name, "%s", want))
	}
	return &is
}

func (in *input) integer(name string) *int64 {
	return read(in, name, "Enter a whole number.", func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) })
}

// number reads a decimal such as a quantity or a percentage.
func (in *input) number(name string) *decimal.Decimal {
	return read(in, name, "Enter a number, such as 1.5.", func(text string) (decimal.Decimal, error) {
		const longest = 20
		if len(text) > longest || strings.ContainsAny(text, "eE") {
			return decimal.Decimal{}, strconv.ErrSyntax
		}
		return decimal.NewFromString(text)
	})
}

// day reads a date; zero when empty.
func (in *input) day(name string) time.Time {
	day := read(in, name, "Enter a day, such as 2026-12-31.", func(text string) (time.Time, error) { return time.Parse(time.DateOnly, text) })
	if day == nil {
		return time.Time{}
	}
	return *day
}

// wallet reads a service id, an account id or a phone number.
func (in *input) wallet(name string) account.WalletRef {
	text := in.text(name)
	switch {
	case text == "":
		in.refuse(api.Invalid(name, "Enter the wallet: its phone number, service ID or account ID."))
	case strings.HasPrefix(text, "acc_"), strings.HasPrefix(text, "cag_"):
		return account.WalletRef{AccountID: text}
	}
	return look.Wallet(text)
}

// options are choices of states or other words of the API.
func options[T ~string](values ...T) []option {
	list := make([]option, len(values))
	for i, value := range values {
		list[i] = option{Value: string(value), Label: state(value).Word}
	}
	return list
}

// choice is a field of a filter that leaves out all but one.
func choice(name, label string, of []option) field {
	return field{Name: name, Label: label, Kind: "select", Options: append([]option{{Label: "Any"}}, of...)}
}

func networkOptions() (list []option) {
	for _, n := range look.Networks() {
		list = append(list, option{Value: n.Code, Label: n.Name})
	}
	return list
}

// usual are the fields that several forms have, as they mostly are.
var usual = map[string]field{
	"amount": {Label: "Amount in cedis", Hint: "Such as 12.50."}, "name": {Label: "Name"}, "reference": {Label: "Reference", Soft: "optional"},
	"description":    {Label: "What it is for", Soft: "optional"},
	"customer_email": {Label: "Customer's e-mail", Kind: "email"},
	"phone_number":   {Label: "Phone number", Hint: "Such as 024 123 4567."},
	"coupon":         {Label: "Coupon", Hint: "The ID of a coupon, cpn_…", Soft: "optional"},
	"product":        {Label: "Product", Hint: "The ID of a product, prod_…", Soft: "optional"},
	"customer":       {Label: "Customer", Hint: "The ID of a customer, cus_…", Soft: "optional"},
	"unit_amount":    {Label: "Price of one in cedis"},
	"tax_percent":    {Label: "Tax in percent", Soft: "optional"},
	"failure_reason": {Label: "Reason", Soft: "optional"},
}

// making is the form that makes an object with a method.
func making(what string, do action, fields []field) *form {
	article := map[bool]string{true: "an ", false: "a "}[strings.HasPrefix(what, "i")]
	return &form{Name: "create", Title: "Make " + article + what, Button: "Make the " + what, Main: true, Fields: fields, do: do}
}

// ask lists the fields of a form: usual ones by their names, and others.
func ask(parts ...any) (fields []field) {
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			f := usual[part]
			f.Name = part
			fields = append(fields, f)
		case field:
			fields = append(fields, part)
		case []field:
			fields = append(fields, part...)
		}
	}
	return fields
}

// amountField asks for an amount.
func amountField(hint string) field {
	return field{Name: "amount", Label: usual["amount"].Label, Hint: hint}
}
