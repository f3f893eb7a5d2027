// Package otp has one-time codes of six digits, which a person gets by SMS and enters: how they are drawn
// and compared, and how often they are sent and guessed. Its callers keep a [State] in a record of theirs.
package otp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/pace"
)

// Life is how long a code can be entered.
const Life = 10 * time.Minute

// The limits of codes.
const (
	guesses    = 5  // wrong ones, of one code
	failures   = 10 // wrong ones, of one day
	sends      = 5  // in the window
	sendWindow = 10 * time.Minute
	day        = 24 * time.Hour
)

// State is what is kept of a code, and of those before it.
type State struct {
	// Code distinguishes one code from the next. MAC authenticates its digits.
	Code    string `json:"code,omitempty"`
	MAC     []byte `json:"mac,omitempty"`
	Guesses int    `json:"guesses,omitempty"` // wrong ones
	// Sent are the times of the last sends, the oldest first.
	Sent []api.Time `json:"sent,omitempty"`
	// Failures counts wrong guesses on Day, over all codes.
	Day      string `json:"day,omitempty"`
	Failures int    `json:"failures,omitempty"`
}

// Start begins a new code in place of an earlier one, and counts the send. perDay bounds the sends of a day;
// zero does not. [State.Draw] follows.
//
// Refusals: rate_limited after 5 codes in 10 minutes, or perDay in a day; otp_attempts_exceeded after 10
// wrong entries in a day (UTC).
func (s *State) Start(now time.Time, id string, perDay int) error {
	if refusal := s.locked(now); refusal != nil {
		refusal.Param = ""
		return refusal
	}
	wait := pace.Wait(s.Sent, now, sends, sendWindow)
	if perDay > 0 {
		wait = max(wait, pace.Wait(s.Sent, now, perDay, day))
	}
	if wait > 0 {
		return TooManySends(wait)
	}
	kept := slices.Clone(s.Sent[max(0, len(s.Sent)+1-max(sends, perDay)):])
	s.Code, s.MAC, s.Guesses, s.Sent = id, nil, 0, append(kept, api.At(now))
	return nil
}

// TooManySends refuses another code before a time is over.
func TooManySends(wait time.Duration) error {
	return api.Errorf(api.RateLimited, "", "Too many codes were sent. Wait before you request another: the header Retry-After has the seconds.").After(wait)
}

// Draw returns the digits of the code. It is bound to what the parts say.
func (s *State) Draw(key []byte, about ...string) (digits string) {
	// The error is always nil: crypto/rand never fails.
	n, _ := rand.Int(rand.Reader, big.NewInt(1_000_000))
	digits = fmt.Sprintf("%06d", n.Int64())
	s.MAC = MAC(key, append(slices.Clone(about), digits)...)
	return digits
}

// Check refuses digits that are not those of the code, under any of the server's keys. counted says that
// the caller writes the state, though it refuses: a wrong guess counts.
//
// Refusals: otp_invalid, otp_expired, otp_attempts_exceeded after 5 wrong entries of the code or 10 in a
// day.
func (s *State) Check(now time.Time, expired bool, keys [][]byte, digits string, about ...string) (counted bool, refusal *api.Error) {
	if refusal := s.locked(now); refusal != nil {
		return false, refusal
	}
	switch {
	case s.Guesses >= guesses:
		return false, tooManyGuesses(0)
	case expired:
		return false, api.Errorf(api.OTPExpired, "code", "The code has expired. Request a new one.")
	}
	about = append(slices.Clone(about), digits)
	for _, key := range keys {
		if hmac.Equal(s.MAC, MAC(key, about...)) {
			return false, nil
		}
	}
	s.Guesses++
	if today := dayOf(now); s.Day != today {
		s.Day, s.Failures = today, 0
	}
	s.Failures++
	return true, api.Errorf(api.OTPInvalid, "code", "The code is wrong. %d more tries are left.", guesses-s.Guesses)
}

// Exhausted reports whether too many wrong guesses have ended the code, or all codes of the day.
func (s *State) Exhausted(now time.Time) bool { return s.Guesses >= guesses || s.locked(now) != nil }

// locked refuses codes for the rest of a day with too many wrong guesses.
func (s *State) locked(now time.Time) *api.Error {
	if s.Day != dayOf(now) || s.Failures < failures {
		return nil
	}
	return tooManyGuesses(now.UTC().Truncate(day).Add(day).Sub(now))
}

func tooManyGuesses(wait time.Duration) *api.Error {
	e := api.Errorf(api.OTPAttemptsExceeded, "code", "There were too many wrong entries. Request a new code.")
	if e.RetryAfter = wait; wait > 0 {
		e.Message = "There were too many wrong entries today. Try again tomorrow."
	}
	return e
}

func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// MAC authenticates parts.
func MAC(key []byte, parts ...string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(strings.Join(parts, "\x00")))
	return h.Sum(nil)
}

// CheckDigits refuses text that cannot be a code. Such text does not count as a guess.
func CheckDigits(param, code string) error {
	ok := len(code) == 6
	for i := 0; ok && i < len(code); i++ {
		ok = code[i] >= '0' && code[i] <= '9'
	}
	if !ok {
		return api.Invalid(param, "%s must be a string of six digits.", param)
	}
	return nil
}
