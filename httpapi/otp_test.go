package httpapi_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage/memory"
)

var sixDigits = regexp.MustCompile(`\b\d{6}\b`)

// requestOTP asks for a code and reads it from the merchant's messages.
func requestOTP(t *testing.T, s *paymentstest.Shop) string {
	t.Helper()
	response, data := s.Do("POST", "/v1/otp/request", `{"purpose":"PAYOUT"}`)
	must.True(t, response.StatusCode == 200, "request: %s", data)
	_, data = s.Do("GET", "/v1/test_helpers/messages?to=0301000000&kind=sms&limit=1", nil)
	code := sixDigits.FindString(field(t, data, "data.0.text"))
	must.True(t, code != "", "no code in %s", data)
	return code
}

// verifiedOTP returns a code that can be used.
func verifiedOTP(t *testing.T, s *paymentstest.Shop) string {
	t.Helper()
	code := requestOTP(t, s)
	if response, data := s.Do("POST", "/v1/otp/verify", fmt.Sprintf(`{"purpose":"PAYOUT","code":%q}`, code)); response.StatusCode != 200 {
		t.Fatalf("verify: %s", data)
	}
	return code
}

const toMobile = `{"type":"mobile_money","phone_number":"0241234567"}`

// What a code is refused with. The rules are tested with package payout.
func TestRefusalsOfOTP(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Clock: func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }})
	const request, verify = "/v1/otp/request", "/v1/otp/verify"
	guess := func(code string) string { return `{"purpose":"PAYOUT","code":"` + code + `"}` }
	meet(t, s, refusal{"/v1/payouts", `{"amount":1,"destination":` + toMobile + `}`, 402, "otp_verification_required", "otp_code"})
	late := requestOTP(t, s)
	advance(t, s, 10*time.Minute)
	meet(t, s, refusal{verify, guess(late), 400, "otp_expired", "code"})
	for range 2 {
		code, wrong := requestOTP(t, s), "000000"
		if code == wrong {
			wrong = "111111"
		}
		for range 5 {
			meet(t, s, refusal{verify, guess(wrong), 400, "otp_invalid", "code"})
		}
		meet(t, s, refusal{verify, guess(code), 429, "otp_attempts_exceeded", "code"})
	}
	response, data := s.Do("POST", request, `{"purpose":"PAYOUT"}`)
	refused(t, "after ten wrong ones", response, data, 429, "otp_attempts_exceeded", "")
	expect.True(t, response.Header.Get("Retry-After") != "", "no Retry-After")
	mute := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Mute"}))(t)
	nobody, _ := as(t, s, api.Caller{Merchant: mute.ID}, account.CreateKeyParams{})
	meet(t, nobody, refusal{request, `{"purpose":"PAYOUT"}`, 400, "invalid_phone_number", ""})
}
