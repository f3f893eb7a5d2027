package payout_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// shop is a merchant with a clock that the test moves.
type shop struct {
	*testkit.Shop
	t *testing.T
}

func open(t *testing.T, c payments.Config) *shop {
	t.Helper()
	return &shop{testkit.OpenShop(t, memory.New(), c), t}
}

var sixDigits = regexp.MustCompile(`\b\d{6}\b`)

// request asks for a code and returns it.
func (s *shop) request() string {
	s.t.Helper()
	sent := must.Get(s.Payouts.RequestOTP(s.t.Context(), s.Caller, payout.ForPayout))(s.t)
	expect.Equal(s.t, sent.Status, "sent", "status")
	expect.Equal(s.t, sent.Phone, "030****000", "phone")
	expect.True(s.t, sent.ExpiresAt.Equal(s.Now().Add(10*time.Minute)), "at %s a code was sent that expires at %s", s.Now(), sent.ExpiresAt)
	list := must.Get(s.Messages.List(s.t.Context(), s.Caller, message.ListParams{To: "0301000000"}))(s.t)
	return sixDigits.FindString(list.Data[0].Text)
}

func (s *shop) verify(code string) error {
	return testkit.Err(s.Payouts.VerifyOTP(s.t.Context(), s.Caller, payout.OTPParams{Purpose: payout.ForPayout, Code: code}))
}

// verified returns a code that can be used.
func (s *shop) verified() string {
	s.t.Helper()
	code := s.request()
	must.Do(s.t, s.verify(code))
	return code
}

func (s *shop) pay(code string, pesewas int64, number string) (*payout.Transfer, error) {
	return s.Payouts.Create(s.t.Context(), s.Caller, payout.CreateParams{
		Amount: decimal.New(pesewas, -2), OTPCode: code,
		Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: number},
	})
}

// wrong returns a code that is not the given one.
func wrong(code string) string {
	if code == "000000" {
		return "111111"
	}
	return "000000"
}

func TestOTPLife(t *testing.T) {
	s := open(t, payments.Config{})
	ask := func(what, code string, want api.Code) {
		t.Helper()
		testkit.WantCode(t, what, testkit.Err(s.pay(code, 1_00, "0241234567")), want)
	}
	testkit.WantCode(t, "no code was requested", s.verify("123456"), api.OTPInvalid)
	ask("no code was requested", "123456", api.OTPVerificationRequired)

	code := s.request()
	ask("not verified", code, api.OTPVerificationRequired)
	testkit.WantCode(t, "wrong", s.verify(wrong(code)), api.OTPInvalid)
	for _, odd := range []string{"12345", "1234567", " 12345", "12345 ", "１２３４５６", "12345a", "-12345", "12345\n"} {
		testkit.WantCode(t, fmt.Sprintf("%q", odd), s.verify(odd), api.ParameterInvalid)
		ask(odd, odd, api.ParameterInvalid)
	}
	testkit.WantCode(t, "right", s.verify(code), "")
	testkit.WantCode(t, "again", s.verify(code), "")
	ask("missing", "", api.OTPVerificationRequired)
	ask("wrong", wrong(code), api.OTPVerificationRequired)
	ask("verified", code, "")
	s.Pass(10*time.Minute - time.Millisecond)
	ask("at the last moment", code, "")
	s.Pass(time.Millisecond)
	ask("too late", code, api.OTPVerificationRequired)
	testkit.WantCode(t, "too late", s.verify(code), api.OTPExpired)
	testkit.WantCode(t, "wrong, and too late", s.verify(wrong(code)), api.OTPExpired)

	late := s.request()
	s.Pass(10 * time.Minute)
	testkit.WantCode(t, "verified too late", s.verify(late), api.OTPExpired)

	first, second := s.request(), s.request()
	if first != second {
		testkit.WantCode(t, "a newer one was sent", s.verify(first), api.OTPInvalid)
	}
	testkit.WantCode(t, "the newer one", s.verify(second), "")
	live := s.Caller
	live.Live = true
	testkit.WantCode(t, "live mode without a Texter", testkit.Err(s.Payouts.RequestOTP(t.Context(), live, payout.ForPayout)), api.Unavailable)
	testkit.WantCode(t, "another purpose", testkit.Err(s.Payouts.RequestOTP(t.Context(), s.Caller, "REFUND")), api.ParameterInvalid)
}

// A verified code lives its ten minutes, whatever is requested meanwhile, and wrong entries count against
// each code that lives.
func TestVerifiedCodeOutlivesRequests(t *testing.T) {
	s := open(t, payments.Config{})
	ask := func(what, code string, want api.Code) {
		t.Helper()
		testkit.WantCode(t, what, testkit.Err(s.pay(code, 1_00, "0241234567")), want)
	}
	other := func(codes ...string) string { // none of the codes
		for i := 0; ; i++ {
			if guess := fmt.Sprintf("%06d", i); !slices.Contains(codes, guess) {
				return guess
			}
		}
	}
	first := s.verified()
	s.Pass(4 * time.Minute)
	second := s.request()
	ask("the first, after another was requested", first, "")
	testkit.WantCode(t, "verify the first again", s.verify(first), "")
	if second != first {
		ask("the second, not verified", second, api.OTPVerificationRequired)
	}
	third := s.request()
	if second != third && second != first {
		testkit.WantCode(t, "the second, replaced", s.verify(second), api.OTPInvalid)
	}
	testkit.WantCode(t, "verify the third", s.verify(third), "")
	ask("the first, beside the third", first, "")
	ask("the third", third, "")
	s.Pass(6*time.Minute - time.Millisecond)
	s.request()
	ask("the first, at its last moment", first, "")
	s.Pass(time.Millisecond)
	if first != third {
		ask("the first, too late", first, api.OTPVerificationRequired)
	}
	ask("the third, still", third, "")
	fourth := s.request()
	for range 4 { // one wrong entry counted against the third before, or none
		_ = s.verify(other(first, second, third, fourth))
	}
	testkit.WantCode(t, "verify the fourth", s.verify(fourth), "")
	for range 5 {
		_ = testkit.Err(s.pay(other(first, second, third, fourth), 1_00, "0241234567"))
	}
	ask("the third, after nine wrong entries", third, api.OTPVerificationRequired)
	ask("the fourth, after nine wrong entries", fourth, api.OTPVerificationRequired)
	testkit.WantCode(t, "the fourth again", s.verify(fourth), api.OTPAttemptsExceeded)
	ask("a new one", s.verified(), "")
}

// A single-use code that was used leaves the other verified ones.
func TestSingleUseOfEachCode(t *testing.T) {
	s := open(t, payments.Config{SingleUseOTP: true})
	first, second := s.verified(), s.verified()
	if first == second {
		t.Skip("two codes are alike")
	}
	for _, code := range []string{first, second} {
		testkit.WantCode(t, "once", testkit.Err(s.pay(code, 1_00, "0241234567")), "")
	}
	for _, code := range []string{first, second} {
		testkit.WantCode(t, "twice", testkit.Err(s.pay(code, 1_00, "0241234567")), api.OTPVerificationRequired)
	}
}

func TestOTPLimits(t *testing.T) {
	s := open(t, payments.Config{})
	for range 99 {
		must.Get(s.Payouts.RequestOTP(t.Context(), s.Caller, payout.ForPayout))(t)
	}
	code := s.request()
	_, err := s.Payouts.RequestOTP(t.Context(), s.Caller, payout.ForPayout)
	var refusal *api.Error
	if testkit.WantCode(t, "code 101", err, api.RateLimited); !errors.As(err, &refusal) || refusal.RetryAfter != 10*time.Minute {
		t.Errorf("retry after %s", refusal.RetryAfter)
	}
	for range 6 { // what is refused for another reason is no guess
		testkit.WantCode(t, "too small", testkit.Err(s.pay(wrong(code), 50, "0241234567")), api.AmountTooSmall)
	}
	for range 2 {
		testkit.WantCode(t, "wrong", s.verify(wrong(code)), api.OTPInvalid)
	}
	for range 3 { // on a payout they count alike
		testkit.WantCode(t, "wrong", testkit.Err(s.pay(wrong(code), 1_00, "0241234567")), api.OTPVerificationRequired)
	}
	testkit.WantCode(t, "the right one after five wrong ones", s.verify(code), api.OTPAttemptsExceeded)
}

// A code is one merchant's, and a repeated request sends no other.
func TestCodeOfOneMerchant(t *testing.T) {
	s := open(t, payments.Config{})
	code := s.verified()
	mine := s.Caller
	other := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Other"}))(t)
	s.Caller = api.Caller{Merchant: other.ID}
	testkit.WantCode(t, "another's code", testkit.Err(s.pay(code, 1_00, "0241234567")), api.OTPVerificationRequired)
	testkit.WantCode(t, "another's code", s.verify(code), api.OTPInvalid)
	testkit.WantCode(t, "no phone", testkit.Err(s.Payouts.RequestOTP(t.Context(), s.Caller, payout.ForPayout)), api.InvalidPhoneNumber)

	s.Caller = mine
	s.Caller.IdempotencyKey = "send"
	for range 101 { // more than may be sent
		must.Get(s.Payouts.RequestOTP(t.Context(), s.Caller, payout.ForPayout))(t)
	}
	list := must.Get(s.Messages.List(t.Context(), mine, message.ListParams{To: "0301000000"}))(t)
	expect.True(t, len(list.Data) == 2, "%d codes were sent, want one to verify and one for all requests", len(list.Data))
}

// A code that the old phone of a merchant got is worth nothing once the operator has registered another.
func TestCodeOfAnOldPhone(t *testing.T) {
	s := open(t, payments.Config{})
	register := func(number string) {
		t.Helper()
		must.Get(s.Accounts.UpdateMerchant(t.Context(), api.Caller{}, s.Caller.Merchant, account.UpdateMerchantParams{Phone: &number}))(t)
	}
	code := s.verified()
	register("0302000000")
	testkit.WantCode(t, "a verified code", testkit.Err(s.pay(code, 1_00, "0241234567")), api.OTPVerificationRequired)
	testkit.WantCode(t, "a verified code, again", s.verify(code), api.OTPExpired)
	register("0301000000")
	code = s.request()
	register("0302000000")
	testkit.WantCode(t, "a code that was sent", s.verify(code), api.OTPExpired)
	register("030 100 0000")
	must.Do(t, s.verify(code))
	testkit.WantCode(t, "the phone that got the code", testkit.Err(s.pay(code, 1_00, "0241234567")), "")
}

func TestSingleUse(t *testing.T) {
	s := open(t, payments.Config{SingleUseOTP: true})
	code := s.verified()
	testkit.WantCode(t, "a refused payout leaves the code", testkit.Err(s.pay(code, 0, "0241234567")), api.AmountTooSmall)
	testkit.WantCode(t, "so does one that is too much", testkit.Err(s.pay(code, 9000_00, "0241234567")), api.InsufficientBalance)
	testkit.WantCode(t, "the first", testkit.Err(s.pay(code, 1_00, "0241234567")), "")
	testkit.WantCode(t, "the second", testkit.Err(s.pay(code, 1_00, "0241234567")), api.OTPVerificationRequired)
}

// The service compares five guesses, however many arrive at once in verifications and payouts.
func TestParallelGuesses(t *testing.T) {
	s := open(t, payments.Config{})
	code := s.request()
	var compared, refused atomic.Int64
	var all sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i := range 10_000 {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			guess := fmt.Sprintf("%06d", i)
			if guess == code {
				guess = wrong(code)
			}
			var err error
			if i%2 == 0 {
				err = s.verify(guess)
			} else {
				err = testkit.Err(s.pay(guess, 1_00, "0241234567"))
				testkit.WantCode(t, "pay", err, api.OTPVerificationRequired)
				err = errors.Unwrap(err)
			}
			switch api.CodeOf(err) {
			case api.OTPInvalid:
				compared.Add(1)
			case api.OTPAttemptsExceeded:
				refused.Add(1)
			default:
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait()
	expect.Equal(t, compared.Load(), 5, "entries that were compared")
	expect.Equal(t, refused.Load(), 9_995, "entries that were refused")
	testkit.WantCode(t, "the right one", s.verify(code), api.OTPAttemptsExceeded)
}

// A replayed payout needs no code.
func TestReplayNeedsNoOTP(t *testing.T) {
	s := open(t, payments.Config{})
	code := s.verified()
	p := payout.CreateParams{
		Amount: decimal.NewFromInt(5), OTPCode: code,
		Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234567"},
	}
	caller := s.Caller
	caller.IdempotencyKey = "k"
	first := must.Get(s.Payouts.Create(t.Context(), caller, p))(t)
	s.Pass(time.Hour)
	for _, otp := range []string{"", wrong(code), code} {
		p.OTPCode = otp
		var replayed bool
		caller.Replayed = &replayed
		again, err := s.Payouts.Create(t.Context(), caller, p)
		must.True(t, err == nil, "with %q: %v", otp, err)
		expect.Equal(t, again.ID, first.ID, "with %q: ID", otp)
		expect.True(t, replayed, "with %q: %s is no replay", otp, again.ID)
	}
}

// A new code replaces the old one between its comparison and its use. The old code then is not verified;
// one that was verified before pays.
func TestNewerCodeReplacesOneThatWasCompared(t *testing.T) {
	store := faultstore.New(memory.New())
	s := paymentstest.NewWithStore(t, store, payments.Config{})
	request := func() {
		t.Helper()
		must.Get(s.Payouts.RequestOTP(t.Context(), s.Caller, payout.ForPayout))(t)
	}
	newest := func() string {
		t.Helper()
		return sixDigits.FindString(s.Sent("0301000000")[0].Text)
	}
	between := func(what string, want api.Code, call func() error) {
		t.Helper()
		store.BetweenAt(2, request)
		testkit.WantCode(t, what, call(), want)
		expect.True(t, store.Heal(), "%s: no code was sent meanwhile", what)
	}
	request()
	first := newest()
	between("verify", api.OTPExpired, func() error {
		return testkit.Err(s.Payouts.VerifyOTP(t.Context(), s.Caller, payout.OTPParams{Purpose: payout.ForPayout, Code: first}))
	})
	second := newest()
	must.Get(s.Payouts.VerifyOTP(t.Context(), s.Caller, payout.OTPParams{Purpose: payout.ForPayout, Code: second}))(t)
	between("pay with a verified one", "", func() error {
		return testkit.Err(s.Payouts.Create(t.Context(), s.Caller, payout.CreateParams{
			Amount: decimal.NewFromInt(1), OTPCode: second,
			Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234567"},
		}))
	})
	// What was sent last is still to be verified.
	testkit.WantCode(t, "pay with a code that is not verified", testkit.Err(s.Payouts.Create(t.Context(), s.Caller, payout.CreateParams{
		Amount: decimal.NewFromInt(1), OTPCode: newest(),
		Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234567"},
	})), api.OTPVerificationRequired)
}

// A used idempotency key does not reveal whether a code is right without counting the guess.
func TestGuessesUnderAUsedKeyAreCounted(t *testing.T) {
	s := open(t, payments.Config{})
	code := s.request()
	s.Caller.IdempotencyKey = "verify-1"
	must.Do(t, s.verify(code))
	for range 5 {
		testkit.WantCode(t, "a wrong code", s.verify(wrong(code)), api.OTPInvalid)
	}
	testkit.WantCode(t, "a wrong code too many", s.verify(wrong(code)), api.OTPAttemptsExceeded)
}

// Wrong entries that lock all codes between the comparison of the right one and its use also lock that one.
func TestLockBetweenComparisonAndUse(t *testing.T) {
	store := faultstore.New(memory.New())
	s := paymentstest.NewWithStore(t, store, payments.Config{})
	guess := func(times int, code string) {
		t.Helper()
		for range times {
			_, err := s.Payouts.VerifyOTP(t.Context(), s.Caller, payout.OTPParams{Purpose: payout.ForPayout, Code: wrong(code)})
			testkit.WantCode(t, "a wrong one", err, api.OTPInvalid)
		}
	}
	for range 24 {
		guess(4, s.OTP())
	}
	code := s.OTP()
	store.BetweenAt(2, func() { guess(4, code) })
	testkit.WantCode(t, "pay", testkit.Err(s.Payouts.Create(t.Context(), s.Caller, payout.CreateParams{
		Amount: decimal.NewFromInt(1), OTPCode: code,
		Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234567"},
	})), api.OTPVerificationRequired)
	expect.True(t, store.Heal(), "nothing was guessed meanwhile")
}
