package httpapi

import (
	"context"
	"io"
	"net/http"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
)

// transferRoutes send money out, and look up where it may go.
func transferRoutes(svc *payments.Service) []route {
	p := payoutHandlers(svc)
	d := disbursementHandlers(svc)
	h := moneyOutHandlers{svc}
	return []route{
		{method: http.MethodPost, pattern: "/v1/payouts", resource: "payouts", write: true, handle: h.createPayout},
		{method: http.MethodGet, pattern: "/v1/payouts", resource: "payouts", handle: p.list},
		{method: http.MethodGet, pattern: "/v1/payouts/{id}", resource: "payouts", handle: p.get},
		{method: http.MethodPost, pattern: "/v1/payouts/{id}/cancel", resource: "payouts", write: true, handle: p.cancel},
		// A code is worth something only for payouts.
		{method: http.MethodPost, pattern: "/v1/otp/request", resource: "payouts", write: true, handle: h.requestOTP},
		{method: http.MethodPost, pattern: "/v1/otp/verify", resource: "payouts", write: true, handle: h.verifyOTP},

		{method: http.MethodPost, pattern: "/v1/disbursements", resource: "disbursements", write: true, handle: h.createDisbursement},
		{method: http.MethodGet, pattern: "/v1/disbursements", resource: "disbursements", handle: d.list},
		{method: http.MethodGet, pattern: "/v1/disbursements/{id}", resource: "disbursements", handle: d.get},
		{method: http.MethodPost, pattern: "/v1/disbursements/{id}/cancel", resource: "disbursements", write: true, handle: d.cancel},
		{method: http.MethodPost, pattern: "/v1/disbursements/qr", resource: "disbursements", write: true, handle: h.createQRDisbursement},

		{method: http.MethodGet, pattern: "/v1/lookup/banks", resource: "lookup", handle: h.banks},
		// Looking up changes nothing, so a read-only key may do it.
		{method: http.MethodPost, pattern: "/v1/lookup/service-id", resource: "lookup", handle: h.serviceID},
		{method: http.MethodPost, pattern: "/v1/lookup/account-name", resource: "lookup", handle: h.accountName},
	}
}

// transferHandlers are what payouts and disbursements have in common.
type transferHandlers struct {
	getOne    func(context.Context, api.Caller, string) (*payout.Transfer, error)
	getJSON   func(context.Context, api.Caller, string, io.Writer) error
	listJSON  func(context.Context, api.Caller, payout.ListParams, io.Writer) error
	statuses  func() []payout.Status
	cancelOne func(context.Context, api.Caller, string) (*payout.Transfer, error)
	providers provider.Service
}

func payoutHandlers(svc *payments.Service) transferHandlers {
	s := svc.Payouts
	return transferHandlers{s.Get, s.GetJSON, s.ListJSON, payout.Statuses, s.Cancel, svc.Providers}
}

func disbursementHandlers(svc *payments.Service) transferHandlers {
	s := svc.Disbursements
	return transferHandlers{s.Get, s.GetJSON, s.ListJSON, disbursement.Statuses, s.Cancel, svc.Providers}
}

func (h transferHandlers) get(r *request) (any, error) {
	return answerObject(r, h.getJSON)
}

func (h transferHandlers) list(r *request) (any, error) {
	q := r.query()
	p := payout.ListParams{Page: q.page(), Status: oneOf(q, "status", h.statuses()...), Created: q.times("created")}
	if err := q.err(); err != nil {
		return nil, err
	}
	return answerList(r, p, h.listJSON)
}

func (h transferHandlers) cancel(r *request) (any, error) {
	return h.cancelOne(r.Context(), r.caller, r.id())
}

// settle is a test helper: it plays the rail.
func (h transferHandlers) settle(r *request) (any, error) {
	b := r.body()
	b.require("outcome")
	outcome, reason := b.text("outcome"), b.text("failure_reason")
	if err := b.err(); err != nil {
		return nil, err
	}
	var result provider.Result
	switch outcome {
	case "succeeded":
		result.Outcome = provider.Paid
	case "failed":
		result.Outcome, result.Reason = provider.Refused, provider.Refusal{Message: reason, Verbatim: reason != ""}
	default:
		return nil, api.Invalid("outcome", "outcome must be succeeded or failed.")
	}
	if err := check.Text("failure_reason", reason, api.MaxText); err != nil {
		return nil, err
	}
	if _, err := h.getOne(r.Context(), r.caller, r.id()); err != nil {
		return nil, err // it may be of the other noun
	}
	if err := h.providers.Settle(r.Context(), r.caller, r.id(), result); err != nil {
		return nil, err
	}
	return h.getOne(r.Context(), r.caller, r.id())
}

type moneyOutHandlers struct{ svc *payments.Service }

func (h moneyOutHandlers) createPayout(r *request) (any, error) {
	b := r.body()
	b.require("amount", "destination")
	p := payout.CreateParams{
		Amount:      b.ghs("amount"),
		Currency:    b.text("currency"),
		Destination: destination(b),
		OTPCode:     b.text("otp_code"),
		Description: b.text("description"),
		Metadata:    b.metadata("metadata"),
	}
	// To the service an empty code is one that was left out; this one was sent.
	if code := b.optionalText("otp_code"); code != nil && *code == "" {
		b.fail(api.Invalid("otp_code", "otp_code must be a string of six digits."))
	}
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.svc.Payouts.Create(r.Context(), r.caller, p)
}

func (h moneyOutHandlers) createDisbursement(r *request) (any, error) {
	b := r.body()
	b.require("amount", "destination")
	p := disbursementParams(b)
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.svc.Disbursements.Create(r.Context(), r.caller, p)
}

// disbursementParams reads a disbursement: a whole body, or a row of a batch.
func disbursementParams(b *fields) disbursement.CreateParams {
	return disbursement.CreateParams{
		Amount:      b.ghs("amount"),
		Currency:    b.text("currency"),
		Destination: destination(b),
		Description: b.text("description"),
		Reference:   b.text("reference"),
		Metadata:    b.metadata("metadata"),
	}
}

// destination reads the nested destination.
func destination(b *fields) payout.DestinationParams {
	d := b.object("destination")
	return payout.DestinationParams{
		Type:          payout.Type(d.text("type")),
		PhoneNumber:   d.text("phone_number"),
		Provider:      d.text("provider"),
		AccountNumber: d.text("account_number"),
		BankCode:      d.text("bank_code"),
		AccountName:   d.text("account_name"),
		MatchName:     d.boolean("match_account_name"),
		ServiceID:     d.text("service_id"),
		AccountID:     d.text("account_id"),
	}
}

func (h moneyOutHandlers) createQRDisbursement(r *request) (any, error) {
	b := r.body()
	b.require("qr_payload")
	p := disbursement.CreateQRParams{
		Payload:     b.text("qr_payload"),
		Amount:      b.optionalGHS("amount"),
		Currency:    b.text("currency"),
		Description: b.text("description"),
		Reference:   b.text("reference"),
		Metadata:    b.metadata("metadata"),
	}
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.svc.Disbursements.CreateQR(r.Context(), r.caller, p)
}

func (h moneyOutHandlers) requestOTP(r *request) (any, error) {
	b := r.body()
	b.require("purpose")
	purpose := payout.Purpose(b.text("purpose"))
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.svc.Payouts.RequestOTP(r.Context(), r.caller, purpose)
}

func (h moneyOutHandlers) verifyOTP(r *request) (any, error) {
	b := r.body()
	b.require("code", "purpose")
	code, purpose := b.text("code"), payout.Purpose(b.text("purpose"))
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.svc.Payouts.VerifyOTP(r.Context(), r.caller, payout.OTPParams{Purpose: purpose, Code: code})
}

func (h moneyOutHandlers) banks(r *request) (any, error) {
	return h.svc.Payouts.ListBanks(r.Context(), r.caller)
}

func (h moneyOutHandlers) serviceID(r *request) (any, error) {
	b := r.body()
	b.require("service_id")
	id := b.text("service_id")
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.svc.Accounts.LookUpServiceID(r.Context(), r.caller, id)
}

func (h moneyOutHandlers) accountName(r *request) (any, error) {
	b := r.body()
	p := payout.DestinationParams{
		Type: payout.Type(b.text("type")), PhoneNumber: b.text("phone_number"), Provider: b.text("provider"),
		AccountNumber: b.text("account_number"), BankCode: b.text("bank_code"),
	}
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.svc.Payouts.LookUpAccountName(r.Context(), r.caller, p)
}
