package inspector

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/refund"
)

var paymentNoun = &noun[payment.Payment]{
	path: "payments", prefix: "pay", way: "from ", one: "Payment", many: "Payments", heads: [5]string{"Payer", "Amount", "Status", "For", "Time"},
	tab: "status", tabs: options(payment.Completed, payment.Pending, payment.Processing, payment.Failed, payment.Cancelled),
	search: "Name, phone, amount, reference or id", dated: true, loud: true, ordered: true,
	filters: []field{choice("network", "Network", append(networkOptions(), option{Value: payment.ServiceWallet, Label: "Wallet"}))},
	empty:   "What payers send from phones and wallets stands here. Ask a phone for the first.",
	forms:   func(v *visit) []*form { return []*form{askPhone(v)} },
	reads: func(v *visit) reader[payment.Payment] {
		return reading(func(ctx context.Context, caller api.Caller, p payment.SearchParams) (*api.List[payment.Payment], error) {
			if p.Network == payment.ServiceWallet { // a method, and none of the networks
				p.Network, p.PaymentMethod = "", payment.ServiceWallet
			}
			return v.svc.Payments.Search(ctx, caller, p)
		}, v.svc.Payments.Get)
	},
	row: func(v *visit, p *payment.Payment) row {
		by := v.payer(p)
		r := row{Href: v.url("payments", p.ID), Title: by.title, Below: by.below, Number: by.number, Amount: cedis(p.Amount), Badge: paymentBadge(p), For: v.paidFor(p), At: p.CreatedAt}
		if p.Fee != nil && p.Net != nil {
			r.Fee, r.Net = cedis(*p.Fee), cedis(*p.Net)
		}
		if p.Status == payment.Failed {
			r.ForBelow = look.Text(p.FailureReason)
		} else if r.For != p.Reference {
			r.ForBelow = p.Reference
		}
		return r
	},
	page: (*visit).paymentPage,
}

// askPhone asks a phone for money.
func askPhone(v *visit) *form {
	return &form{
		Name: "create", Title: "Make a payment", Button: "Ask the phone", Main: true,
		Fields: ask("amount", phonePayer, "description", "reference", "customer"), do: makes(v.svc.Payments.Create),
		Will: facts("From", "The payer's phone", "To", v.merchant.Name, "Fee", "Taken from what arrives"),
		Note: "The simulated network does what the number's last digits say.",
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
func (v *visit) paidFor(p *payment.Payment) string {
	switch {
	case p.Description+p.Reference != "":
		return cmp.Or(p.Description, p.Reference)
	case p.Invoice != nil:
		return cmp.Or(v.named("", *p.Invoice), "Invoice")
	case p.QRCode != nil:
		return cmp.Or(v.named("", *p.QRCode), "QR code")
	case p.CheckoutSession != nil:
		return "Checkout"
	}
	return ""
}

// payer is who pays: title and below for a list, the masked number, the account of a wallet, and the page
// that follows a payment from a phone.
type payer struct{ title, below, number, account, page string }

func (v *visit) payer(p *payment.Payment) (is payer) {
	known, with := get(v, v.svc.Payments.Payer, p.ID), paidWith(p)
	is.account, is.number = known.Account, look.Phone(cmp.Or(known.Number, look.Text(p.Phone)))
	if known.PageToken != "" {
		is.page = v.svc.BaseURL() + "/payment/" + known.PageToken
	}
	if p.Customer != nil {
		is.title = v.rowOf("", *p.Customer).Title
	} else if wallet := v.rowOf("", known.Account); wallet.Title != "" {
		is.title, is.number = wallet.Title, wallet.Below
	}
	switch {
	case is.title != "" && is.title != is.number:
		is.below = look.Join(" · ", is.number, with)
	case is.number != "":
		is.title, is.below = is.number, with
	default:
		is.title = with
	}
	return is
}

func paidWith(p *payment.Payment) string {
	return cmp.Or(network(p.Provider), words(p.PaymentMethod))
}

// note keeps the fault of a part of a page. That an object is gone is no fault.
func (v *visit) note(err error) {
	if err != nil && api.CodeOf(err) != api.ResourceMissing {
		v.err = err
	}
}

func (v *visit) paymentPage(p *payment.Payment, page *page) {
	by := v.payer(p)
	with, about := paidWith(p), p.ID
	if p.Provider != nil {
		with += " mobile money"
	} else if p.PaymentMethod == payment.ServiceWallet {
		with, about = "a wallet", by.account
	}
	verb := cmp.Or(map[payment.Status]string{payment.Completed: "paid", payment.Failed: "did not pay", payment.Cancelled: "was not asked to pay"}[p.Status], "is asked to pay")
	page.Sentence = sentence("%s "+verb+" %s with %s, %s", by.title, v.merchant.Name, with, v.when(p.CreatedAt))
	begun := step{"created", "Payment begun on its page", "Payer", "", cmp.Or(page.row.For, p.Reference, "Without a description") + "."}
	if p.QRCode == nil && p.Invoice == nil && p.CheckoutSession == nil {
		begun.title, begun.source = "Payment asked for", "API"
	}
	said, also := v.attempts(paidWith(p), p.ProviderReference, p.CompletedAt)
	for _, r := range listOf(v, v.svc.Refunds.List, refund.ListParams{Payment: p.ID, Page: api.Page{Limit: latest}}) {
		also = append(also, v.turns("refund", r.ID, r.CreatedAt.Time, string(r.Status), refundSteps(&r))...)
	}
	page.Live = []section{v.timeline("payment", p.ID, p.CreatedAt.Time, string(p.Status), []step{
		begun,
		{"pending", "Waits for " + paidWith(p), paidWith(p), "", nil},
		{"processing", "Asked " + paidWith(p) + " to charge " + by.number, paidWith(p), "", "The payer approves on the phone."},
		{"succeeded", "Paid with " + with, paidWith(p), "good", cmp.Or(said, "Approved.")},
		{"failed", cmp.Or(look.Text(p.FailureReason), "Not paid"), paidWith(p), "bad", said},
		{"canceled", "Cancelled before anything was taken", "API", "wait", nil},
	}, append(also, v.messageTurns(about, p.ID)...)...)}
	page.found(refundNoun.related(v, "payment", p.ID))
	money := facts("Amount", cedis(p.Amount))
	if p.Net != nil {
		money = facts("Paid", cedis(p.Amount), "Fee", unlessNone(cedis(-*p.Fee)), "Refunded", unlessNone(cedis(-p.AmountRefunded)), "To the merchant", cedis(*p.Net-p.AmountRefunded))
	}
	who := facts("Name", cmp.Or(v.linked("customers", p.Customer), link{Text: by.title}), "Phone", by.number, "Paid with", paidWith(p))
	next := ""
	if p.NextAction != nil {
		next = p.NextAction.Message
	}
	page.Side = []section{
		{Title: "Money", Money: money},
		{Title: "Payer", Facts: who},
		{Title: "Details", Facts: facts("Asked for", next, "Failure", p.FailureReason, "Failure code", (*string)(p.FailureCode), "For", p.Description, "Reference", p.Reference, "QR code", v.linked("qr-codes", p.QRCode),
			"Invoice", v.linked("invoices", p.Invoice), "Checkout", v.linked("checkouts", p.CheckoutSession), "Subscription", v.linked("subscriptions", p.Subscription), "Payment", id(p.ID),
			"At "+cmp.Or(network(p.Provider), "the provider"), id(look.Text(p.ProviderReference)), "Held until", p.HoldExpiresAt, "Payer's page", address(by.page))},
	}
	page.Forms = v.paymentForms(p, by)
}

// paymentForms are what the merchant, the payer and the provider can do with a payment. A code
// can be entered before it is asked for, because the buttons do not follow what happens.
func (v *visit) paymentForms(p *payment.Payment, by payer) (forms []*form) {
	if p.Status == payment.Completed && by.number != "" {
		forms = append(forms, &form{
			Name: "receipt", Title: "Send the receipt again", Label: "Send receipt", Button: "Send the receipt",
			Will: facts("To", look.Join("\n", by.title, by.number), "By", "SMS"), do: act(v.svc.Payments.SendReceipt),
		})
	}
	if left := cedis(p.Amount - p.AmountRefunded); p.Status == payment.Completed && left > 0 {
		amount, reads := amountField("At most "+plainMoney(left)+" can go back."), map[bool]string{true: "for the credit note", false: "optional"}
		amount.Value = strings.ReplaceAll(look.Figures(int64(left)), ",", "")
		kept := map[bool]any{true: sentence("%s is not given back", cedis(*p.Fee))}[*p.Fee > 0]
		return append(forms, &form{
			Name: "refund", Title: "Refund", Button: "Refund", Danger: true,
			Fields: ask(amount, field{Name: "reason", Label: "Reason", Soft: reads[p.Invoice != nil]}),
			Will:   facts("Amount", sentence("Up to %s", left), "To", look.Join("\n", by.title, by.below), "From", v.merchant.Name, "Fee", kept), Note: "The money goes back the way it came.",
			do: func(v *visit, in *input) (any, error) {
				made, err := create(v, in, v.svc.Refunds.Create, refund.CreateParams{Payment: v.id})
				if api.CodeOf(err) == api.AmountTooLarge {
					err = api.Invalid("amount", "The amount is more than what is left.")
				}
				return made, err
			},
		})
	}
	if p.PaymentMethod != payment.FromPhone || !slices.Contains([]payment.Status{payment.Pending, payment.Processing}, p.Status) {
		return forms
	}
	forms = append(outcomes("the payer", "approve", "decline", facts("From", by.title, "Taken", cedis(0))), &form{
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
	{Name: "provider", Label: "Network", Kind: "select", Options: append([]option{{Label: "As the number says"}}, networkOptions()...)},
}
