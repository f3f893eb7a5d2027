package otp_test

import (
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/otp"
	"github.com/seed-7082ffec/payments/internal/testkit"
)

var start = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func TestLimits(t *testing.T) {
	keys := [][]byte{[]byte("new"), []byte("old")}
	var s otp.State
	now := start
	send := func(want api.Code, wait time.Duration) string {
		t.Helper()
		err := s.Start(now, "otp_1", 8)
		testkit.WantCode(t, "a send", err, want)
		if want != "" {
			expect.Equal(t, err.(*api.Error).RetryAfter, wait, "Retry-After")
			return ""
		}
		return s.Draw(keys[1], "about") // an old key's code stays valid
	}
	enter := func(code string, expired bool, want api.Code) {
		t.Helper()
		counted, refusal := s.Check(now, expired, keys, code, "about")
		got := api.Code("")
		if refusal != nil {
			got = refusal.Code
		}
		expect.True(t, got == want && counted == (want == api.OTPInvalid), "a guess answers %q, counted %t, want %q", got, counted, want)
	}
	wrong := func(code string) string {
		if code == "000000" {
			return "111111"
		}
		return "000000"
	}
	code := send("", 0)
	must.Do(t, otp.CheckDigits("code", code))
	enter(code, false, "")
	_, refusal := s.Check(now, false, keys, code, "about", "another")
	expect.True(t, refusal != nil, "a code for something else is taken")
	enter(code, true, api.OTPExpired)
	for range 4 {
		enter(wrong(code), false, api.OTPInvalid)
	}
	enter(code, false, api.OTPAttemptsExceeded) // five wrong ones
	for range 4 {
		code = send("", 0)
	}
	send(api.RateLimited, 10*time.Minute)
	enter(code, false, "")
	for range 5 {
		enter(wrong(code), false, api.OTPInvalid)
	}
	enter(code, false, api.OTPAttemptsExceeded) // ten of the day
	now = now.Add(10 * time.Minute)
	send(api.OTPAttemptsExceeded, 11*time.Hour+50*time.Minute)
	now = start.Add(12 * time.Hour) // tomorrow
	for range 3 {
		code = send("", 0)
		enter(code, false, "")
	}
	send(api.RateLimited, 12*time.Hour) // the eighth of a day
	expect.True(t, len(s.Sent) == 8, "%d times are kept", len(s.Sent))
}

func TestCheckDigits(t *testing.T) {
	for code, good := range map[string]bool{"012345": true, "": false, "12345": false, "1234567": false, "12345a": false, "１２": false} {
		err := otp.CheckDigits("otp_code", code)
		expect.True(t, (err == nil) == good, "%q: %v", code, err)
	}
}
