package payout_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
)

// Each wrong parameter gets a refusal that names it, and no money moves.
func TestInvalidTransfersAreRefused(t *testing.T) {
	s := open(t, payments.Config{})
	long := strings.Repeat("x", 501)
	type params = disbursement.CreateParams
	momoTo := func(change func(*payout.DestinationParams)) func(*params) {
		return func(p *params) { change(&p.Destination) }
	}
	bankTo := func(change func(*payout.DestinationParams)) func(*params) {
		return func(p *params) {
			p.Destination = bank("1234567890")
			change(&p.Destination)
		}
	}
	for name, test := range map[string]struct {
		change func(*params)
		code   api.Code
		param  string
	}{
		"another currency":    {func(p *params) { p.Currency = "USD" }, api.CurrencyNotSupported, "currency"},
		"a long description":  {func(p *params) { p.Description = long }, api.ParameterInvalid, "description"},
		"nested metadata":     {func(p *params) { p.Metadata = api.Metadata{"m": []any{}} }, api.ParameterInvalid, "metadata.m"},
		"half a pesewa":       {func(p *params) { p.Amount = decimal.RequireFromString("1.005") }, api.ParameterInvalid, "amount"},
		"nothing":             {func(p *params) { p.Amount = decimal.Zero }, api.AmountTooSmall, "amount"},
		"less than nothing":   {func(p *params) { p.Amount = decimal.New(-1, 0) }, api.AmountTooSmall, "amount"},
		"a pesewa too much":   {func(p *params) { p.Amount = decimal.RequireFromString("20000.01") }, api.AmountTooLarge, "amount"},
		"more than there is":  {func(p *params) { p.Amount = decimal.New(1, 30) }, api.AmountTooLarge, "amount"},
		"no type":             {momoTo(func(d *payout.DestinationParams) { d.Type = "" }), api.ParameterMissing, "destination.type"},
		"another type":        {momoTo(func(d *payout.DestinationParams) { d.Type = "pigeon" }), api.ParameterInvalid, "destination.type"},
		"a long name":         {momoTo(func(d *payout.DestinationParams) { d.AccountName = long }), api.ParameterInvalid, "destination.account_name"},
		"a match with nobody": {momoTo(func(d *payout.DestinationParams) { d.MatchName = true }), api.ParameterMissing, "destination.account_name"},
		"no number":           {momoTo(func(d *payout.DestinationParams) { d.PhoneNumber = "" }), api.ParameterMissing, "destination.phone_number"},
		"a number abroad":     {momoTo(func(d *payout.DestinationParams) { d.PhoneNumber = "+4412345678" }), api.InvalidPhoneNumber, "destination.phone_number"},
		"a landline":          {momoTo(func(d *payout.DestinationParams) { d.PhoneNumber = "0302123456" }), api.InvalidPhoneNumber, "destination.phone_number"},
		"another provider":    {momoTo(func(d *payout.DestinationParams) { d.Provider = "glo" }), api.ParameterInvalid, "destination.provider"},
		"no account":          {bankTo(func(d *payout.DestinationParams) { d.AccountNumber = "" }), api.ParameterMissing, "destination.account_number"},
		"no bank":             {bankTo(func(d *payout.DestinationParams) { d.BankCode = "" }), api.ParameterMissing, "destination.bank_code"},
		"another bank":        {bankTo(func(d *payout.DestinationParams) { d.BankCode = "999999" }), api.InvalidDestination, "destination.bank_code"},
		"a short account":     {bankTo(func(d *payout.DestinationParams) { d.AccountNumber = "1234" }), api.InvalidDestination, "destination.account_number"},
		"a long account":      {bankTo(func(d *payout.DestinationParams) { d.AccountNumber = strings.Repeat("1", 31) }), api.InvalidDestination, "destination.account_number"},
		"letters":             {bankTo(func(d *payout.DestinationParams) { d.AccountNumber = "12345x7890" }), api.InvalidDestination, "destination.account_number"},
		"a wallet of nobody": {
			func(p *params) { p.Destination = payout.DestinationParams{Type: payout.ServiceWallet} }, api.ParameterMissing, "destination.service_id",
		},
	} {
		p := params{Amount: decimal.NewFromInt(10), Destination: momo("0241234567")}
		test.change(&p)
		_, err := s.Disbursements.Create(t.Context(), s.Caller, p)
		var e *api.Error
		expect.True(t, errors.As(err, &e) && e.Code == test.code && e.Param == test.param, "%s: got %+v", name, err)
		_, err = s.Payouts.Create(t.Context(), s.Caller, payout.CreateParams{
			Amount: p.Amount, Currency: p.Currency, Destination: p.Destination, Description: p.Description, Metadata: p.Metadata, OTPCode: "123456",
		})
		expect.True(t, errors.As(err, &e) && e.Code == test.code && e.Param == test.param, "%s, of a payout: got %+v", name, err)
	}
	_, err := s.Disbursements.Create(t.Context(), s.Caller, params{Amount: decimal.NewFromInt(1), Destination: momo("0241234567"), Reference: strings.Repeat("r", 101)})
	testkit.WantCode(t, "a long reference", err, api.ParameterInvalid)
	for what, purpose := range map[string]payout.Purpose{"no purpose": "", "another purpose": "LOGIN"} {
		_, err := s.Payouts.RequestOTP(t.Context(), s.Caller, purpose)
		expect.True(t, api.CodeOf(err) != "", "%s: %v", what, err)
		_, err = s.Payouts.VerifyOTP(t.Context(), s.Caller, payout.OTPParams{Purpose: purpose, Code: "123456"})
		expect.True(t, api.CodeOf(err) != "", "%s: %v", what, err)
	}
	live := api.Caller{Merchant: s.Caller.Merchant, Live: true}
	testkit.WantCode(t, "live, without a rail", testkit.Err(s.Disbursements.Create(t.Context(), live, params{Amount: decimal.NewFromInt(1), Destination: momo("0241234567")})), api.Unavailable)
	err = s.Providers.Settle(t.Context(), live, "po_1", provider.Result{Outcome: provider.Paid})
	testkit.WantCode(t, "settled by hand in live mode", err, api.PermissionDenied)
	balance, err := s.Accounts.Balance(t.Context(), s.Caller)
	expect.True(t, err == nil && balance.Available.Equal(decimal.NewFromInt(paymentstest.InitialBalance)) && balance.Reserved.IsZero(), "the balance is %+v, %v", balance, err)
	banks := must.Get(s.Payouts.ListBanks(t.Context(), s.Caller))(t)
	expect.True(t, len(banks.Data) != 0 && banks.URL == "/v1/lookup/banks", "banks %+v", banks)
}
