package inspector

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
)

// phonePayer is who pays from a phone, in a form.
func phonePayer() []field {
	return []field{
		{
			Name: "phone_number", Label: "Payer's phone number", Required: true,
			Hint: "Its last digits decide what the simulated charger does: see the sandbox page.",
		},
		{
			Name: "provider", Label: "Network", Kind: "select",
			Options: append([]option{{"", "as the number says"}}, options("mtn", "telecel", "airteltigo")...),
		},
	}
}

func (in *input) phonePayer() payment.MobileMoney {
	return payment.MobileMoney{PhoneNumber: in.text("phone_number"), Provider: in.text("provider")}
}

func (v *visit) createPayment(in *input) (*result, error) {
	amount := in.pesewas("amount")
	if amount == nil {
		in.refuse(api.Missing("amount"))
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	return v.paymentStarted(v.svc.Payments.Create(v.Context(), v.caller, payment.CreateParams{
		Amount: *amount, MobileMoney: in.phonePayer(),
		Description: in.text("description"), Reference: in.text("reference"), Customer: in.text("customer"),
	}))
}

// payCodeFromPhone pays the page's QR code as a payer does on the payment page.
func (v *visit) payCodeFromPhone(in *input) (*result, error) {
	p := qrcode.PayParams{MobileMoney: in.phonePayer(), Amount: in.pesewas("amount")}
	if p.PhoneNumber == "" { // which would pay from a wallet
		in.refuse(api.Missing("phone_number"))
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	return v.paymentStarted(v.svc.QRCodes.Pay(v.Context(), v.caller, v.id, p))
}

func (v *visit) payInvoiceFromPhone(in *input) (*result, error) {
	return v.paymentStarted(v.svc.Invoices.StartPayment(v.Context(), v.caller, v.id, in.phonePayer()))
}

// paymentStarted leads to a payment; nil means that nothing was due.
func (v *visit) paymentStarted(p *payment.Payment, err error) (*result, error) {
	if err != nil || p == nil {
		return nil, err
	}
	return &result{redirect: v.url("payments", p.ID)}, nil
}

// payerPage returns the address of the page that follows a payment from a phone, or "" for any
// other payment.
func (v *visit) payerPage(p *payment.Payment) (string, error) {
	token, err := v.svc.Payments.PageToken(v.Context(), v.caller, p.ID)
	if api.CodeOf(err) == api.ResourceMissing {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return v.svc.BaseURL() + "/payment/" + token, nil
}

// actionsFromPhone are what the merchant, the payer and the provider can do with a payment from a
// phone. The code can be entered before it is asked for, because the forms do not follow what
// happens.
func actionsFromPhone(p *payment.Payment, forms []*form) (buttons, all []*form) {
	if p.Status != payment.Pending && p.Status != payment.Processing {
		return nil, forms
	}
	if p.Status == payment.Pending {
		buttons = []*form{{Name: "cancel", Button: "Cancel", Danger: true, do: (*visit).cancelPayment}}
	}
	buttons = append(buttons, &form{Name: "succeed", Button: "Let the payer approve", do: (*visit).settlePaid})
	return buttons, append(forms, &form{
		Name: "confirm", Title: "Enter the payer's code", Button: "Pass the code on",
		Hint:   "Only a payment that asks for a code takes one.",
		Fields: []field{{Name: "code", Label: "Code", Required: true}},
		do:     (*visit).confirmPayment,
	}, &form{
		Name: "fail", Title: "Let the payer decline", Button: "Decline it", Fields: failureFields(), do: (*visit).settleRefused,
	})
}

func (v *visit) cancelPayment(*input) (*result, error) {
	_, err := v.svc.Payments.Cancel(v.Context(), v.caller, v.id)
	return nil, err
}

func (v *visit) confirmPayment(in *input) (*result, error) {
	_, err := v.svc.Payments.Confirm(v.Context(), v.caller, v.id, payment.ConfirmParams{Code: in.text("code")})
	return nil, err
}

// failureFields are the fields of a form that lets a provider refuse an order.
func failureFields() []field {
	return []field{{Name: "failure_reason", Label: "Reason", Hint: "Empty for the usual one."}}
}

// settlePaid plays a provider that has carried out the page's order.
func (v *visit) settlePaid(*input) (*result, error) {
	err := v.svc.Providers.Settle(v.Context(), v.caller, v.id, provider.Result{Outcome: provider.Paid})
	return nil, err
}

// settleRefused plays a provider that has refused the page's order.
func (v *visit) settleRefused(in *input) (*result, error) {
	reason := in.text("failure_reason")
	if err := check.Text("failure_reason", reason, api.MaxText); err != nil {
		return nil, err
	}
	err := v.svc.Providers.Settle(v.Context(), v.caller, v.id, provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: reason}})
	return nil, err
}

// settleReversed plays a provider that takes the page's order back.
func (v *visit) settleReversed(in *input) (*result, error) {
	reason := in.text("failure_reason")
	if err := check.Text("failure_reason", reason, api.MaxText); err != nil {
		return nil, err
	}
	err := v.svc.Providers.Settle(v.Context(), v.caller, v.id, provider.Result{Outcome: provider.Reversed, Reason: provider.Refusal{Message: reason}})
	return nil, err
}
