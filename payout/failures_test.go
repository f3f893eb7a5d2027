package payout_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
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
		testkit.WantParam(t, name, err, test.code, test.param)
		_, err = s.Payouts.Create(t.Context(), s.Caller, payout.CreateParams{
			Amount: p.Amount, Currency: p.Currency, Destination: p.Destination, Description: p.Description, Metadata: p.Metadata, OTPCode: "123456",
		})
		testkit.WantParam(t, name+", of a payout", err, test.code, test.param)
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
	batch := disbursement.CreateBatchParams{Rows: []disbursement.RowParams{{CreateParams: params{Amount: decimal.NewFromInt(1), Destination: momo("0241234567")}}}}
	testkit.WantCode(t, "a live batch, without a rail", testkit.Err(s.Disbursements.CreateBatch(t.Context(), live, batch)), api.Unavailable)
	err = s.Providers.Settle(t.Context(), live, "po_1", provider.Result{Outcome: provider.Paid})
	testkit.WantCode(t, "settled by hand in live mode", err, api.PermissionDenied)
	balance := must.Get(s.Accounts.Balance(t.Context(), s.Caller))(t)
	expect.True(t, balance.Available.Equal(decimal.NewFromInt(paymentstest.InitialBalance)), "available %s", balance.Available)
	expect.True(t, balance.Reserved.IsZero(), "reserved %s", balance.Reserved)
	banks := must.Get(s.Payouts.ListBanks(t.Context(), s.Caller))(t)
	expect.True(t, len(banks.Data) != 0, "no banks")
	expect.Equal(t, banks.URL, "/v1/lookup/banks", "URL of the banks")
}

// poor is a rail at which the operator has too little money.
type poor struct{ quiet }

var tooLittle = provider.Refusal{Code: api.ProviderBalanceInsufficient}

func (poor) Submit(context.Context, provider.Transfer) (provider.Result, error) {
	return provider.Result{Outcome: provider.Refused, Reason: tooLittle}, nil
}

// foresighted is a poor rail that says so before anything is reserved.
type foresighted struct{ poor }

func (foresighted) Check(context.Context, provider.Transfer) error { return &tooLittle }

// A transfer that fails because the operator has too little money at the provider has a code of its own.
// The operator gets a log line. It names neither the destination nor the amount.
func TestOperatorHasTooLittleAtProvider(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	logged := func(id string) {
		t.Helper()
		text := log.String()
		expect.Equal(t, strings.Count(text, "level=ERROR"), 1, "errors in the log %s", text)
		expect.True(t, strings.Contains(text, "too little money"), "the log does not say why: %s", text)
		expect.True(t, strings.Contains(text, id), "the log does not name %s: %s", id, text)
		expect.True(t, !strings.Contains(text, "1234567"), "the log shows the number: %s", text)
		expect.True(t, !strings.Contains(text, "5.43"), "the log shows the amount: %s", text)
		log.Reset()
	}
	s := open(t, payments.Config{Test: payments.Providers{Rail: poor{}}, Logger: logger})
	made := must.Get(s.disburse("5.43", momo("0241234567")))(t)
	must.Do(t, s.Drain(t.Context()))
	is := s.get(made.ID)
	expect.Equal(t, is.Status, payout.Failed, "status")
	expect.Equal(t, *is.FailureReason, "provider_balance_insufficient: The operator has too little money at the provider. Try again later.", "why")
	expect.Equal(t, s.available(), "1000", "available")
	logged(made.ID)

	s = open(t, payments.Config{Test: payments.Providers{Rail: foresighted{}}, Logger: logger})
	testkit.WantParam(t, "refused beforehand", testkit.Err(s.disburse("5.43", momo("0241234567"))), api.ProviderBalanceInsufficient, "")
	logged("")
}

// slowRail tells what it is asked, and answers Submit when the test does.
type slowRail struct {
	asked   chan string
	answers chan error // nil for Paid
}

func (r slowRail) Submit(context.Context, provider.Transfer) (provider.Result, error) {
	r.asked <- "submit"
	return provider.Result{Outcome: provider.Paid}, <-r.answers
}

func (r slowRail) Status(context.Context, provider.Transfer) (provider.Result, error) {
	r.asked <- "status"
	return provider.Result{Outcome: provider.Paid}, nil
}

// A free slot submits a transfer right after the commit. Its caller sees it as pending, and
// all others as processing: the rail may have it, so it cannot be cancelled any more.
func TestFreeSlotSubmitsAfterCommit(t *testing.T) {
	for name, lost := range map[string]error{"answered": nil, "lost": errors.New("a broken connection")} {
		t.Run(name, func(t *testing.T) {
			rail := slowRail{make(chan string, 2), make(chan error)}
			s := open(t, payments.Config{Test: payments.Providers{Rail: rail}})
			s.Service.Start(t.Context())
			made := must.Get(s.disburse("10", momo("0241234567")))(t)
			expect.True(t, made.Status == payout.Pending, "the answer is %s, want pending", made.Status)
			expect.Equal(t, <-rail.asked, "submit", "the question to the rail")
			if now := must.Get(s.Disbursements.Get(t.Context(), s.Caller, made.ID))(t); now.Status != payout.Processing {
				t.Errorf("with the rail it is %s, want processing", now.Status)
			}
			testkit.WantCode(t, "cancel", testkit.Err(s.Disbursements.Cancel(t.Context(), s.Caller, made.ID)), api.DisbursementNotCancellable)
			rail.answers <- lost
			must.Do(t, s.Service.Drain(t.Context()))
			must.Do(t, s.Service.Stop(t.Context()))
			if lost != nil {
				s.Pass(time.Minute)
				must.Do(t, s.Service.Drain(t.Context()))
				expect.Equal(t, <-rail.asked, "status", "the question to the rail after a lost answer")
			}
			if now := must.Get(s.Disbursements.Get(t.Context(), s.Caller, made.ID))(t); now.Status != payout.Completed {
				t.Errorf("in the end it is %s, want completed", now.Status)
			}
			var got []event.Type
			for _, e := range must.Get(s.Events.List(t.Context(), s.Caller, event.ListParams{}))(t).Data {
				got = append(got, e.Type)
			}
			slices.Reverse(got)
			want := []event.Type{"disbursement.created", "disbursement.pending", "disbursement.processing", "disbursement.completed"}
			expect.True(t, slices.Equal(got, want), "events %v, want %v", got, want)
			s.Verified()
		})
	}
}

// contradicting is a rail whose callback reports one outcome before it answers another.
type contradicting struct {
	s             *shop
	first, answer provider.Outcome
}

func (r *contradicting) Submit(ctx context.Context, o provider.Transfer) (provider.Result, error) {
	err := r.s.Providers.Notify(ctx, o.ID, provider.Result{Outcome: r.first})
	return provider.Result{Outcome: r.answer}, err
}

func (r *contradicting) Status(ctx context.Context, o provider.Transfer) (provider.Result, error) {
	return r.Submit(ctx, o)
}

// A rail that reports the opposite of what it reported before, in a callback or as an
// answer, changes nothing that is booked. The log and the observer are told, and people
// find the transfer in the list until they have resolved it.
func TestContradictionsBookNothing(t *testing.T) {
	silent := quiet{err: errors.New("no answer")}
	report := func(outcomes ...provider.Outcome) func(*testing.T, *shop, string) {
		return func(t *testing.T, s *shop, id string) {
			must.Do(t, s.Drain(t.Context()))
			for i, o := range outcomes {
				err := s.Providers.Notify(t.Context(), id, provider.Result{Outcome: o})
				if want := i > 0; errors.Is(err, provider.ErrContradicted) != want {
					t.Errorf("%s: %v", o, err)
				}
			}
		}
	}
	for name, test := range map[string]struct {
		rail provider.Rail
		do   func(*testing.T, *shop, string)
		how  string
	}{
		"paid, then refused":  {silent, report(provider.Paid, provider.Refused), "completed, and now refused"},
		"refused, then paid":  {silent, report(provider.Refused, provider.Paid), "failed, and now paid"},
		"told, then answered": {&contradicting{nil, provider.Refused, provider.Paid}, report(), "failed, and now paid"},
		"cancelled, then paid": {silent, func(t *testing.T, s *shop, id string) {
			must.Get(s.Disbursements.Cancel(t.Context(), s.Caller, id))(t)
			err := s.Providers.Notify(t.Context(), id, provider.Result{Outcome: provider.Paid})
			expect.True(t, errors.Is(err, provider.ErrContradicted), "paid: %v", err)
		}, "cancelled, and now paid"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			seen := testkit.Contradictions()
			s := open(t, payments.Config{Test: payments.Providers{Rail: test.rail}, Observer: seen, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if r, ok := test.rail.(*contradicting); ok {
				r.s = s
			}
			made := must.Get(s.disburse("5", momo("0241234567")))(t)
			testkit.WantCode(t, "resolved too early", s.Providers.Resolve(t.Context(), made.ID), api.ResourceMissing)
			test.do(t, s, made.ID)

			before := must.Get(s.Disbursements.Get(t.Context(), s.Caller, made.ID))(t)
			if text := log.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, `how="`+test.how+`"`) ||
				strings.Contains(text, "tried again") || strings.Contains(text, "1234567") {
				t.Errorf("the log says: %s", text)
			}
			want := []payments.Work{{
				Queue: "disbursements", ID: made.ID, Merchant: s.Caller.Merchant, Records: 1,
				Outcome: "contradicted", Level: slog.LevelError, Err: provider.ErrContradicted,
			}}
			if name == "told, then answered" { // the answer of a call, which names the provider
				want[0].Provider = "rail"
			}
			if diff := cmp.Diff(want, seen.Ended, cmpopts.EquateErrors(), cmpopts.IgnoreFields(payments.Work{}, "Wait", "Duration", "Attempt")); diff != "" {
				t.Errorf("the observer (-want +got)\n%s", diff)
			}
			stuck := func() []provider.OrderInfo {
				t.Helper()
				s.Pass(2 * time.Hour)
				must.Do(t, s.Drain(t.Context()))
				list := must.Get(s.Providers.List(t.Context(), api.Caller{}, provider.ListParams{}))(t)
				expect.Equal(t, must.Get(s.Health(t.Context()))(t).StuckTest, len(list.Data), "counted")
				return list.Data
			}
			if list := stuck(); len(list) != 1 || list[0].ID != made.ID || list[0].Merchant != s.Caller.Merchant || list[0].Contradiction != test.how {
				t.Errorf("listed %+v", list)
			}
			must.Do(t, s.Providers.Resolve(t.Context(), made.ID))
			if list := stuck(); len(list) != 0 {
				t.Errorf("listed when resolved: %+v", list)
			}
			testkit.WantCode(t, "resolved twice", s.Providers.Resolve(t.Context(), made.ID), api.ResourceMissing)
			after := must.Get(s.Disbursements.Get(t.Context(), s.Caller, made.ID))(t)
			expect.Same(t, after, before, "the contents of the store")
			s.Verified()
		})
	}
}
