package otp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/otp"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
)

var start = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func TestLimits(t *testing.T) {
	keys := [][]byte{[]byte("new"), []byte("old")}
	var s otp.State
	now := start
	send := func(want api.Code, wait time.Duration) string {
		t.Helper()
		err := s.Start(now, true, "otp_1", 8)
		testkit.WantCode(t, "a send", err, want)
		if want != "" {
			expect.Equal(t, err.(*api.Error).RetryAfter, wait, "Retry-After")
			return ""
		}
		return s.Draw(keys[1], "about") // an old key's code stays valid
	}
	enter := func(code string, expired bool, want api.Code) {
		t.Helper()
		counted, refusal := s.Check(now, true, expired, keys, code, "about")
		got := api.Code("")
		if refusal != nil {
			got = refusal.Code
		}
		expect.Equal(t, got, want, "a guess")
		expect.Equal(t, counted, want == api.OTPInvalid, "counted")
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
	_, refusal := s.Check(now, true, false, keys, code, "about", "another")
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

// Test mode allows 100 sends and 100 wrong guesses in 10 minutes, and locks no day.
func TestLimitsOfTestMode(t *testing.T) {
	key := []byte("key")
	var s otp.State
	now := start
	send := func() error { return s.Start(now, false, "otp_1", 8) }
	refused := func(what string, err error, want api.Code, wait time.Duration) {
		t.Helper()
		testkit.WantCode(t, what, err, want)
		if refusal, ok := err.(*api.Error); ok {
			expect.Equal(t, refusal.RetryAfter, wait, "%s: retry", what)
			expect.True(t, strings.Contains(refusal.Message, "/v1/test_helpers/clock"), "%s: %v, retry after %s", what, refusal, refusal.RetryAfter)
		}
	}
	for range 100 {
		must.Do(t, send())
		now = now.Add(time.Second)
	}
	refused("send 101", send(), api.RateLimited, 10*time.Minute-100*time.Second)
	now = start.Add(10 * time.Minute)
	for range 20 {
		now = now.Add(6 * time.Second)
		must.Do(t, send())
		code := s.Draw(key, "about")
		for range 5 {
			counted, refusal := s.Check(now, false, false, [][]byte{key}, wrongDigits(code), "about")
			must.True(t, counted && refusal.Code == api.OTPInvalid, "a wrong guess: %v", refusal)
		}
	}
	refused("a code after 100 wrong guesses", send(), api.OTPAttemptsExceeded, 10*time.Minute-19*6*time.Second)
	_, refusal := s.Check(now, false, false, [][]byte{key}, "000000", "about")
	refused("a guess after 100 wrong ones", refusal, api.OTPAttemptsExceeded, 10*time.Minute-19*6*time.Second)
	now = now.Add(10 * time.Minute)
	must.Do(t, send())
	code := s.Draw(key, "about")
	_, refusal = s.Check(now, false, false, [][]byte{key}, code, "about")
	expect.True(t, refusal == nil, "a right guess later: %v", refusal)
}

// Wrong digits count against each code that lives, and right ones are found among all that do.
func TestGuessAmongCodes(t *testing.T) {
	key := []byte("key")
	var c otp.Counts
	codes := []*otp.Code{{ID: "otp_3"}, {ID: "otp_2"}, {ID: "otp_1"}}
	digits := make([]string, len(codes))
	for i, code := range codes {
		digits[i] = code.Draw(key, code.ID)
	}
	guess := func(entered string, expired ...bool) (*otp.Code, *api.Error) {
		var candidates []otp.Candidate
		for i, code := range codes {
			candidates = append(candidates, otp.Candidate{Code: code, Expired: i < len(expired) && expired[i], About: []string{code.ID}})
		}
		found, _, refusal := c.Guess(start, true, [][]byte{key}, entered, candidates)
		return found, refusal
	}
	none := digits[0]
	for none == digits[0] || none == digits[1] || none == digits[2] {
		none = wrongDigits(none)
	}
	for i, code := range codes {
		found, refusal := guess(digits[i])
		expect.True(t, refusal == nil, "code %d is refused: %v", i, refusal)
		expect.True(t, found == code || digits[0] == digits[i], "code %d: found %+v", i, found)
	}
	_, refusal := guess(none, true)
	expect.Equal(t, refusal.Code, api.OTPInvalid, "a wrong guess: error code")
	expect.Equal(t, codes[0].Guesses, 0, "a wrong guess: guesses of code 0")
	expect.Equal(t, codes[1].Guesses, 1, "a wrong guess: guesses of code 1")
	expect.Equal(t, codes[2].Guesses, 1, "a wrong guess: guesses of code 2")
	codes[1].Guesses = 5
	if found, refusal := guess(digits[1]); digits[1] != digits[0] && digits[1] != digits[2] {
		expect.True(t, found == nil, "an exhausted code: %+v, %v", found, refusal)
		expect.Equal(t, refusal.Code, api.OTPInvalid, "an exhausted code: code")
	}
	_, refusal = guess(digits[0], true, true, true)
	expect.Equal(t, refusal.Code, api.OTPExpired, "all expired")
	codes[0].Guesses, codes[2].Guesses = 5, 5
	_, refusal = guess(digits[0])
	expect.Equal(t, refusal.Code, api.OTPAttemptsExceeded, "all exhausted")
}

// wrongDigits returns other digits, six of them.
func wrongDigits(code string) string {
	if code[0] == '9' {
		return "0" + code[1:]
	}
	return string(code[0]+1) + code[1:]
}

func TestCheckDigits(t *testing.T) {
	for code, good := range map[string]bool{"012345": true, "": false, "12345": false, "1234567": false, "12345a": false, "１２": false} {
		err := otp.CheckDigits("otp_code", code)
		expect.True(t, (err == nil) == good, "%q: %v", code, err)
	}
}
