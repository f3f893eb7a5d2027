package httpapi

import (
	"context"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/payout"
)

// transferRoutes send money out, and look up where it may go.
func transferRoutes(svc *payments.Service) []route {
	const payouts, disbursements, lookup = "payouts", "disbursements", "lookup"
	p, d := svc.Payouts, svc.Disbursements
	return []route{
		write(payouts, "POST /v1/payouts", withBody(createPayout(p))),
		read(payouts, "GET /v1/payouts", listPayouts(p)),
		read(payouts, "GET /v1/payouts/{id}", getFrom(p, p.Get)),
		write(payouts, "POST /v1/payouts/{id}/cancel", withID(p.Cancel)),
		// A code is worth something only for payouts.
		write(payouts, "POST /v1/otp/request", withBody(
			func(ctx context.Context, caller api.Caller, o otpPurpose) (*payout.OTP, error) {
				return p.RequestOTP(ctx, caller, o.Purpose)
			})),
		write(payouts, "POST /v1/otp/verify", withBody(p.VerifyOTP)),

		write(disbursements, "POST /v1/disbursements", withBody(d.Create)),
		read(disbursements, "GET /v1/disbursements", listFrom(d, d.List, oneOf("status", disbursement.Statuses()...))),
		read(disbursements, "GET /v1/disbursements/{id}", getFrom(d, d.Get)),
		write(disbursements, "POST /v1/disbursements/{id}/cancel", withID(d.Cancel)),
		write(disbursements, "POST /v1/disbursements/qr", withBody(d.CreateQR)),

		read(lookup, "GET /v1/lookup/banks", withCaller(p.ListBanks)),
		// Looking up changes nothing, so a read-only key may do it.
		read(lookup, "POST /v1/lookup/service-id", withBody(
			func(ctx context.Context, caller api.Caller, l serviceIDLookup) (*account.ServiceIDLookup, error) {
				return svc.Accounts.LookUpServiceID(ctx, caller, l.ServiceID)
			})),
		read(lookup, "POST /v1/lookup/account-name", withBody(
			func(ctx context.Context, caller api.Caller, l accountNameLookup) (*payout.AccountName, error) {
				return p.LookUpAccountName(ctx, caller, payout.DestinationParams{
					Type: l.Type, PhoneNumber: l.PhoneNumber, Provider: l.Provider, AccountNumber: l.AccountNumber, BankCode: l.BankCode,
				})
			})),
	}
}

// payoutFilters are those of payouts, which have no reference.
type payoutFilters struct {
	api.Page
	Status  payout.Status `param:"status"`
	Created api.Times     `param:"created"`
}

func listPayouts(p payout.Service) handler {
	list := listing(p, p.List)
	return decoded(fromQuery[payoutFilters]([]enum{oneOf("status", payout.Statuses()...)}), func(r *request, f payoutFilters) (any, error) {
		return list(r, payout.ListParams{Page: f.Page, Status: f.Status, Created: f.Created})
	})
}

type otpPurpose struct {
	Purpose payout.Purpose `param:"purpose,required"`
}

type serviceIDLookup struct {
	ServiceID string `param:"service_id,required"`
}

// accountNameLookup is what of a destination has a name that can be looked up.
type accountNameLookup struct {
	Type          payout.Type `param:"type"`
	PhoneNumber   string      `param:"phone_number"`
	Provider      string      `param:"provider"`
	AccountNumber string      `param:"account_number"`
	BankCode      string      `param:"bank_code"`
}

// payoutParams tell an empty code from one that was left out, as the service cannot.
type payoutParams struct {
	payout.CreateParams
	Code *string `param:"otp_code"`
}

func createPayout(s payout.Service) func(context.Context, api.Caller, payoutParams) (*payout.Transfer, error) {
	return func(ctx context.Context, caller api.Caller, p payoutParams) (*payout.Transfer, error) {
		if p.Code != nil {
			if *p.Code == "" {
				return nil, api.Invalid("otp_code", "otp_code must be a string of six digits.")
			}
			p.OTPCode = *p.Code
		}
		return s.Create(ctx, caller, p.CreateParams)
	}
}
