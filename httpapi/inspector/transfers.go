package inspector

import (
	"cmp"
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
)

// transferService is what payouts and disbursements have in common.
type transferService interface {
	Get(context.Context, api.Caller, string) (*payout.Transfer, error)
	List(context.Context, api.Caller, payout.ListParams) (*api.List[payout.Transfer], error)
	RecipientNumber(context.Context, api.Caller, string) (string, error)
	Cancel(context.Context, api.Caller, string) (*payout.Transfer, error)
}

var (
	payoutNoun = transferNoun("payouts", "po", "Payout", "A payout goes to a phone or a bank and needs a one-time code. The sandbox texts the code to Messages.",
		func(v *visit) transferService { return v.svc.Payouts }, (*visit).payoutForms)
	disbursementNoun = transferNoun("disbursements", "", "Disbursement", "A disbursement goes to a phone, a bank or a wallet, without a code.",
		func(v *visit) transferService { return v.svc.Disbursements }, (*visit).disbursementForms)
)

// transferNoun describes payouts or disbursements, whose ids share a prefix; see [pathOf].
func transferNoun(path, prefix, one, none string, service func(*visit) transferService, forms func(*visit) []*form) *noun[payout.Transfer] {
	return &noun[payout.Transfer]{
		path: path, prefix: prefix, way: "to ", one: one, many: one + "s", heads: [5]string{"To", "Amount", "Status", "For", "Time"},
		tab: "status", tabs: options(payout.Completed, payout.Pending, payout.Processing, payout.Failed, payout.Cancelled), dated: true, loud: true, ordered: true, empty: none, forms: forms,
		reads: func(v *visit) reader[payout.Transfer] { return reading(service(v).List, service(v).Get) },
		row: func(v *visit, t *payout.Transfer) row {
			number := v.phone(t.Destination.Number, service(v).RecipientNumber, t.ID)
			name, below := recipient(&t.Destination, number)
			return row{Href: v.url(path, t.ID), Title: name, Below: below, Number: number, Amount: t.Amount, Fee: t.Fee, Net: t.Amount, Badge: state(t.Status), For: t.Description, ForBelow: cmp.Or(look.Text(t.FailureReason), look.Text(t.Reference)), At: t.CreatedAt}
		},
		page: func(v *visit, t *payout.Transfer, p *page) {
			v.transferPage(one, t, p)
			p.Forms = transferForms(p.row.Title, t, act(service(v).Cancel))
		},
	}
}

// recipient names who gets the money, and says beneath with what.
func recipient(d *payout.Destination, number string) (name, below string) {
	with := cmp.Or(network(d.Provider), words(d.Type))
	if d.Type == payout.ServiceWallet {
		number = d.ServiceID
	}
	if d.Name == "" {
		return number, with
	}
	return d.Name, look.Join(" · ", number, with)
}

// phone is a phone number as pages show it: that of the object's record, or what is left of it.
func (v *visit) phone(masked string, whole func(context.Context, api.Caller, string) (string, error), object string) string {
	number, err := whole(v.Context(), v.caller, object)
	if v.note(err); phone.Mask(number) != masked { // a bank account stays as the API masks it
		number = masked
	}
	return look.Phone(number)
}

func (v *visit) payoutForms() []*form {
	return []*form{{
		Name: "create", Title: "Make a payout", Button: "Pay out", Main: true, Will: v.transferWill(),
		Hint:   "A payout needs a code that was verified within the last ten minutes.",
		Fields: ask(v.destination(), field{Name: "otp_code", Label: "Verified code"}, "description"),
		do: func(v *visit, in *input) (any, error) {
			return create(v, in, v.svc.Payouts.Create, payout.CreateParams{OTPCode: in.text("otp_code")})
		},
	}, {
		Name: "request-otp", Button: "Request a code",
		do: func(v *visit, in *input) (any, error) {
			return create(v, in, v.svc.Payouts.RequestOTP, payout.ForPayout)
		},
	}, {
		Name: "verify-otp", Title: "Verify a code", Button: "Verify", Hint: "The SMS with the code stands under Messages.",
		Fields: ask(field{Name: "code", Label: "Code of six digits"}),
		do: func(v *visit, in *input) (any, error) {
			return create(v, in, v.svc.Payouts.VerifyOTP, payout.OTPParams{Purpose: payout.ForPayout})
		},
	}}
}

func (v *visit) disbursementForms() []*form {
	return []*form{{
		Name: "create", Title: "Make a disbursement", Button: "Disburse", Main: true, Will: v.transferWill(),
		Fields: ask(v.destination(), "reference", "description"), do: makes(v.svc.Disbursements.Create),
	}, {
		Name: "scan", Title: "Pay a consumer's QR code", Label: "Pay a QR code", Button: "Disburse", Hint: "A test consumer shows such a code.",
		Fields: ask(field{Name: "qr_payload", Label: "Payload of the code"}, amountField("Empty takes the code's.")), do: makes(v.svc.Disbursements.CreateQR),
	}}
}

// transferWill says what a transfer does to the balance.
func (v *visit) transferWill() []fact {
	return facts("From", v.merchant.Name, "Available", v.stocks()[0].Value, "Fee", "On top of the amount", "Until it ends", "Amount and fee are reserved")
}

// destination is where money is to go, in a form.
func (v *visit) destination() []field {
	banks := []option{{Label: "None"}}
	list, err := v.svc.Payouts.ListBanks(v.Context(), v.caller)
	for i := 0; err == nil && i < len(list.Data); i++ {
		if b := &list.Data[i]; b.Active {
			banks = append(banks, option{Value: b.Code, Label: b.Name})
		}
	}
	return ask(
		"amount",
		field{Name: "type", Label: "To", Kind: "select", Options: options(payout.MobileMoney, payout.BankTransfer, payout.ServiceWallet)},
		field{
			Name: "number", Label: "Number", Params: []string{"phone_number", "account_number", "service_id", "account_id"},
			Hint: "A phone number or a bank account; for a wallet also a service ID (SVC…) or an account ID. Its last digits decide what the simulated rail does.",
		},
		field{Name: "bank_code", Label: "Bank", Kind: "select", Options: banks, Hint: "For a bank transfer."},
		field{Name: "account_name", Label: "Name of the recipient"},
	)
}

func (in *input) destination() payout.DestinationParams {
	d := payout.DestinationParams{Type: payout.Type(in.text("type")), AccountName: in.text("account_name")}
	switch d.Type {
	case payout.BankTransfer:
		d.AccountNumber, d.BankCode = in.text("number"), in.text("bank_code")
	case payout.ServiceWallet:
		w := in.wallet("number")
		d.ServiceID, d.AccountID, d.PhoneNumber = w.ServiceID, w.AccountID, w.Phone
	default:
		d.PhoneNumber = in.text("number")
	}
	return d
}

func (v *visit) transferPage(one string, t *payout.Transfer, p *page) {
	d := &t.Destination
	with := cmp.Or(network(d.Provider), words(d.Type))
	p.Sentence = sentence("%s to %s by %s, %s", v.merchant.Name, p.row.Title, with, v.when(t.CreatedAt))
	said, unanswered := v.attempts(with, t.ProviderReference, t.CompletedAt)
	p.Live = []section{v.timeline(t.Object, t.ID, t.CreatedAt.Time, string(t.Status), []step{
		{"created", "Asked for; amount and fee reserved", "API", "", nil},
		{"pending", "To be given to " + with, with, "", nil},
		{"processing", with + " has it", with, "", nil},
		{"completed", "Arrived", with, "good", said},
		{"failed", cmp.Or(look.Text(t.FailureReason), "Failed"), with, "bad", said},
		{"canceled", "Cancelled; amount and fee are back", "API", "wait", nil},
	}, unanswered...)}
	money := facts("To the recipient", t.Amount, "Fee", t.Fee, "From the balance", cedis(-pesewas(t.Amount)-pesewas(t.Fee)))
	if t.Status == payout.Failed || t.Status == payout.Cancelled { // amount and fee are back
		money = facts("Asked for", t.Amount, "From the balance", cedis(0))
	}
	p.Side = []section{
		{Title: "Money", Money: money},
		{Title: "Recipient", Facts: facts("Name", p.row.Title, "With", p.row.Below, "Account", id(d.AccountID), "Service ID", id(d.ServiceID))},
		{Title: "Details", Facts: facts("Failure", t.FailureReason, "For", t.Description, "Reference", t.Reference, one, id(t.ID),
			"At provider", id(look.Text(t.ProviderReference)))},
	}
}

// transferForms are what the merchant and the simulated rail can do with a transfer.
func transferForms(to string, t *payout.Transfer, cancel action) (forms []*form) {
	will := facts("To", to, "Back to the balance", cedis(pesewas(t.Amount)+pesewas(t.Fee)))
	if t.Status == payout.Pending || t.Status == payout.Processing {
		forms = outcomes("the rail", "succeed", "fail", will)
	}
	if t.Status == payout.Created || t.Status == payout.Pending {
		forms = append(forms, &form{Name: "cancel", Title: "Cancel it", Label: "Cancel", Button: "Cancel it", Danger: true, Will: will, do: cancel})
	}
	if (t.Status == payout.Succeeded || t.Status == payout.Completed) && t.Destination.Type != payout.ServiceWallet {
		forms = append(forms, &form{Name: "reverse", Title: "Let the rail take it back", Label: "Take it back", Button: "Take it back", Danger: true, Fields: ask("failure_reason"), Will: will, do: settle(provider.Reversed)})
	}
	return forms
}
