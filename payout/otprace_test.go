package payout_test

import (
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/faultstore"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// A new code replaces the old one between its comparison and its use. The old code then verifies
// and pays nothing.
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
	between("pay", api.OTPVerificationRequired, func() error {
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
