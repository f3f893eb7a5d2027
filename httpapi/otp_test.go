package httpapi_test

import (
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

// A hundred wrong entries in test mode lock the purpose, so that no code is sent either, until the test
// clock has moved on.
func TestLockedPurpose(t *testing.T) {
	s := paymentstest.New(t)
	const request = `{"purpose":"PAYOUT"}`
	for range 20 {
		response, data := s.Do("POST", "/v1/otp/request", request)
		expect.Equal(t, response.StatusCode, 200, "the request of a code: %s", data)
		for range 5 {
			response, data := s.Do("POST", "/v1/otp/verify", `{"purpose":"PAYOUT","code":"000000"}`)
			refused(t, "a wrong entry", response, data, 400, "otp_invalid", "code")
		}
	}
	response, data := s.Do("POST", "/v1/otp/request", request)
	refused(t, "a request after 100 wrong entries", response, data, 429, "otp_attempts_exceeded", "")
	waits(t, response, 10*time.Minute)
	holds(t, "the refusal", string(data), "POST /v1/test_helpers/clock")

	advance(t, s, 10*time.Minute)
	response, data = s.Do("POST", "/v1/otp/request", request)
	expect.Equal(t, response.StatusCode, 200, "a request 10 minutes later: %s", data)
}
