package inspector

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
)

var paymentNoun = &noun[payment.Payment]{
	path: "payments", one: "Payment", many: "Payments", heads: [5]string{"Payer", "Amount", "Status", "For", "Time"},
	tab: "status", tabs: states(payment.Completed, payment.Pending, payment.Processing, payment.Failed, payment.Cancelled),
	search: "Name, phone, amount, reference or id",
	filters: []field{
		{Name: "network", Label: "Network", Kind: "select", Options: networkOptions("Any")},
		{Name: "payment_method", Label: "Method", Kind: "select", Options: append([]option{{Label: "Any"}}, options(payment.FromPhone, payment.ServiceWallet)...)},
	},
	dated: true, loud: true,
	empty: "What payers send from phones and wallets stands here. Ask a phone for the first.",
	forms: func(v *visit) []*form { return []*form{askPhone(v)} },
	list:  func(v *visit) (*api.List[payment.Payment], error) { return choose(v, v.svc.Payments.Search) },
	row: func(v *visit, p *payment.Payment) row {
		name, below := v.payer(p)
		r := row{Href: v.url("payments", p.ID), Title: name, Below: below, Amount: cedis(p.Amount), Badge: paymentBadge(p), For: paidFor(p), At: p.CreatedAt}
		if p.Status == payment.Failed {
			r.ForBelow = look.Text(p.FailureReason)
		} else if r.For != p.Reference {
			r.ForBelow = p.Reference
		}
		return r
	},
	get:  func(v *visit) (*payment.Payment, error) { return v.svc.Payments.Get(v.Context(), v.caller, v.id) },
	page: (*visit).paymentPage,
}

// askPhone asks a phone for money.
func askPhone(v *visit) *form {
	return &form{
		Name: "create", Title: "Make a payment", Button: "Ask the phone", Main: true,
		Fields: ask("amount", phonePayer, "description", "reference", "customer"), do: makes(v.svc.Payments.Create),
		Note: "The phone is asked to approve the payment. The simulated network then does what the number's last digits say.",
	}
}

// paymentBadge is the state of a payment, of which refunds are part.
func paymentBadge(p *payment.Payment) badge {
	switch {
	case p.Status != payment.Completed || p.AmountRefunded == 0:
		return state(p.Status)
	case p.AmountRefunded < p.Amount:
		return badge{"neutral", "Partly refunded"}
	}
	return badge{"neutral", "Refunded"}
}

// paidFor says what a payment is for, in a list.
func paidFor(p *payment.Payment) string {
	switch {
	case p.Description+p.Reference != "":
		return cmp.Or(p.Description, p.Reference)
	case p.Invoice != nil:
		return "Invoice"
	case p.QRCode != nil:
		return "QR code"
	case p.CheckoutSession != nil:
		return "Checkout"
	}
	return ""
}

// payer names who paid, and says beneath with what.
func (v *visit) payer(p *payment.Payment) (name, below string) {
	phone, with := maskedNumber(look.Text(p.Phone)), paidWith(p)
	switch {
	case p.Customer != nil:
		name = v.customerName(*p.Customer)
	case p.PaymentMethod == payment.ServiceWallet:
		name = nameOf(v, testCaller, v.payerAccount(p.ID), v.svc.Accounts.GetConsumer)
	}
	switch {
	case name != "":
		return name, look.Join(" · ", phone, with)
	case phone != "":
		return phone, with
	}
	return with, ""
}

// paidWith is the network or the method of a payment.
func paidWith(p *payment.Payment) string {
	return cmp.Or(network(p.Provider), words(p.PaymentMethod))
}

// nameOf is the name of an object; "" if there is none.
func nameOf[T any](v *visit, caller api.Caller, id string, get func(context.Context, api.Caller, string) (*T, error)) string {
	return v.named(id, func() (string, error) {
		o, err := get(v.Context(), caller, id)
		return textField(o, "Name"), err
	})
}

func (v *visit) customerName(id string) string {
	return nameOf(v, v.caller, id, v.svc.Accounts.GetCustomer)
}

// payerAccount is the account that paid a payment from a wallet.
func (v *visit) payerAccount(id string) string {
	return v.named(id, func() (string, error) { return v.svc.Payments.Payer(v.Context(), v.caller, id) })
}

// note keeps the fault of a part of a page. That an object is gone is no fault.
func (v *visit) note(err error) {
	if err != nil && api.CodeOf(err) != api.ResourceMissing {
		v.err = err
	}
}

// named remembers what was found for an id, also that there is nothing.
func (v *visit) named(id string, find func() (string, error)) string {
	name, ok := v.names[id]
	if !ok && id != "" {
		var err error
		name, err = find()
		v.note(err)
		v.names[id] = name
	}
	return name
}

func (v *visit) paymentPage(p *payment.Payment, page *page) {
	name, phone := page.row.Title, maskedNumber(look.Text(p.Phone))
	with, about := paidWith(p), p.ID
	if p.Provider != nil {
		with += " mobile money"
	} else if p.PaymentMethod == payment.ServiceWallet {
		with, about = "a wallet", v.payerAccount(p.ID)
	}
	verb := cmp.Or(map[payment.Status]string{payment.Completed: "paid", payment.Failed: "did not pay", payment.Cancelled: "was not asked to pay"}[p.Status], "is asked to pay")
	page.Sentence = sentence("%s "+verb+" %s with %s, %s", name, v.merchant.Name, with, v.when(p.CreatedAt))
	begun := step{"created", "Payment begun", "Payer", ""}
	if p.QRCode == nil && p.Invoice == nil && p.CheckoutSession == nil {
		begun = step{"created", "Payment asked for", "API", ""}
	}
	page.Live = []section{v.timeline("payment", p.ID, p.CreatedAt.Time, string(p.Status), []step{
		begun,
		{"pending", "To be charged: " + phone, "Payments", ""},
		{"processing", paidWith(p) + " asks the payer to approve", paidWith(p), ""},
		{"succeeded", "Paid with " + with, paidWith(p), "good"},
		{"failed", cmp.Or(look.Text(p.FailureReason), "Not paid"), paidWith(p), "bad"},
		{"canceled", "Cancelled before anything was taken", "Payments", "wait"},
	}, v.messageTurns(about, p.ID)...)}
	page.found(refundNoun.related(v, "Refunds", "", "payment", p.ID))
	heading := "Paid"
	if p.Status != payment.Completed {
		heading = "Amount"
	}
	var fee, refunded any
	if p.Fee != nil {
		fee = cedis(-*p.Fee)
	}
	if p.AmountRefunded > 0 {
		refunded = cedis(-p.AmountRefunded)
	}
	payer := facts("Name", name, "Phone", phone, "Network", network(p.Provider), "Method", words(p.PaymentMethod))
	if p.Customer != nil {
		payer[0].Href = v.url("customers", *p.Customer)
	}
	page.Side = []section{
		{Title: "Money", Money: facts(heading, cedis(p.Amount), "Fee", fee, "To the merchant", p.Net, "Refunded", refunded)},
		{Title: "Payer", Facts: payer},
		{Title: "Details", Facts: v.paymentDetails(p)},
	}
	page.Forms = v.paymentForms(p, name)
}

func (v *visit) paymentDetails(p *payment.Payment) []fact {
	next := ""
	if p.NextAction != nil {
		next = p.NextAction.Message
	}
	token, err := v.svc.Payments.PageToken(v.Context(), v.caller, p.ID)
	v.note(err)
	if token != "" {
		token = v.svc.BaseURL() + "/payment/" + token
	}
	return facts("Asked for", next, "Failure", p.FailureReason, "For", p.Description, "Reference", p.Reference, "QR code", v.linked("qr-codes", p.QRCode),
		"Invoice", v.linked("invoices", p.Invoice), "Checkout", v.linked("checkouts", p.CheckoutSession), "Subscription", v.linked("subscriptions", p.Subscription), "Customer", v.linked("customers", p.Customer), "Payment", id(p.ID),
		"At "+cmp.Or(network(p.Provider), "the provider"), id(look.Text(p.ProviderReference)), "Created", p.CreatedAt, "Completed", p.CompletedAt,
		"Held until", p.HoldExpiresAt, "Payer's page", address(token))
}

// paymentForms are what the merchant, the payer and the provider can do with a payment. A code
// can be entered before it is asked for, because the buttons do not follow what happens.
func (v *visit) paymentForms(p *payment.Payment, name string) []*form {
	if left := cedis(p.Amount - p.AmountRefunded); p.Status == payment.Completed && left > 0 {
		return []*form{{
			Name: "refund", Title: "Refund", Button: "Refund", Danger: true,
			Fields: ask(amountField("Empty for all that is left: "+plainMoney(left)+"."), field{Name: "reason", Label: "Reason", Hint: "The customer reads it on the credit note of an invoice."}),
			Will:   facts("To", name, "Back with", paidWith(p), "At most", left, "Fee that is kept", p.Fee),
			do: func(v *visit, in *input) (any, error) {
				return create(v, in, v.svc.Refunds.Create, refund.CreateParams{Payment: v.id})
			},
		}}
	}
	if p.PaymentMethod != payment.FromPhone || !slices.Contains([]payment.Status{payment.Pending, payment.Processing}, p.Status) {
		return nil
	}
	forms := append(outcomes("the payer", "approve", "decline", facts("From", name, "Taken", cedis(0))), &form{
		Name: "confirm", Title: "Enter the payer's code", Button: "Pass the code on", do: changes(v.svc.Payments.Confirm),
		Hint:   "Only a payment that asks for a code takes one.",
		Fields: ask(field{Name: "code", Label: "Code", Hint: "The simulated network takes 123456."}),
	})
	if p.Status == payment.Pending {
		forms = append(forms, &form{
			Name: "cancel", Title: "Cancel this payment", Label: "Cancel", Button: "Cancel the payment", Danger: true,
			Note: "The phone is not asked. Nothing is taken.", do: act(v.svc.Payments.Cancel),
		})
	}
	return forms
}

// phonePayer is who pays from a phone, in a form.
var phonePayer = []field{
	{Name: "phone_number", Label: "Payer's phone number", Hint: "Such as 024 123 4567. Its last digits decide what the simulated network does: see the numbers to test with."},
	{Name: "provider", Label: "Network", Kind: "select", Options: networkOptions("As the number says")},
}

// outcomes play the provider of an order under way, in which who does well or badly.
func outcomes(who, well, badly string, will []fact) []*form {
	return []*form{
		{Name: "succeed", Button: "Let " + who + " " + well, do: settle(provider.Paid)},
		{Name: "fail", Title: "Let " + who + " " + badly, Button: capital(badly), Danger: true, Fields: ask("failure_reason"), Will: will, do: settle(provider.Refused)},
	}
}

// settle plays a provider that reports an outcome of the page's order.
func settle(o provider.Outcome) action {
	return func(v *visit, in *input) (any, error) {
		reason := in.text("failure_reason")
		if err := check.Text("failure_reason", reason, api.MaxText); err != nil {
			return nil, err
		}
		return nil, v.svc.Providers.Settle(v.Context(), v.caller, v.id, provider.Result{
			Outcome: o, Reason: provider.Refusal{Message: reason, Verbatim: reason != ""},
		})
	}
}
