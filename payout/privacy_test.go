package payout_test

import (
	"errors"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
)

// Only a caller with a valid code learns whether a recipient exists. The form of a number is no
// secret.
func TestRecipientIsHiddenWithoutCode(t *testing.T) {
	s := open(t, payments.Config{})
	frozen := must.Get(s.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "F", Phone: "0241000009", Status: account.Frozen}))(t)
	code := s.verified()
	pay := func(otp string, to payout.DestinationParams) error {
		to.Type = payout.ServiceWallet
		_, err := s.Payouts.Create(s.t.Context(), s.Caller, payout.CreateParams{Amount: decimal.NewFromInt(1), OTPCode: otp, Destination: to})
		return err
	}
	for name, c := range map[string]struct {
		to   payout.DestinationParams
		want api.Code
	}{
		"no service id": {payout.DestinationParams{ServiceID: "SVC999"}, api.ServiceIDNotFound},
		"a merchant":    {payout.DestinationParams{ServiceID: "SVC1000001"}, api.ServiceIDNotPayable},
		"no account":    {payout.DestinationParams{AccountID: "acc_1"}, api.AccountNotFound},
		"no number":     {payout.DestinationParams{PhoneNumber: "0249999999"}, api.AccountNotFound},
		"frozen":        {payout.DestinationParams{AccountID: frozen.ID}, api.WalletNotActive},
	} {
		testkit.WantCode(t, name+", without a code", pay("", c.to), api.OTPVerificationRequired)
		testkit.WantCode(t, name+", with the code", pay(code, c.to), c.want)
	}
	testkit.WantCode(t, "a wrong code", pay(wrong(code), payout.DestinationParams{ServiceID: "SVC999"}), api.OTPVerificationRequired)
	for name, c := range map[string]struct {
		to    payout.DestinationParams
		want  api.Code
		param string
	}{
		"a wrong service id": {payout.DestinationParams{ServiceID: "999"}, api.InvalidServiceID, "destination.service_id"},
		"a wrong number":     {payout.DestinationParams{PhoneNumber: "12"}, api.InvalidPhoneNumber, "destination.phone_number"},
	} {
		err := pay("", c.to)
		testkit.WantCode(t, name, err, c.want)
		e := (*api.Error)(nil)
		must.True(t, errors.As(err, &e), "%s: %v", name, err)
		expect.Equal(t, e.Param, c.param, "%s: param of %v", name, err)
	}
}

func TestWalletNamesAreShortened(t *testing.T) {
	s := open(t, payments.Config{})
	paid := must.Get(s.Payouts.Create(t.Context(), s.Caller, payout.CreateParams{
		Amount: decimal.NewFromInt(1), OTPCode: s.verified(),
		Destination: payout.DestinationParams{Type: payout.ServiceWallet, AccountID: s.Consumer.ID, AccountName: s.Consumer.Name, MatchName: true},
	}))(t)
	expect.Equal(t, paid.Destination.Name, "Ama M.", "name of the destination")
}

// A merchant may look up a limited number of names in an hour and in a day. Other merchants, the
// other mode and repetitions do not count.
func TestNamesAreLookedUpWithinAQuota(t *testing.T) {
	s := open(t, payments.Config{NameQuota: payout.NameQuota{Hour: 3, Day: 7}, Live: payments.Providers{Rail: provider.Simulated{}}})
	look := func(caller api.Caller) error {
		return testkit.Err(s.Payouts.LookUpAccountName(t.Context(), caller, payout.DestinationParams{PhoneNumber: "0241234567"}))
	}
	refused := func(what string, wait time.Duration) {
		t.Helper()
		err := look(s.Caller)
		testkit.WantCode(t, what, err, api.RateLimited)
		e := (*api.Error)(nil)
		must.True(t, errors.As(err, &e), "%s: %v", what, err)
		expect.Equal(t, e.RetryAfter, wait, "%s: RetryAfter of %v", what, err)
	}
	s.Pass(20 * time.Minute)
	keyed := s.Caller
	keyed.IdempotencyKey = "k"
	for range 3 {
		testkit.WantCode(t, "with a key", look(keyed), "")
	}
	testkit.WantCode(t, "the second", look(s.Caller), "")
	testkit.WantCode(t, "the third", look(s.Caller), "")
	refused("beyond the hour", 40*time.Minute)
	testkit.WantCode(t, "a repetition", look(keyed), "")
	testkit.WantCode(t, "no number", testkit.Err(s.Payouts.LookUpAccountName(t.Context(), s.Caller, payout.DestinationParams{PhoneNumber: "12"})), api.InvalidPhoneNumber)
	other := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	testkit.WantCode(t, "another merchant", look(api.Caller{Merchant: other.ID}), "")
	testkit.WantCode(t, "live mode", look(api.Caller{Merchant: s.Caller.Merchant, Live: true}), "")

	s.Pass(40 * time.Minute)
	for range 3 {
		testkit.WantCode(t, "the next hour", look(s.Caller), "")
	}
	s.Pass(time.Hour)
	testkit.WantCode(t, "the last of the day", look(s.Caller), "")
	refused("beyond the day", 10*time.Hour) // two o'clock
	s.Pass(10 * time.Hour)
	testkit.WantCode(t, "the next day", look(s.Caller), "")
}

func TestANegativeNameQuotaIsNoLimit(t *testing.T) {
	look := func(s *shop) error {
		return testkit.Err(s.Payouts.LookUpAccountName(t.Context(), s.Caller, payout.DestinationParams{PhoneNumber: "0241234567"}))
	}
	hourly, daily := open(t, payments.Config{NameQuota: payout.NameQuota{Hour: 1, Day: -1}}), open(t, payments.Config{NameQuota: payout.NameQuota{Hour: -1, Day: 2}})
	for range 2 {
		testkit.WantCode(t, "without a limit of a day", look(hourly), "")
		hourly.Pass(time.Hour)
		testkit.WantCode(t, "without a limit of an hour", look(daily), "")
	}
	testkit.WantCode(t, "the limit of the day", look(daily), api.RateLimited)
}

// A lookup that fails counts against the quota, too.
func TestFailedNameLookupsUseTheQuota(t *testing.T) {
	s := open(t, payments.Config{NameQuota: payout.NameQuota{Hour: 1}})
	for _, want := range []api.Code{api.Unavailable, api.RateLimited} {
		testkit.WantCode(t, "a name", testkit.Err(s.Payouts.LookUpAccountName(t.Context(), s.Caller, payout.DestinationParams{PhoneNumber: "0241230905"})), want)
	}
}

// The merchant, and no other, reads the whole number of a recipient.
func TestRecipientNumberIsTheMerchants(t *testing.T) {
	s := open(t, payments.Config{})
	made := must.Get(s.disburse("5", momo("0241234567")))(t)
	expect.Equal(t, must.Get(s.Disbursements.RecipientNumber(t.Context(), s.Caller, made.ID))(t), "+233241234567", "the number")
	other := s.Caller
	other.Merchant = "mer_other"
	testkit.WantCode(t, "another merchant", testkit.Err(s.Disbursements.RecipientNumber(t.Context(), other, made.ID)), api.ResourceMissing)
	testkit.WantCode(t, "as a payout", testkit.Err(s.Payouts.RecipientNumber(t.Context(), s.Caller, made.ID)), api.ResourceMissing)
	wallet := must.Get(s.disburse("5", payout.DestinationParams{Type: payout.ServiceWallet, AccountID: s.Consumer.ID}))(t)
	expect.Equal(t, must.Get(s.Disbursements.RecipientNumber(t.Context(), s.Caller, wallet.ID))(t), "", "a wallet's number")
}
