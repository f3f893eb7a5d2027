package inspector

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
)

// transfers is what payouts and disbursements share.
type transfers struct {
	object, path, title string
	service             interface {
		Get(context.Context, api.Caller, string) (*payout.Transfer, error)
		List(context.Context, api.Caller, payout.ListParams) (*api.List[payout.Transfer], error)
		Cancel(context.Context, api.Caller, string) (*payout.Transfer, error)
	}
}

func (v *visit) ofPayouts() transfers {
	return transfers{"payout", "payouts", "Payout", v.svc.Payouts}
}

func (v *visit) ofDisbursements() transfers {
	return transfers{"disbursement", "disbursements", "Disbursement", v.svc.Disbursements}
}

func (v *visit) payouts() (*page, error) {
	p, err := v.transfers(v.ofPayouts(), "Payouts")
	if err != nil {
		return nil, err
	}
	p.Forms = []*form{
		{
			Name: "request-otp", Title: "1. Request a code", Button: "Request a one-time code",
			Hint: "It goes to the merchant's phone by SMS: read it in the messages.", do: (*visit).requestOTP,
		},
		{
			Name: "verify-otp", Title: "2. Verify the code", Button: "Verify",
			Fields: []field{{Name: "code", Label: "Code of six digits", Required: true}}, do: (*visit).verifyOTP,
		},
		{
			Name: "create", Title: "3. New payout", Button: "Pay out",
			Fields: append(v.destination(),
				field{Name: "otp_code", Label: "Verified code", Required: true},
				field{Name: "description", Label: "Description"}),
			do: (*visit).createPayout,
		},
	}
	return p, nil
}

func (v *visit) disbursements() (*page, error) {
	p, err := v.transfers(v.ofDisbursements(), "Disbursements")
	if err != nil {
		return nil, err
	}
	p.Forms = []*form{
		{
			Name: "create", Title: "New disbursement", Button: "Disburse",
			Fields: append(v.destination(),
				field{Name: "reference", Label: "Reference"},
				field{Name: "description", Label: "Description"}),
			do: (*visit).createDisbursement,
		},
		{
			Name: "scan", Title: "Pay a consumer's QR code", Button: "Disburse",
			Hint: "The sandbox page makes such a code.",
			Fields: []field{
				{Name: "qr_payload", Label: "Payload of the code", Required: true},
				{Name: "amount", Label: "Amount in GHS", Hint: "Empty takes the code's."},
			},
			do: (*visit).disburseQR,
		},
	}
	return p, nil
}

func (v *visit) transfers(t transfers, title string) (*page, error) {
	list, err := t.service.List(v.Context(), v.caller, payout.ListParams{
		Page: v.page(), Status: payout.Status(v.query.Get("status")), Created: v.day(),
	})
	if err != nil {
		return nil, err
	}
	return &page{
		Title: title, NavPath: t.path, Filter: []field{v.filter("status", "Status", stringsOf(payout.Statuses())...), v.dayFilter()},
		Live:     []section{{Rows: rowsOf(list, v.transferRow), Empty: "There is no such " + t.object + "."}},
		NextPage: nextPage(v, list, func(t *payout.Transfer) string { return t.ID }),
	}, nil
}

func (v *visit) transferRow(t *payout.Transfer) row {
	return row{
		Href: v.url(t.Object+"s", t.ID), Title: t.ID, Detail: joinNonEmpty(t.Destination.Number, t.Destination.Name, t.Description),
		Amount: formatGHS(t.Amount), State: string(t.Status), At: t.CreatedAt,
	}
}

// destination is where money is to go, in a form.
func (v *visit) destination() []field {
	banks := []option{{"", "none"}}
	if list, err := v.svc.Payouts.ListBanks(v.Context(), v.caller); err == nil {
		for _, b := range list.Data {
			if b.Active {
				banks = append(banks, option{b.Code, b.Name})
			}
		}
	}
	return []field{
		{Name: "amount", Label: "Amount in GHS", Required: true},
		{Name: "type", Label: "To", Kind: "select", Options: options(string(payout.MobileMoney), string(payout.BankTransfer), string(payout.ServiceWallet))},
		{
			Name: "number", Label: "Number", Required: true, Params: []string{"phone_number", "account_number", "service_id", "account_id"},
			Hint: "Phone number or bank account; for a wallet also a service ID (SVC…) or account ID (acc_…, cag_…). Its last digits decide what the simulated rail does: see the sandbox page.",
		},
		{Name: "bank_code", Label: "Bank", Kind: "select", Options: banks, Hint: "For a bank transfer."},
		{Name: "account_name", Label: "Name of the recipient"},
	}
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

func (v *visit) requestOTP(*input) (*result, error) {
	_, err := v.svc.Payouts.RequestOTP(v.Context(), v.caller, payout.ForPayout)
	return nil, err
}

func (v *visit) verifyOTP(in *input) (*result, error) {
	_, err := v.svc.Payouts.VerifyOTP(v.Context(), v.caller, payout.OTPParams{Purpose: payout.ForPayout, Code: in.text("code")})
	return nil, err
}

func (v *visit) createPayout(in *input) (*result, error) {
	p := payout.CreateParams{
		Amount: in.amount("amount"), Destination: in.destination(), OTPCode: in.text("otp_code"), Description: in.text("description"),
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	return v.transferCreated(v.svc.Payouts.Create(v.Context(), v.caller, p))
}

func (v *visit) createDisbursement(in *input) (*result, error) {
	p := disbursement.CreateParams{
		Amount: in.amount("amount"), Destination: in.destination(), Reference: in.text("reference"), Description: in.text("description"),
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	return v.transferCreated(v.svc.Disbursements.Create(v.Context(), v.caller, p))
}

func (v *visit) disburseQR(in *input) (*result, error) {
	p := disbursement.CreateQRParams{Payload: in.text("qr_payload"), Amount: in.ghs("amount")}
	if err := in.err(); err != nil {
		return nil, err
	}
	return v.transferCreated(v.svc.Disbursements.CreateQR(v.Context(), v.caller, p))
}

func (v *visit) transferCreated(t *payout.Transfer, err error) (*result, error) {
	if err != nil {
		return nil, err
	}
	return &result{redirect: v.url(t.Object+"s", t.ID)}, nil
}

func (v *visit) payout() (*page, error) { return v.transfer(v.ofPayouts()) }

func (v *visit) disbursement() (*page, error) { return v.transfer(v.ofDisbursements()) }

func (v *visit) transfer(of transfers) (*page, error) {
	t, err := of.service.Get(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	history, err := v.history(of.object, t.ID, t.CreatedAt.Time, "pending", "processing", "completed", "failed", "canceled")
	if err != nil {
		return nil, err
	}
	p := &page{
		Title: of.title + " of " + formatGHS(t.Amount), NavPath: of.path,
		Live: []section{
			{
				Facts: nonEmpty(
					fact{Name: "ID", Value: t.ID, Code: true},
					fact{Name: "Status", Value: string(t.Status), State: true},
					fact{Name: "Fee", Value: formatGHS(t.Fee)},
					fact{Name: "To", Value: joinNonEmpty(string(t.Destination.Type), orEmpty(t.Destination.Provider), t.Destination.Number)},
					fact{Name: "Name", Value: t.Destination.Name},
					fact{Name: "Service ID", Value: t.Destination.ServiceID, Code: true},
					fact{Name: "Description", Value: t.Description},
					fact{Name: "Reference", Value: orEmpty(t.Reference)},
					fact{Name: "Provider's reference", Value: orEmpty(t.ProviderReference), Code: true},
					fact{Name: "Failure", Value: orEmpty(t.FailureReason), Wide: true},
					fact{Name: "Created", Value: formatTime(t.CreatedAt)},
					fact{Name: "Completed", Value: formatOptionalTime(t.CompletedAt)},
				),
			},
			history,
			{JSON: indentJSON(t)},
		},
	}
	first := &p.Live[0]
	if t.Status == payout.Created || t.Status == payout.Pending {
		first.Buttons = append(first.Buttons, &form{Name: "cancel", Button: "Cancel", Danger: true, do: of.cancel})
	}
	if t.Status == payout.Pending || t.Status == payout.Processing {
		first.Buttons = append(first.Buttons, &form{Name: "succeed", Button: "Let the rail succeed", do: of.succeed})
		p.Forms = append(p.Forms, &form{
			Name: "fail", Title: "Let the rail fail", Button: "Fail it",
			Fields: failureFields(), do: of.fail,
		})
	}
	if (t.Status == payout.Succeeded || t.Status == payout.Completed) && t.Destination.Type != payout.ServiceWallet {
		p.Forms = append(p.Forms, &form{
			Name: "reverse", Title: "Let the rail take it back", Button: "Take it back",
			Fields: failureFields(), do: (*visit).settleReversed,
		})
	}
	return p, nil
}

func (of transfers) cancel(v *visit, _ *input) (*result, error) {
	_, err := of.service.Cancel(v.Context(), v.caller, v.id)
	return nil, err
}

func (of transfers) succeed(v *visit, _ *input) (*result, error) {
	err := v.svc.Providers.Settle(v.Context(), v.caller, v.id, provider.Result{Outcome: provider.Paid})
	return nil, err
}

func (of transfers) fail(v *visit, in *input) (*result, error) {
	reason := in.text("failure_reason")
	if err := check.Text("failure_reason", reason, api.MaxText); err != nil {
		return nil, err
	}
	err := v.svc.Providers.Settle(v.Context(), v.caller, v.id, provider.Result{
		Outcome: provider.Refused, Reason: provider.Refusal{Message: reason, Verbatim: reason != ""},
	})
	return nil, err
}
