package httpapi_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage/memory"
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
		r, data = verify(odd)
		refused(t, "verify "+odd, r, data, 400, "parameter_invalid", "code")
		r, data = pay(odd)
		refused(t, "pay "+odd, r, data, 400, "parameter_invalid", "otp_code")
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

const toMobile = `{"type":"mobile_money","phone_number":"0241234567"}`

// payOut asks for a payout of so many GHS.
func payOut(s *paymentstest.Shop, amount, destination, code string, headers ...string) (*http.Response, []byte) {
	body := fmt.Sprintf(`{"amount":%s,"destination":%s,"otp_code":%q}`, amount, destination, code)
	return s.Do("POST", "/v1/payouts", body, headers...)
}

func verifyOTP(s *paymentstest.Shop, code string, headers ...string) (*http.Response, []byte) {
	return s.Do("POST", "/v1/otp/verify", fmt.Sprintf(`{"purpose":"PAYOUT","code":%q}`, code), headers...)
}

// wrongCode is a code, and not the one given.
func wrongCode(code string) string {
	last := (code[5]-'0'+1)%10 + '0'
	return code[:5] + string(rune(last))
}

// A code lives for ten minutes until it is verified, and for ten minutes after.
func TestOTPLives(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		code := requestOTP(t, s)
		const margin = 30 * time.Second // the clock runs on while requests are made
		advance(t, s, 10*time.Minute-margin)
		response, data := verifyOTP(s, code)
		wants(t, "just in time", response, data, 200, "", "")
		advance(t, s, 10*time.Minute-margin)
		response, data = payOut(s, "1", toMobile, code)
		wants(t, "ten minutes later", response, data, 200, "", "")
		advance(t, s, margin)
		response, data = payOut(s, "1", toMobile, code)
		refused(t, "after that", response, data, 402, "otp_verification_required", "otp_code")
		response, data = verifyOTP(s, code)
		refused(t, "verified again, too late", response, data, 400, "otp_expired", "code")

		first := verifiedOTP(t, s)
		second := requestOTP(t, s)
		if first != second {
			response, data = payOut(s, "1", toMobile, first)
			refused(t, "the code before", response, data, 402, "otp_verification_required", "otp_code")
		}
		response, data = payOut(s, "1", toMobile, second)
		refused(t, "the new one, not verified", response, data, 402, "otp_verification_required", "otp_code")
		verified(t, s)
	})
}

// What is refused for another reason is no guess, and leaves a right code right.
func TestNoGuess(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		code := verifiedOTP(t, s)
		for range 6 {
			response, data := payOut(s, "1", `{"type":"service_wallet","service_id":"SVC99999999"}`, code)
			refused(t, "no recipient", response, data, 400, "service_id_not_found", "destination.service_id")
			response, data = payOut(s, "1", `{"type":"service_wallet","service_id":"12"}`, wrongCode(code))
			refused(t, "no service id", response, data, 400, "invalid_service_id", "destination.service_id")
			response, data = payOut(s, "0.5", toMobile, wrongCode(code))
			refused(t, "too small", response, data, 400, "amount_too_small", "amount")
			response, data = payOut(s, "5000", toMobile, code)
			refused(t, "too much", response, data, 402, "insufficient_balance", "")
		}
		response, data := payOut(s, "1", toMobile, code)
		wants(t, "the right code", response, data, 200, "", "")
		// A refused request saves nothing, so its key may be used for what is right.
		response, data = payOut(s, "2", toMobile, wrongCode(code), "X-Idempotency-Key", "two")
		refused(t, "a wrong code", response, data, 402, "otp_verification_required", "otp_code")
		response, data = payOut(s, "3", toMobile, code, "X-Idempotency-Key", "two")
		if wants(t, "with the key of a refusal", response, data, 200, "", ""); response.Header.Get("Idempotent-Replayed") != "" {
			t.Error("a refusal was replayed")
		}
		// A repetition is no guess either, whatever it brings.
		for range 6 {
			response, data = payOut(s, "3", toMobile, wrongCode(code), "X-Idempotency-Key", "two")
			if wants(t, "a repetition", response, data, 200, "", ""); response.Header.Get("Idempotent-Replayed") != "true" {
				t.Error("a repetition is not marked")
			}
		}
		response, data = payOut(s, "1", toMobile, code)
		wants(t, "the right code at last", response, data, 200, "", "")
		if _, data := s.Do("GET", "/v1/payouts", nil); field(t, data, "data.2.id") == "" || field(t, data, "data.3.id") != "" {
			t.Errorf("want three payouts: %s", data)
		}
		verified(t, s)
	})
}

// However many guess at once, five are looked at.
func TestParallelGuesses(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		code := requestOTP(t, s)
		ways := []func(code string) (*http.Response, []byte){
			func(code string) (*http.Response, []byte) { return verifyOTP(s, code) },
			func(code string) (*http.Response, []byte) { return payOut(s, "1", toMobile, code) },
		}
		outcomes := make([]string, 40)
		var all sync.WaitGroup
		for i := range outcomes {
			all.Go(func() {
				guess := fmt.Sprintf("%06d", i)
				if guess == code {
					guess = wrongCode(code)
				}
				response, data := ways[i%2](guess)
				outcomes[i] = fmt.Sprint(response.StatusCode, field(t, data, "error.code"))
			})
		}
		all.Wait()
		wrong := 0
		for _, o := range outcomes {
			switch o {
			case "400otp_invalid":
				wrong++
			case "429otp_attempts_exceeded", "402otp_verification_required":
			default:
				t.Errorf("a wrong guess was answered %s", o)
			}
		}
		if wrong > 5 {
			t.Errorf("%d guesses were looked at", wrong)
		}
		response, data := verifyOTP(s, code)
		refused(t, "the right code, too late", response, data, 429, "otp_attempts_exceeded", "code")
		// Five were counted and not more: four of the next code leave the day open.
		code = requestOTP(t, s)
		for range 4 {
			response, data = verifyOTP(s, wrongCode(code))
			refused(t, "wrong", response, data, 400, "otp_invalid", "code")
		}
		response, data = verifyOTP(s, code)
		wants(t, "right", response, data, 200, "", "")
	})
}

// Ten wrong entries close the day, and five codes ten minutes.
func TestOTPLocks(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		waits := func(response *http.Response, most time.Duration) {
			t.Helper()
			seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
			if err != nil || seconds < 1 || seconds > int(most.Seconds()) {
				t.Errorf("Retry-After is %q, want at most %v", response.Header.Get("Retry-After"), most)
			}
		}
		tomorrow := func() {
			t.Helper()
			_, data := s.Do("POST", "/v1/test_helpers/clock", `{"advance":0}`)
			now := must.Get(time.Parse(time.RFC3339, field(t, data, "now")))(t)
			advance(t, s, now.Truncate(24*time.Hour).Add(24*time.Hour).Sub(now)+time.Second)
		}
		tomorrow() // so that the test does not run into midnight
		for range 5 {
			requestOTP(t, s)
		}
		response, data := s.Do("POST", "/v1/otp/request", `{"purpose":"PAYOUT"}`)
		refused(t, "a sixth code", response, data, 429, "rate_limited", "")
		waits(response, 10*time.Minute)
		advance(t, s, 10*time.Minute)

		var code string
		for range 2 {
			code = requestOTP(t, s)
			for range 5 {
				response, data = verifyOTP(s, wrongCode(code))
				refused(t, "wrong", response, data, 400, "otp_invalid", "code")
			}
		}
		response, data = verifyOTP(s, code)
		refused(t, "the right one", response, data, 429, "otp_attempts_exceeded", "code")
		waits(response, 24*time.Hour)
		response, data = s.Do("POST", "/v1/otp/request", `{"purpose":"PAYOUT"}`)
		refused(t, "another", response, data, 429, "otp_attempts_exceeded", "")
		waits(response, 24*time.Hour)
		response, data = payOut(s, "1", toMobile, code)
		refused(t, "payout", response, data, 402, "otp_verification_required", "otp_code")

		tomorrow()
		response, data = payOut(s, "1", toMobile, verifiedOTP(t, s))
		wants(t, "tomorrow", response, data, 200, "", "")
		verified(t, s)
	})
}

// A code is one merchant's, and a repeated request sends no other.
func TestOTPBelongsAndRepeats(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		merchant := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Other", Phone: "0302000000"}))(t)
		silent := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Silent"}))(t)
		s.Fund(merchant.ID, 100)
		other, _ := as(t, s, api.Caller{Merchant: merchant.ID}, account.CreateKeyParams{})
		unreachable, _ := as(t, s, api.Caller{Merchant: silent.ID}, account.CreateKeyParams{})
		code := verifiedOTP(t, s)
		response, data := payOut(other, "1", toMobile, code)
		refused(t, "another's code", response, data, 402, "otp_verification_required", "otp_code")
		response, data = verifyOTP(other, code)
		refused(t, "another's code", response, data, 400, "otp_invalid", "code")
		response, data = unreachable.Do("POST", "/v1/otp/request", `{"purpose":"PAYOUT"}`)
		refused(t, "no phone", response, data, 400, "invalid_phone_number", "")

		sent := func() (n int) {
			_, data := s.Do("GET", "/v1/test_helpers/messages?kind=sms&limit=100&to=0301000000", nil)
			for field(t, data, fmt.Sprintf("data.%d.to", n)) == "+233301000000" {
				n++
			}
			return n
		}
		before := sent()
		for range 7 {
			response, data = s.Do("POST", "/v1/otp/request", `{"purpose":"PAYOUT"}`, "Idempotency-Key", "send")
			wants(t, "repeated", response, data, 200, "", "")
		}
		if got := sent() - before; before == 0 || got != 1 {
			t.Errorf("%d messages before, %d for one request", before, got)
		}
		_, data = s.Do("GET", "/v1/test_helpers/messages?kind=sms&limit=1&to=0301000000", nil)
		code = sixDigits.FindString(field(t, data, "data.0.text"))
		verify := func(code string) (*http.Response, []byte) { return verifyOTP(s, code, "Idempotency-Key", "verify") }
		response, data = verify(wrongCode(code))
		refused(t, "wrong", response, data, 400, "otp_invalid", "code")
		for range 2 {
			response, data = verify(code)
			if wants(t, "right", response, data, 200, "", ""); field(t, data, "status") != "verified" {
				t.Errorf("got %s", data)
			}
		}
		response, data = verify(wrongCode(code))
		refused(t, "wrong under the key of the right one", response, data, 400, "otp_invalid", "code")
		response, data = payOut(s, "1", toMobile, code)
		wants(t, "verified once", response, data, 200, "", "")
	})
}

// With single-use codes the first payout consumes the code, but for repetitions of
// that payout.
func TestSingleUseOTP(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{SingleUseOTP: true})
	code := verifiedOTP(t, s)
	response, data := payOut(s, "5000", toMobile, code)
	refused(t, "which is refused", response, data, 402, "insufficient_balance", "")
	for range 2 {
		response, data = payOut(s, "1", toMobile, code, "Idempotency-Key", "first")
		wants(t, "the first", response, data, 200, "", "")
	}
	response, data = payOut(s, "1", toMobile, code)
	refused(t, "the second", response, data, 402, "otp_verification_required", "otp_code")
	response, data = verifyOTP(s, code)
	refused(t, "verified again", response, data, 400, "otp_expired", "code")
}
