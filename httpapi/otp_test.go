package httpapi_test

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
)

var sixDigits = regexp.MustCompile(`\b\d{6}\b`)

// requestOTP asks for a code and reads it from the merchant's messages.
func requestOTP(t *testing.T, s *paymentstest.Shop) string {
	t.Helper()
	response, data := s.Do("POST", "/v1/otp/request", `{"purpose":"PAYOUT"}`)
	if response.StatusCode != 200 {
		t.Fatalf("request: %s", data)
	}
	_, data = s.Do("GET", "/v1/test_helpers/messages?to=0301000000&kind=sms&limit=1", nil)
	code := sixDigits.FindString(field(t, data, "data.0.text"))
	if code == "" {
		t.Fatalf("no code in %s", data)
	}
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

func TestOTPOverHTTP(t *testing.T) {
	s := paymentstest.New(t)
	pay := func(code string) (*http.Response, []byte) {
		return s.Do("POST", "/v1/payouts", `{"amount":1,"destination":{"type":"mobile_money","phone_number":"0241234567"},"otp_code":`+code+`}`)
	}
	verify := func(code string) (*http.Response, []byte) {
		return s.Do("POST", "/v1/otp/verify", `{"purpose":"PAYOUT","code":`+code+`}`)
	}
	quoted := func(code string) string { return `"` + code + `"` }
	for what, c := range map[string]struct{ path, body, code, param string }{
		"no purpose":      {"request", `{}`, "parameter_missing", "purpose"},
		"another purpose": {"request", `{"purpose":"REFUND"}`, "parameter_invalid", "purpose"},
		"no code":         {"verify", `{"purpose":"PAYOUT"}`, "parameter_missing", "code"},
		"empty purpose":   {"verify", `{"code":"123456"}`, "parameter_missing", "purpose"},
	} {
		response, data := s.Do("POST", "/v1/otp/"+c.path, c.body)
		refused(t, what, response, data, 400, c.code, c.param)
	}
	r, data := pay("null")
	refused(t, "no code", r, data, 402, "otp_verification_required", "otp_code")
	code := requestOTP(t, s)
	r, data = pay(quoted(code))
	refused(t, "unverified", r, data, 402, "otp_verification_required", "otp_code")

	bad := quoted("000000")
	if code == "000000" {
		bad = quoted("111111")
	}
	for _, odd := range []string{`123456`, `"12345"`, `"1234567"`, `" 12345"`, `"１２３４５６"`, `"12 456"`, `""`} {
		wantCode := "parameter_invalid"
		if odd == `""` {
			wantCode = "parameter_missing"
		}
		r, data = verify(odd)
		refused(t, "verify "+odd, r, data, 400, wantCode, "code")
		if odd != `""` {
			r, data = pay(odd)
			refused(t, "pay "+odd, r, data, 400, "parameter_invalid", "otp_code")
		}
	}
	// None of that was a guess; four wrong ones leave one.
	for i := range 4 {
		if i%2 == 0 {
			r, data = verify(bad)
			refused(t, "wrong", r, data, 400, "otp_invalid", "code")
		} else {
			r, data = pay(bad)
			refused(t, "wrong", r, data, 402, "otp_verification_required", "otp_code")
		}
	}
	r, data = verify(quoted(code))
	wants(t, "right", r, data, 200, "", "")
	r, data = pay(quoted(code))
	wants(t, "verified", r, data, 200, "", "")
	r, data = pay(bad)
	refused(t, "wrong", r, data, 402, "otp_verification_required", "otp_code")
	r, data = verify(quoted(code))
	refused(t, "five wrong ones", r, data, 429, "otp_attempts_exceeded", "code")
	if r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	r, data = pay(quoted(code))
	refused(t, "five wrong ones", r, data, 402, "otp_verification_required", "otp_code")

	code = verifiedOTP(t, s)
	advance(t, s, 10*time.Minute)
	r, data = pay(quoted(code))
	refused(t, "too late", r, data, 402, "otp_verification_required", "otp_code")
	code = requestOTP(t, s)
	advance(t, s, 10*time.Minute)
	r, data = verify(quoted(code))
	refused(t, "too late", r, data, 400, "otp_expired", "code")
	for range 5 {
		requestOTP(t, s)
	}
	r, data = s.Do("POST", "/v1/otp/request", `{"purpose":"PAYOUT"}`)
	refused(t, "six in a row", r, data, 429, "rate_limited", "")
}
