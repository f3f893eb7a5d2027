package payout_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
)

func ExampleMatchNames() {
	strict, lenient := payout.MatchNames(0), payout.MatchNames(40)
	fmt.Println(strict("kofi MENSAH", "Mr. Mensah, Kofi"), strict("Kofi Mensa", "Kofi Mensah"))
	fmt.Println(lenient("Kofi Mensah", "KOFI ATTA MENSAH"), lenient("Kofi Mensah", "Ama Serwaa"))
	// Output:
	// true false
	// true false
}

func TestMatchNames(t *testing.T) {
	for _, c := range []struct {
		given, registered string
		least             int // the smallest tolerance with which they match
	}{
		{"Kofi Mensah", "KOFI MENSAH", 0},
		{"Mensah  Kofi", "Kofi Mensah", 0},
		{"Dr. Kofi Owusu-Ansah", "OWUSU ANSAH KOFI", 0},
		{"Akɔsua Agyɛman", "AKOSUA AGYEMAN", 0},
		{"Ŋana", "NANA", 0},
		{"José", "Jose\u0301", 0},
		{"N'Tow", "NTOW", 0},
		{"Ｋｏｆｉ", "kofi", 0}, // full width
		{"Kofi Mensa", "Kofi Mensah", 10},
		{"Kofi Mensah", "Kofi Atta Mensah", 32},
		{"Kofi", "Kofi Mensah", 64},
		{"", "Kofi", 101},
		{"Kofi", "", 101},
		{"Mr.", "Mrs", 101},
		{"", "", 101},
	} {
		for tolerance := range 101 {
			want := tolerance >= c.least
			if got := payout.MatchNames(tolerance)(c.given, c.registered); got != want {
				t.Errorf("%q and %q with %d%%: %t", c.given, c.registered, tolerance, got)
				break
			}
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		a, b := rapid.String().Draw(r, "a"), rapid.String().Draw(r, "b")
		match := payout.MatchNames(rapid.IntRange(0, 99).Draw(r, "tolerance"))
		expect.True(r, match(a, b) == match(b, a), "it depends on which is given")
		upper, lower := strings.ToUpper(a), strings.ToLower(a)
		expect.True(r, strings.ToLower(upper) != lower || match(a, b) == match(upper, b), "it depends on the case")
	})
}

// FuzzMatchNames checks that the comparison ends without a panic for any name.
func FuzzMatchNames(f *testing.F) {
	f.Add("Kofi Mensah", "MENSAH KOFI")
	f.Add("\xff", "ɛ\u0301")
	match := payout.MatchNames(20)
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 500 || len(b) > 500 {
			t.Skip()
		}
		expect.True(t, match(a, b) == match(b, a), "it depends on which is given")
	})
}

// namer is a live rail that knows a name, or fails to.
type namer struct {
	provider.Simulated
	name  string
	err   error
	asked *int
}

func (n namer) AccountName(_ context.Context, e provider.Enquiry) (string, error) {
	if n.asked != nil {
		*n.asked++
	}
	if e.Number == "+233241239999" {
		panic("the number is " + e.Number)
	}
	return n.name, n.err
}

// nameless is a rail that cannot tell names.
type nameless struct{ rail provider.Rail }

func (n nameless) Submit(ctx context.Context, o provider.Transfer) (provider.Result, error) {
	return n.rail.Submit(ctx, o)
}

func (n nameless) Status(ctx context.Context, o provider.Transfer) (provider.Result, error) {
	return n.rail.Status(ctx, o)
}

func TestAccountNames(t *testing.T) {
	secret := "+233241234567"
	var log bytes.Buffer
	for name, c := range map[string]struct {
		rail provider.Rail
		to   payout.DestinationParams
		want string
		code api.Code
	}{
		"a name":                {namer{name: "KOFI MENSAH"}, momo("0241234567"), "KOFI MENSAH", ""},
		"a bank's":              {namer{name: "KOFI MENSAH"}, bank("1234567890"), "KOFI MENSAH", ""},
		"a name with dirt":      {namer{name: " KOFI\x00\n MENSAH\t"}, momo("0241234567"), "KOFI MENSAH", ""},
		"no name":               {namer{}, momo("0241234567"), "", api.Unavailable},
		"an error":              {namer{err: errors.New("no route to " + secret)}, momo("0241234567"), "", api.Unavailable},
		"a panic":               {namer{}, momo("0241239999"), "", api.Unavailable},
		"a refusal":             {namer{err: &provider.Refusal{Code: api.InvalidDestination}}, momo("0241234567"), "", api.InvalidDestination},
		"a rail without names":  {nameless{provider.Simulated{}}, momo("0241234567"), "", api.Unavailable},
		"no rail":               {nil, momo("0241234567"), "", api.Unavailable},
		"a wallet":              {namer{}, payout.DestinationParams{Type: payout.ServiceWallet, AccountID: "acc_1"}, "", api.ParameterInvalid},
		"nothing":               {namer{}, payout.DestinationParams{}, "", api.ParameterMissing},
		"a number of elsewhere": {namer{}, momo("+4412345678"), "", api.InvalidPhoneNumber},
		"an unknown bank":       {namer{}, payout.DestinationParams{AccountNumber: "1234567890", BankCode: "1"}, "", api.InvalidDestination},
	} {
		s := open(t, payments.Config{Live: payments.Providers{Rail: c.rail}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		live := api.Caller{Merchant: s.Caller.Merchant, Live: true}
		got, err := s.Payouts.LookUpAccountName(t.Context(), live, c.to)
		testkit.WantCode(t, name, err, c.code)
		if err == nil {
			expect.Equal(t, got.Name, c.want, "%s: name", name)
		}
		var refusal *api.Error
		if errors.As(err, &refusal) && (strings.Contains(refusal.Param, "destination") || strings.Contains(refusal.Message, "destination.")) {
			t.Errorf("%s: %v speaks of a destination", name, err)
		}
	}
	if strings.Contains(log.String(), "1234567") || strings.Contains(log.String(), "1239999") || !strings.Contains(log.String(), "could not tell") {
		t.Errorf("the log: %s", log.String())
	}
}

// A transfer that requires a name succeeds if the name matches within the host's tolerance.
// Otherwise it leaves nothing behind.
func TestMatchNameRefusesOtherNames(t *testing.T) {
	s := open(t, payments.Config{Live: payments.Providers{Rail: namer{err: errors.New("down")}}, NameMatch: payout.MatchNames(10)})
	s.Fund(s.Caller.Merchant, 1000)
	demand := func(to payout.DestinationParams, name string) payout.DestinationParams {
		to.AccountName, to.MatchName = name, true
		return to
	}
	wallet := payout.DestinationParams{Type: payout.ServiceWallet, AccountID: s.Consumer.ID}
	otp := s.request()
	must.Get(s.Payouts.VerifyOTP(t.Context(), s.Caller, payout.OTPParams{Purpose: payout.ForPayout, Code: otp}))(t)
	before := must.Get(s.Accounts.Balance(t.Context(), s.Caller))(t)
	for name, c := range map[string]struct {
		to    payout.DestinationParams
		code  api.Code
		param string
	}{
		"another name":     {demand(momo("0241234560"), "Ama Owusu"), api.AccountNameMismatch, "destination.account_name"},
		"too many slips":   {demand(momo("0241234560"), "Koffi Mensa"), api.AccountNameMismatch, "destination.account_name"},
		"a bank's other":   {demand(bank("1234567891"), "Kofi Mensah"), api.AccountNameMismatch, "destination.account_name"},
		"a wallet's other": {demand(wallet, "Kofi Mensah"), api.AccountNameMismatch, "destination.account_name"},
		"no name":          {demand(momo("0241234560"), ""), api.ParameterMissing, "destination.account_name"},
		"no such account":  {demand(momo("0241230902"), "Kofi Mensah"), api.InvalidDestination, "destination.phone_number"},
		"no answer":        {demand(momo("0241230905"), "Kofi Mensah"), api.Unavailable, ""},
	} {
		_, err := s.disburse("5", c.to)
		testkit.WantParam(t, name, err, c.code, c.param)
		_, err = s.Payouts.Create(t.Context(), s.Caller, payout.CreateParams{Amount: decimal.NewFromInt(5), Destination: c.to, OTPCode: otp})
		expect.Equal(t, api.CodeOf(err), c.code, "%s, as a payout: got %v", name, err)
	}
	live := api.Caller{Merchant: s.Caller.Merchant, Live: true}
	must.Do(t, s.Accounts.Deposit(t.Context(), api.Caller{Live: true}, account.DepositParams{To: live.Merchant, Amount: decimal.NewFromInt(10), Source: "bank"}))
	_, err := s.Disbursements.Create(t.Context(), live, disbursement.CreateParams{Amount: decimal.NewFromInt(1), Destination: demand(momo("0241234560"), "Kofi Mensah")})
	expect.Equal(t, api.CodeOf(err), api.Unavailable, "a live rail that is down: %v", err)
	after := must.Get(s.Accounts.Balance(t.Context(), s.Caller))(t)
	expect.True(t, after.Available.Equal(before.Available.Decimal), "refused transfers left %+v of %+v", after, before)
	expect.True(t, after.Reserved.IsZero(), "refused transfers reserve %s", after.Reserved)
	for _, to := range []payout.DestinationParams{
		demand(momo("0241234560"), "MENSAH Kofi"), demand(momo("0241234560"), "Kofi Mensa"),
		demand(bank("1234567891"), "Ama Owusu"), demand(wallet, "ama mensah"),
	} {
		made, err := s.disburse("5", to)
		must.True(t, err == nil, "%s: %v", to.AccountName, err)
		expect.True(t, made.Status != payout.Failed, "%s has failed: %+v", to.AccountName, made)
		if _, err := s.Payouts.Create(t.Context(), s.Caller, payout.CreateParams{Amount: decimal.NewFromInt(5), Destination: to, OTPCode: otp}); err != nil {
			t.Errorf("%s, as a payout: %v", to.AccountName, err)
		}
	}
	s.Verified()
}

// A repetition gets the first answer, although the provider has changed it since. It does not
// call the provider.
func TestNameLookupReplays(t *testing.T) {
	asked := 0
	s := open(t, payments.Config{Test: payments.Providers{Rail: namer{name: "Kofi Mensah", asked: &asked}}})
	var replayed bool
	caller := s.Caller
	caller.IdempotencyKey, caller.Replayed = "n-1", &replayed
	for range 2 {
		got := must.Get(s.Payouts.LookUpAccountName(t.Context(), caller, momo("0241234567")))(t)
		expect.Equal(t, got.Name, "Kofi Mensah", "name")
		expect.Equal(t, got.Number, "024****567", "number")
	}
	expect.Equal(t, asked, 1, "how often the provider was asked")
	expect.True(t, replayed, "the second answer is no replay")
	to := momo("0241234567")
	to.AccountName, to.MatchName = "Kofi Mensah", true
	caller.IdempotencyKey = "n-2"
	for range 2 {
		expect.NoError(t, testkit.Err(s.Disbursements.Create(t.Context(), caller, disbursement.CreateParams{Amount: decimal.NewFromInt(1), Destination: to})), "Create")
	}
	expect.Equal(t, asked, 2, "asked %d times", asked)
}

func TestDefaultNameMatch(t *testing.T) {
	for _, c := range []struct {
		given, registered string
		want              bool
	}{
		{"Kofi Mensah", "KOFI MENSAH", true},
		{"Mensah Kofi", "Kofi Mensah", true},
		{"Mr. Kofi Owusu-Ansah", "OWUSU ANSAH KOFI", true},
		{"Akɔsua Agyɛman", "AKOSUA AGYEMAN", true},
		{"Kofi Mensah", "KOFI ATTA MENSAH", true},
		{"Mensah Kofi Atta", "Kofi Mensah", true},
		{"Nana Kofi Atta Mensah", "Mensah Kofi", true},
		{"Kofi A. Mensah", "Kofi Atta Mensah", true},
		{"Kofi Mensa", "Kofi Mensah", true},
		{"Ama Boatneg", "AMA SERWAA BOATENG", true},
		{"Agyemang Ama", "Ama Agyeman", true},
		{"Mensah", "Mensah", true},
		{"Kofi Atta Mensah", "KOFI A. MENSAH BONSU", true},
		{"Kofi A. Mensah", "KOFI MENSAH ATTA BONSU", true},

		{"Ama Mensah", "Ada Mensah", false},
		{"Kwabena Mensah", "Kwamena Mensah", false},
		{"Kwabina Mensah", "Kwamina Mensah", false},
		{"Kofi Atta Mensah", "Kofi Osei Mensah", false},
		{"Kofi B. Mensah", "Kofi Atta Mensah", false},
		{"Kofi", "Kofi Mensah", false},
		{"Mensah", "Kofi Mensah", false},
		{"K. Mensah", "Kofi Mensah", false},
		{"Koffi Mensah", "Kofi Mensah", false},
		{"Kofi Mensa", "Kofi Menash", false},
		{"Samuel Boatneg", "Samuol Boateng", false},
		{"Ama Owusu", "Ama Serwaa", false},
		{"Ama Osei", "Ama Oseo", false},
		{"Ama Asare", "Ama Asara", false},
		{"K. K. Ama Mensah", "Kofi Osei Ama Mensah", false},
		{"Ama Boateng Mensah", "Ama Boatneg Mensahh", false},
		{"Kofi Kofi", "Kofi Mensah", false},
		{"", "Kofi", false},
		{"Mr.", "Mrs", false},
		{"", "", false},
	} {
		expect.Equal(t, payout.DefaultNameMatch(c.given, c.registered), c.want, "%q and %q", c.given, c.registered)
		expect.Equal(t, payout.DefaultNameMatch(c.registered, c.given), c.want, "%q and %q", c.registered, c.given)
	}
	days := strings.Fields("Kwasi Kwesi Akwasi Kwadwo Kojo Kwabena Kobina Kwaku Kweku Yaw Ekow Kofi Fiifi Kwame Kwamena Akosua Esi Adwoa Adjoa Abena Araba Akua Ekua Yaa Aba Afua Efua Ama Ada")
	for _, one := range days {
		for _, other := range days {
			expect.Equal(t, payout.DefaultNameMatch(one+" Mensah", "Mensah "+other), one == other, "%s and %s", one, other)
			expect.Equal(t, payout.DefaultNameMatch(one+" Mensah", "Mensah Atta "+other), one == other, "%s and %s, with a middle name", one, other)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.StringMatching(`([A-Ha-h]{1,7} ?){1,4}`)
		a, b := name.Draw(r, "a"), name.Draw(r, "b")
		expect.True(r, payout.DefaultNameMatch(a, b) == payout.DefaultNameMatch(b, a), "it depends on which is given")
	})
}
