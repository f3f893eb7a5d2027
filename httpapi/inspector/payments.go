package inspector

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
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
	dated: true,
	empty: "What payers send from phones and wallets stands here. Ask a phone for the first.",
	forms: func(*visit) ([]*form, error) { return []*form{askPhone()}, nil },
	list: func(v *visit, page api.Page) (*api.List[payment.Payment], error) {
		p := payment.SearchParams{Text: v.param("q"), Network: v.param("network"), ListParams: payment.ListParams{
			Page: page, Status: payment.Status(v.param("status")), PaymentMethod: v.param("payment_method"),
			QRCode: v.entered("qr_code", "qr_"), Invoice: v.entered("invoice", "inv_"), Customer: v.entered("customer", "cus_"), Created: v.created(),
		}}
		if p.Text == p.QRCode || p.Text == p.Invoice || p.Text == p.Customer {
			p.Text = ""
		}
		return v.svc.Payments.Search(v.Context(), v.caller, p)
	},
	row: func(v *visit, p *payment.Payment) row {
		name, below := v.payer(p)
		r := row{Href: v.url("payments", p.ID), Title: name, Below: below, Amount: cedis(p.Amount), Badge: paymentBadge(p), For: paidFor(p), At: p.CreatedAt}
		if p.Status == payment.Failed {
			r.ForBelow = orEmpty(p.FailureReason)
		} else if r.For != p.Reference {
			r.ForBelow = p.Reference
		}
		return r
	},
	get:  func(v *visit) (*payment.Payment, error) { return v.svc.Payments.Get(v.Context(), v.caller, v.id) },
	page: (*visit).paymentPage,
}

// askPhone asks a phone for money.
func askPhone() *form {
	return &form{
		Name: "create", Title: "Make a payment", Button: "Ask the phone", Main: true,
		Fields: append(append([]field{amountField("amount", "")}, phonePayer()...),
			field{Name: "description", Label: "What it is for"},
			field{Name: "reference", Label: "Reference"},
			field{Name: "customer", Label: "Customer", Hint: "The ID of a customer, cus_…; empty for none."}),
		Note: "The phone is asked to approve the payment. The simulated network then does what the number's last digits say.",
		do: func(v *visit, in *input) (any, error) {
			return create(v, in, v.svc.Payments.Create, payment.CreateParams{
				Amount: in.duePesewas("amount"), MobileMoney: in.phonePayer(),
				Description: in.text("description"), Reference: in.text("reference"), Customer: in.text("customer"),
			})
		},
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
	case p.Description != "":
		return p.Description
	case p.Reference != "":
		return p.Reference
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
	phone := maskedNumber(orEmpty(p.Phone))
	below = joinNonEmpty(phone, paidWith(p))
	switch {
	case p.Customer != nil:
		name = v.customerName(*p.Customer)
	case p.PaymentMethod == payment.ServiceWallet:
		name = v.walletName(p.ID)
	}
	if name == "" {
		if name, below = phone, paidWith(p); name == "" {
			name, below = paidWith(p), ""
		}
	}
	return name, below
}

// paidWith is the network or the method of a payment.
func paidWith(p *payment.Payment) string {
	if name := network(p.Provider); name != "" {
		return name
	}
	return words(p.PaymentMethod)
}

// customerName is the name of a customer; "" if there is none.
func (v *visit) customerName(id string) string {
	return v.named(&v.customers, id, func() (string, error) {
		c, err := v.svc.Accounts.GetCustomer(v.Context(), v.caller, id)
		if err != nil {
			return "", err
		}
		return c.Name, nil
	})
}

// walletName is the name of the consumer who paid a payment from a wallet.
func (v *visit) walletName(id string) string {
	account := v.payerAccount(id)
	return v.named(&v.customers, account, func() (string, error) {
		c, err := v.svc.Accounts.GetConsumer(v.Context(), api.Caller{}, account)
		if err != nil {
			return "", err
		}
		return c.Name, nil
	})
}

// payerAccount is the account that paid a payment from a wallet.
func (v *visit) payerAccount(id string) string {
	return v.named(&v.payers, id, func() (string, error) { return v.svc.Payments.Payer(v.Context(), v.caller, id) })
}

// note keeps the fault of a look-up for a row. That an object is gone is no fault.
func (v *visit) note(err error) {
	if err != nil && api.CodeOf(err) != api.ResourceMissing {
		v.err = err
	}
}

// named remembers what was found, also that there is nothing.
func (v *visit) named(known *map[string]string, id string, find func() (string, error)) string {
	if name, ok := (*known)[id]; ok || id == "" {
		return name
	}
	name, err := find()
	v.note(err)
	if *known == nil {
		*known = map[string]string{}
	}
	(*known)[id] = name
	return name
}

func (v *visit) paymentPage(p *payment.Payment, page *page) error {
	name, _ := v.payer(p)
	page.Title, page.Amount, page.Badge = "Payment of "+plainMoney(p.Amount), cedis(p.Amount), paymentBadge(p)
	with := paidWith(p)
	if p.Provider != nil {
		with += " mobile money"
	} else if p.PaymentMethod == payment.ServiceWallet {
		with = "a wallet"
	}
	verb := map[payment.Status]string{payment.Completed: "paid", payment.Failed: "did not pay", payment.Cancelled: "was not asked to pay"}[p.Status]
	if verb == "" {
		verb = "is asked to pay"
	}
	page.Sentence = sentence("%s "+verb+" %s with %s, %s", name, v.merchant.Name, with, v.when(p.CreatedAt))
	about := p.ID
	if p.PaymentMethod == payment.ServiceWallet {
		about = v.payerAccount(p.ID)
	}
	begun := step{"created", "Payment begun", "Payer", ""}
	if p.QRCode == nil && p.Invoice == nil && p.CheckoutSession == nil {
		begun = step{"created", "Payment asked for", "API", ""}
	}
	happened, err := v.timeline("payment", p.ID, p.CreatedAt.Time, possible(p.Status, []step{
		begun,
		{"pending", "To be charged: " + maskedNumber(orEmpty(p.Phone)), "Payments", ""},
		{"processing", paidWith(p) + " asks the payer to approve", paidWith(p), ""},
		{"succeeded", "Paid with " + with, paidWith(p), "good"},
		{"failed", orDefault(orEmpty(p.FailureReason), "Not paid"), paidWith(p), "bad"},
		{"canceled", "Cancelled before anything was taken", "Payments", "wait"},
	}), v.messageTurns(about, p.ID)...)
	if err != nil {
		return err
	}
	page.Live = []section{happened}
	refunds, err := v.svc.Refunds.List(v.Context(), v.caller, refund.ListParams{Page: api.Page{Limit: latest}, Payment: p.ID})
	if err != nil {
		return err
	}
	if len(refunds.Data) > 0 {
		page.Live = append(page.Live, related(v, refundNoun, refunds, "Refunds", "", v.url("refunds")+"?payment="+p.ID))
	}
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
	payer := facts("Name", name, "Phone", maskedNumber(orEmpty(p.Phone)), "Network", network(p.Provider), "Method", words(p.PaymentMethod))
	if p.Customer != nil {
		payer[0].Href = v.url("customers", *p.Customer)
	}
	details, err := v.paymentDetails(p)
	page.Side = []section{
		{Title: "Money", Money: facts(heading, cedis(p.Amount), "Fee", fee, "To the merchant", p.Net, "Refunded", refunded)},
		{Title: "Payer", Facts: payer},
		{Title: "Details", Facts: details},
	}
	page.Forms = v.paymentForms(p, name)
	return err
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (v *visit) paymentDetails(p *payment.Payment) ([]fact, error) {
	next := ""
	if p.NextAction != nil {
		next = p.NextAction.Message
	}
	token, err := v.svc.Payments.PageToken(v.Context(), v.caller, p.ID)
	if err != nil && api.CodeOf(err) != api.ResourceMissing {
		return nil, err
	}
	var page *link
	if token != "" {
		page = new(link)
		page.Text = v.svc.BaseURL() + "/payment/" + token
		page.Href = page.Text
	}
	return facts("Asked for", next, "Failure", p.FailureReason, "For", p.Description, "Reference", p.Reference, "QR code", v.linked("qr-codes", p.QRCode),
		"Invoice", v.linked("invoices", p.Invoice), "Checkout", v.linked("checkouts", p.CheckoutSession), "Subscription", v.linked("subscriptions", p.Subscription), "Customer", v.linked("customers", p.Customer), "Payment", id(p.ID),
		"At "+orDefault(network(p.Provider), "the provider"), id(orEmpty(p.ProviderReference)), "Created", p.CreatedAt, "Completed", p.CompletedAt,
		"Held until", p.HoldExpiresAt, "Payer's page", page), nil
}

// paymentForms are what the merchant, the payer and the provider can do with a payment. A code
// can be entered before it is asked for, because the buttons do not follow what happens.
func (v *visit) paymentForms(p *payment.Payment, name string) []*form {
	if left := p.Amount - p.AmountRefunded; p.Status == payment.Completed && left > 0 {
		return []*form{{
			Name: "refund", Title: "Refund", Button: "Refund", Danger: true,
			Fields: []field{
				amountField("amount", "Empty for all that is left: "+plainMoney(left)+"."),
				{Name: "reason", Label: "Reason", Hint: "The customer reads it on the credit note of an invoice."},
			},
			Will: facts("To", name, "Back with", paidWith(p), "At most", cedis(left), "Fee that is kept", p.Fee),
			do: func(v *visit, in *input) (any, error) {
				return create(v, in, v.svc.Refunds.Create, refund.CreateParams{Payment: v.id, Amount: in.pesewas("amount"), Reason: in.text("reason")})
			},
		}}
	}
	if p.PaymentMethod != payment.FromPhone || p.Status != payment.Pending && p.Status != payment.Processing {
		return nil
	}
	forms := []*form{
		{Name: "succeed", Button: "Let the payer approve", do: settle(provider.Paid)},
		{
			Name: "fail", Title: "Let the payer decline", Button: "Decline", Danger: true, Fields: failureFields(),
			Will: facts("From", name, "Taken", cedis(0)), do: settle(provider.Refused),
		},
		{
			Name: "confirm", Title: "Enter the payer's code", Button: "Pass the code on",
			Hint:   "Only a payment that asks for a code takes one.",
			Fields: []field{{Name: "code", Label: "Code", Hint: "The simulated network takes 123456."}},
			do: func(v *visit, in *input) (any, error) {
				return update(v, in, v.svc.Payments.Confirm, payment.ConfirmParams{Code: in.text("code")})
			},
		},
	}
	if p.Status == payment.Pending {
		forms = append(forms, &form{
			Name: "cancel", Title: "Cancel this payment", Label: "Cancel", Button: "Cancel the payment", Danger: true,
			Note: "The phone is not asked. Nothing is taken.", do: act(v.svc.Payments.Cancel),
		})
	}
	return forms
}

// phonePayer is who pays from a phone, in a form.
func phonePayer() []field {
	return []field{
		{Name: "phone_number", Label: "Payer's phone number", Hint: "Such as 024 123 4567. Its last digits decide what the simulated network does: see the numbers to test with."},
		{Name: "provider", Label: "Network", Kind: "select", Options: networkOptions("As the number says")},
	}
}

func (in *input) phonePayer() payment.MobileMoney {
	return payment.MobileMoney{PhoneNumber: in.text("phone_number"), Provider: in.text("provider")}
}

// failureFields are the fields of a form that lets a provider refuse an order.
func failureFields() []field {
	return []field{{Name: "failure_reason", Label: "Reason", Hint: "Empty for the usual one."}}
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
