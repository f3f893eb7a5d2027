package payment_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// consumer opens a wallet with a phone number.
func (s *shop) consumer(t *testing.T, number string, tier account.Tier) *account.Consumer {
	t.Helper()
	return must.Get(s.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: number, Tier: tier}))(t)
}

func (s *shop) topUp(t *testing.T, c *account.Consumer, pesewas int64) (*payment.TopUp, error) {
	t.Helper()
	return s.Payments.TopUp(t.Context(), s.caller, payment.TopUpParams{Account: c.ID, Amount: pesewas})
}

func (s *shop) wallet(t *testing.T, c *account.Consumer) string {
	t.Helper()
	return must.Get(s.Accounts.WalletBalance(t.Context(), api.Caller{}, c.ID))(t).StringFixed(2)
}

func (s *shop) verified(t *testing.T) {
	t.Helper()
	expect.Equal(t, len(must.Get(s.Accounts.Verify(t.Context()))(t).Problems), 0, "problems of the ledger")
}

// The numbers to test with do with top-ups what the table of the simulated charger says.
func TestPhonesToTopUpWith(t *testing.T) {
	for _, test := range []struct {
		digits string
		code   api.Code       // of the refusal
		status payment.Status // of the answer
		after  time.Duration  // of the second look
		later  string         // the balance then
	}{
		{"4567", "", payment.Completed, 0, "12.50"},
		{"0901", api.PaymentFailed, "", time.Hour, "0.00"},
		{"0902", api.PaymentFailed, "", time.Hour, "0.00"},
		{"0903", "", payment.Processing, time.Hour, "0.00"},
		{"0904", "", payment.Processing, 25 * time.Second, "12.50"},
		{"0905", "", payment.Processing, time.Minute, "12.50"},
		{"0906", "", payment.Pending, 25 * time.Second, "12.50"},
		{"0907", "", payment.Processing, time.Hour, "0.00"},
		{"0908", api.TooManyPrompts, "", time.Hour, "0.00"},
		{"0909", "", payment.Processing, 10 * time.Minute, "0.00"},
		{"0910", api.PaymentFailed, "", time.Minute, "0.00"},
	} {
		t.Run(test.digits, func(t *testing.T) {
			s := newShop(t, payments.Config{})
			c := s.consumer(t, "024123"+test.digits, "")
			got, err := s.topUp(t, c, 1250)
			testkit.WantCode(t, "the call", err, test.code)
			if test.code == "" {
				expect.Equal(t, got.Status, test.status, "status")
				want := "0.00"
				if test.status == payment.Completed {
					want = "12.50"
				}
				expect.Equal(t, got.Balance.StringFixed(2), want, "the balance in the answer")
				expect.Equal(t, s.wallet(t, c), want, "the balance")
			}
			s.after(t, test.after)
			expect.Equal(t, s.wallet(t, c), test.later, "the balance later")
			texts := must.Get(s.Messages.List(t.Context(), s.caller, message.ListParams{To: c.Phone}))(t).Data
			if test.later == "12.50" {
				must.True(t, len(texts) == 1, "the SMS are %+v", texts)
				expect.Equal(t, texts[0].Text, "You topped up your wallet with GHS 12.50. Top-up "+got.ID+".", "the SMS: text of the first")
			} else {
				expect.Equal(t, len(texts), 0, "SMS")
			}
			stuck := must.Get(s.Providers.List(t.Context(), s.caller, provider.ListParams{}))(t).Data
			switch test.digits {
			case "0910":
				must.True(t, len(stuck) == 1, "the contradictions are %+v", stuck)
				expect.Equal(t, stuck[0].Contradiction, "failed, and now paid", "the contradictions: contradiction of the first")
				expect.Equal(t, stuck[0].Object, "top_up", "the contradictions: object of the first")
			case "0903", "0907":
				expect.Equal(t, len(stuck), 1, "stuck")
			default:
				expect.Equal(t, len(stuck), 0, "stuck")
			}
			expect.Equal(t, s.eventsOf(t), "", "events")
			s.verified(t)
		})
	}
}

// A top-up is refused before a prompt where the wallet or the caller is the wrong one.
func TestTopUpRefusals(t *testing.T) {
	s := newShop(t, payments.Config{})
	c := s.consumer(t, "0241234567", "")
	for _, amount := range []int64{-1, 0, 100_000_000} {
		testkit.WantParam(t, "amount", testkit.Err(s.topUp(t, c, amount)), api.ParameterInvalid, "amount")
	}
	testkit.WantParam(t, "another currency", testkit.Err(s.Payments.TopUp(t.Context(), s.caller, payment.TopUpParams{Account: c.ID, Amount: 1, Currency: "USD"})), api.CurrencyNotSupported, "currency")
	testkit.WantParam(t, "no account", testkit.Err(s.Payments.TopUp(t.Context(), s.caller, payment.TopUpParams{Amount: 1})), api.ParameterMissing, "account_id")
	testkit.WantCode(t, "unknown", testkit.Err(s.topUp(t, &account.Consumer{Holder: account.Holder{ID: "acc_none"}}, 1)), api.ResourceMissing)
	testkit.WantParam(t, "a number of no network", testkit.Err(s.topUp(t, s.consumer(t, "0301234567", ""), 1)), api.InvalidPhoneNumber, "phone_number")
	_, err := s.Payments.TopUp(t.Context(), api.Caller{Merchant: s.caller.Merchant, Live: true}, payment.TopUpParams{Account: c.ID, Amount: 1})
	testkit.WantCode(t, "a merchant in live mode", err, api.PermissionDenied)
	live := must.Get(s.Accounts.CreateConsumer(t.Context(), api.Caller{Live: true}, account.CreateHolderParams{Name: "Ama", Phone: "0241234567"}))(t)
	testkit.WantCode(t, "without a charger", testkit.Err(s.Payments.TopUp(t.Context(), api.Caller{Live: true}, payment.TopUpParams{Account: live.ID, Amount: 1})), api.Unavailable)
	next := 0
	for status, code := range map[account.Status]api.Code{
		account.Frozen: api.WalletNotActive, account.Suspended: api.WalletNotActive, account.Active: "", account.Closed: api.AccountNotFound,
	} {
		number := "0247654" + fmt.Sprint(100+next)
		next++
		holder := must.Get(s.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Esi", Phone: number, Status: status}))(t)
		testkit.WantCode(t, string(status), testkit.Err(s.topUp(t, holder, 1)), code)
	}
}

// The operator tops up without a merchant. A repeated call gives the first answer; a refused one may be
// tried again with the same key.
func TestTopUpIsIdempotent(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		svc := testkit.New(t, store, payments.Config{Sandbox: true})
		open := func(number string) *account.Consumer {
			return must.Get(svc.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Ama", Phone: number}))(t)
		}
		keyed := func(c *account.Consumer, key string, amount int64) (*payment.TopUp, bool, error) {
			again := false
			got, err := svc.Payments.TopUp(t.Context(), api.Caller{IdempotencyKey: key, Replayed: &again}, payment.TopUpParams{Account: c.ID, Amount: amount})
			return got, again, err
		}
		c := open("0241234567")
		first, again, err := keyed(c, "k1", 700)
		must.Do(t, err)
		expect.True(t, !again, "the first is a replay")
		must.Get(svc.Payments.TopUp(t.Context(), api.Caller{}, payment.TopUpParams{Account: c.ID, Amount: 300}))(t)
		second, again, err := keyed(c, "k1", 700)
		must.Do(t, err)
		expect.True(t, again, "the second is no replay: %+v", second)
		expect.Equal(t, second.ID, first.ID, "the replay: ID")
		expect.Equal(t, second.Balance.StringFixed(2), "7.00", "the replay: balance")
		expect.Same(t, second, first, "the answer of a replay")
		_, _, err = keyed(c, "k1", 701)
		testkit.WantCode(t, "another request", err, api.IdempotencyKeyReused)

		slow := open("0241230903")
		first, again, err = keyed(slow, "k2", 700)
		must.Do(t, err)
		expect.True(t, !again, "undecided: %+v", first)
		expect.Equal(t, first.Status, payment.Processing, "undecided: status")
		must.Do(t, svc.Providers.Settle(t.Context(), api.Caller{}, first.ID, provider.Result{Outcome: provider.Paid}))
		second, again, err = keyed(slow, "k2", 700)
		must.Do(t, err)
		expect.True(t, again, "undecided again: %+v", second)
		expect.Equal(t, second.ID, first.ID, "undecided again: ID")
		expect.Equal(t, second.Status, payment.Processing, "undecided again: status")
		expect.Equal(t, must.Get(svc.Payments.GetTopUp(t.Context(), api.Caller{}, first.ID))(t).Status, payment.Completed, "at last")

		declined := open("0241230901")
		for range 2 {
			_, again, err = keyed(declined, "k3", 700)
			testkit.WantCode(t, "declined", err, api.PaymentFailed)
			expect.True(t, !again, "a refusal is a replay")
		}
		list := must.Get(svc.Payments.ListTopUps(t.Context(), api.Caller{}, payment.ListTopUpsParams{Account: declined.ID}))(t)
		expect.Equal(t, len(list.Data), 2, "top-ups that were declined")
	})
}

// chargerFunc is a charger of live mode without refunds.
type chargerFunc func(provider.Charge) (provider.Result, error)

func (f chargerFunc) Charge(_ context.Context, c provider.Charge) (provider.Result, error) {
	return f(c)
}

func (f chargerFunc) ChargeStatus(_ context.Context, c provider.Charge) (provider.Result, error) {
	return f(c)
}

// The limits of a tier refuse a top-up before the prompt.
func TestTierLimits(t *testing.T) {
	tiers := account.BankOfGhanaTiers()
	for _, test := range []struct {
		what string
		tier account.Tier
		days []int64 // of each day the top-ups that pass, in GHS
		then int64   // what does not pass after them
	}{
		{"a day, without a tier", "", []int64{3000}, 1},
		{"a day", account.TierMinimum, []int64{2999}, 2},
		{"the balance", account.TierMinimum, []int64{3000, 2000}, 1},
		{"a day of medium", account.TierMedium, []int64{15000}, 1},
		{"a day of enhanced", account.TierEnhanced, []int64{25000}, 1},
		{"the balance of enhanced", account.TierEnhanced, []int64{25000, 25000, 24999}, 2},
	} {
		s := newShop(t, payments.Config{WalletTiers: tiers})
		c := s.consumer(t, "0241234567", test.tier)
		for i, amount := range test.days {
			if i > 0 {
				s.after(t, 24*time.Hour)
			}
			must.Get(s.topUp(t, c, amount*100))(t)
		}
		testkit.WantParam(t, test.what, testkit.Err(s.topUp(t, c, test.then*100)), api.WalletLimitExceeded, "amount")
	}
	s := newShop(t, payments.Config{})
	must.Get(s.topUp(t, s.consumer(t, "0241234567", ""), 99_999_999))(t)

	// The month's limit, and a better tier.
	tiers = &account.WalletTiers{Minimum: account.TierLimits{Month: decimal.NewFromInt(10)}}
	s = newShop(t, payments.Config{WalletTiers: tiers})
	c := s.consumer(t, "0241234567", "")
	must.Get(s.topUp(t, c, 1000))(t)
	testkit.WantCode(t, "the month", testkit.Err(s.topUp(t, c, 1)), api.WalletLimitExceeded)
	s.after(t, 31*24*time.Hour)
	must.Get(s.topUp(t, c, 1000))(t)
	must.Get(s.Accounts.UpdateConsumer(t.Context(), api.Caller{}, c.ID, account.UpdateHolderParams{Tier: new(account.TierMedium)}))(t)
	must.Get(s.topUp(t, c, 1000))(t)

	_, err := s.Accounts.UpdateConsumer(t.Context(), api.Caller{}, c.ID, account.UpdateHolderParams{Tier: new(account.Tier("best"))})
	testkit.WantParam(t, "an unknown tier", err, api.ParameterInvalid, "tier")
	_, err = payments.New(t.Context(), memory.New(), payments.Config{WalletTiers: &account.WalletTiers{Minimum: account.TierLimits{Day: decimal.NewFromInt(-1)}}})
	testkit.WantCode(t, "a negative limit", err, api.ParameterInvalid)
}

// busyCharger is a charger of test mode that does something while the payer decides.
type busyCharger struct {
	provider.Simulated
	meanwhile func()
}

func (c *busyCharger) Charge(ctx context.Context, of provider.Charge) (provider.Result, error) {
	c.meanwhile()
	return c.Simulated.Charge(ctx, of)
}

// Money that the wallet cannot take any more when it comes goes back by itself. Until it is back it
// waits in the excess, and a person is told where it cannot go back.
func TestExcessIsReturned(t *testing.T) {
	for _, test := range []struct {
		digits string
		code   api.Code
		excess int64 // left in the end, in pesewas
		stuck  string
		texts  int
	}{
		{"4567", api.WalletLimitExceeded, 0, "", 1},
		{"0911", api.WalletLimitExceeded, 1500, "tu_ top_up", 0},
		{"0912", api.WalletLimitExceeded, 1500, "re_ top_up_refund", 0},
		{"0913", api.WalletLimitExceeded, 0, "", 1},
		{"closed", api.AccountNotFound, 0, "", 1},
	} {
		t.Run(test.digits, func(t *testing.T) {
			store, charger := memory.New(), &busyCharger{}
			svc := testkit.New(t, store, payments.Config{
				Sandbox: true, Test: payments.Providers{Charger: charger},
				WalletTiers: &account.WalletTiers{Minimum: account.TierLimits{Balance: decimal.NewFromInt(20)}},
			})
			m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
			s := &shop{svc, api.Caller{Merchant: m.ID, IdempotencyKey: "k"}}
			number, want := "024123"+test.digits, "10.00"
			charger.meanwhile = func() {
				must.Do(t, s.Accounts.Deposit(t.Context(), api.Caller{IdempotencyKey: "d"}, account.DepositParams{To: s.consumerID(t), Amount: decimal.NewFromInt(10), Source: "test"}))
			}
			if test.digits == "closed" {
				number, want = "0241234567", "0.00"
				charger.meanwhile = func() {
					must.Get(s.Accounts.UpdateConsumer(t.Context(), api.Caller{}, s.consumerID(t), account.UpdateHolderParams{Status: new(account.Closed)}))(t)
				}
			}
			c := s.consumer(t, number, "")
			testkit.WantCode(t, "the call", testkit.Err(s.topUp(t, c, 1500)), test.code)
			expect.Equal(t, excess(t, store), int64(1500), "the excess at first")
			s.caller.IdempotencyKey = ""
			must.Do(t, s.Drain(t.Context()))
			s.after(t, 2*time.Hour)
			list := must.Get(s.Payments.ListTopUps(t.Context(), s.caller, payment.ListTopUpsParams{}))(t)
			got := list.Data[0]
			expect.Equal(t, len(list.Data), 1, "number")
			expect.Equal(t, got.Status, payment.Returned, "the top-up: status")
			expect.True(t, got.Refund != nil, "the top-up: Refund is nil")
			expect.True(t, got.CompletedAt == nil, "the top-up: CompletedAt is set")
			expect.Equal(t, s.wallet(t, c), want, "wallet")
			expect.Equal(t, excess(t, store), test.excess, "the excess")
			stuck := ""
			for _, o := range must.Get(s.Providers.List(t.Context(), s.caller, provider.ListParams{}))(t).Data {
				stuck += o.ID[:3] + " " + o.Object
			}
			expect.Equal(t, stuck, test.stuck, "stuck orders")
			expect.Equal(t, len(must.Get(s.Messages.List(t.Context(), s.caller, message.ListParams{}))(t).Data), test.texts, "SMS")
			expect.Equal(t, s.eventsOf(t), "", "events")
			if test.digits == "0912" { // by hand
				must.Do(t, s.Providers.Settle(t.Context(), s.caller, *got.Refund, provider.Result{Outcome: provider.Paid}))
				expect.Equal(t, excess(t, store), int64(0), "the excess after a settlement by hand")
			}
			testkit.WantCode(t, "settled twice", s.Providers.Settle(t.Context(), s.caller, got.ID, provider.Result{Outcome: provider.Refused}), api.TransferSettled)
			s.verified(t)
		})
	}
}

// consumerID is the id of the newest consumer.
func (s *shop) consumerID(t *testing.T) string {
	t.Helper()
	return must.Get(s.Accounts.ListConsumers(t.Context(), api.Caller{}, api.Page{}))(t).Data[0].ID
}

// A charger without refunds leaves the money of an excess to a person.
func TestExcessWithoutRefunds(t *testing.T) {
	store := memory.New()
	var svc *payments.Service
	operator := api.Caller{Live: true}
	var c *account.Consumer
	svc = testkit.New(t, store, payments.Config{
		WalletTiers: account.BankOfGhanaTiers(),
		Live: payments.Providers{Charger: chargerFunc(func(provider.Charge) (provider.Result, error) {
			err := svc.Accounts.Deposit(t.Context(), operator, account.DepositParams{To: c.ID, Amount: decimal.NewFromInt(5000), Source: "bank"})
			return provider.Result{Outcome: provider.Paid}, err
		})},
	})
	c = must.Get(svc.Accounts.CreateConsumer(t.Context(), operator, account.CreateHolderParams{Name: "Ama", Phone: "0241234567"}))(t)
	testkit.WantCode(t, "the call", testkit.Err(svc.Payments.TopUp(t.Context(), operator, payment.TopUpParams{Account: c.ID, Amount: 100})),
		api.WalletLimitExceeded)
	stuck := must.Get(svc.Providers.List(t.Context(), operator, provider.ListParams{}))(t).Data
	must.True(t, len(stuck) == 1, "stuck: %+v", stuck)
	expect.Equal(t, stuck[0].Object, "top_up", "stuck: object of the first")
	expect.Equal(t, stuck[0].Contradiction, "paid, the wallet could not take it, and the provider gives no refunds", "stuck: contradiction of the first")
}

// excess is the money of returned top-ups that waits.
func excess(t *testing.T, store storage.Store) (n int64) {
	t.Helper()
	must.Do(t, store.View(t.Context(), func(tx storage.ReadTx) error {
		b, err := tx.Balance(ledger.Excess(false).Name)
		n = b.Amount
		return err
	}))
	return n
}

// A top-up is confirmed as a payment is.
func TestConfirmTopUp(t *testing.T) {
	s := newShop(t, payments.Config{})
	c := s.consumer(t, "0201230907", "")
	asked := must.Get(s.topUp(t, c, 1250))(t)
	confirm := func(code string) (*payment.TopUp, error) {
		return s.Payments.ConfirmTopUp(t.Context(), s.caller, asked.ID, payment.ConfirmParams{Code: code})
	}
	wrong := must.Get(confirm("654321"))(t)
	expect.Equal(t, wrong.NextAction.Type, payment.EnterCode, "next action after a wrong code")
	right := must.Get(confirm("123456"))(t)
	expect.Equal(t, right.Status, payment.Completed, "after the code: status")
	expect.True(t, right.NextAction == nil, "after the code: NextAction is set")
	expect.Equal(t, s.wallet(t, c), "12.50", "the balance")
	testkit.WantCode(t, "too late", testkit.Err(confirm("123456")), api.PaymentNotConfirmable)
	s.verified(t)
}
