// Package otp has one-time codes of six digits, which a person gets by SMS and enters: how they are drawn
// and compared, and how often they are sent and guessed. Its callers keep a [State] in a record of theirs,
// or, where several codes live at a time, a [Counts] and more than one [Code].
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

// The limits of codes. Test mode has its own, which no tester meets by trying things out, and no lock of a
// day.
const (
	guesses   = 5  // wrong ones, of one code
	failures  = 10 // wrong ones, of one day
	sends     = 5  // in the window
	window    = 10 * time.Minute
	testLimit = 100 // in test mode: sends, and wrong guesses, each in the window
	day       = 24 * time.Hour
)

// Code is what is kept of one code.
type Code struct {
	// ID distinguishes one code from the next. MAC authenticates its digits.
	ID      string `json:"code,omitempty"`
	MAC     []byte `json:"mac,omitempty"`
	Guesses int    `json:"guesses,omitempty"` // wrong ones
}

// Counts is how often codes were sent and guessed. Live mode counts wrong guesses by the day, test mode
// within the window.
type Counts struct {
	// Sent are the times of the last sends, the oldest first.
	Sent []api.Time `json:"sent,omitempty"`
	// Failures counts wrong guesses on Day, over all codes.
	Day      string `json:"day,omitempty"`
	Failures int    `json:"failures,omitempty"`
	// Failed are the times of the last wrong guesses in test mode, the oldest first.
	Failed []api.Time `json:"failed,omitempty"`
}

// State is what is kept of a code, and of those before it.
type State struct {
	Code
	Counts
}

// Start begins a new code in place of an earlier one, and counts the send; see [Counts.Send]. [Code.Draw]
// follows.
func (s *State) Start(now time.Time, live bool, id string, perDay int) error {
	if err := s.Send(now, live, perDay); err != nil {
		return err
	}
	s.Code = Code{ID: id}
	return nil
}

// Send counts a send. perDay bounds the sends of a day in live mode; zero does not.
//
// Refusals: rate_limited after 5 codes in 10 minutes, or perDay in a day; otp_attempts_exceeded after 10
// wrong entries in a day (UTC). In test mode both stand for 100 in 10 minutes.
func (c *Counts) Send(now time.Time, live bool, perDay int) error {
	if refusal := c.Locked(now, live); refusal != nil {
		refusal.Param = ""
		return refusal
	}
	most := sends
	if !live {
		most, perDay = testLimit, 0
	}
	wait := pace.Wait(c.Sent, now, most, window)
	if perDay > 0 {
		wait = max(wait, pace.Wait(c.Sent, now, perDay, day))
	}
	if wait > 0 {
		if live {
			return TooManySends(wait)
		}
		return api.Errorf(api.RateLimited, "", "%d codes were sent in 10 minutes. "+moveClock, testLimit).After(wait)
	}
	c.Sent = last(c.Sent, max(most, perDay), now)
	return nil
}

// last returns the times with now added, without those before the last n.
func last(times []api.Time, n int, now time.Time) []api.Time {
	return append(slices.Clone(times[max(0, len(times)+1-n):]), api.At(now))
}

// moveClock says how a tester goes on.
const moveClock = "Wait for the seconds of the header Retry-After, or move the test clock by as many with POST /v1/test_helpers/clock."

// TooManySends refuses another code before a time is over.
func TooManySends(wait time.Duration) error {
	return api.Errorf(api.RateLimited, "", "Too many codes were sent. Wait before you request another: the header Retry-After has the seconds.").After(wait)
}

// Draw returns the digits of the code. It is bound to what the parts say.
func (c *Code) Draw(key []byte, about ...string) (digits string) {
	// The error is always nil: crypto/rand never fails.
	n, _ := rand.Int(rand.Reader, big.NewInt(1_000_000))
	digits = fmt.Sprintf("%06d", n.Int64())
	c.Set(key, digits, about...)
	return digits
}

// Set is Draw for digits that are given, as in test mode.
func (c *Code) Set(key []byte, digits string, about ...string) {
	c.MAC = MAC(key, append(slices.Clone(about), digits)...)
}

// Exhausted reports whether too many wrong guesses have ended the code.
func (c *Code) Exhausted() bool { return c.Guesses >= guesses }

// Candidate is a code that digits may be those of.
type Candidate struct {
	*Code
	Expired bool
	About   []string // what the code is bound to
}

// Check is [Counts.Guess] for the one code.
func (s *State) Check(now time.Time, live, expired bool, keys [][]byte, digits string, about ...string) (counted bool, refusal *api.Error) {
	_, counted, refusal = s.Guess(now, live, keys, digits, []Candidate{{&s.Code, expired, about}})
	return counted, refusal
}

// Guess returns the candidate whose digits these are, under any of the server's keys. Wrong digits count
// against each candidate that lives. counted says that the caller writes the counts and the candidates,
// though the digits are refused. The first candidate is the newest.
//
// Refusals: otp_invalid, otp_expired, otp_attempts_exceeded after 5 wrong entries of the code or 10 in a
// day, in test mode 100 in 10 minutes.
func (c *Counts) Guess(now time.Time, live bool, keys [][]byte, digits string, candidates []Candidate) (found *Code, counted bool, refusal *api.Error) {
	if refusal := c.Locked(now, live); refusal != nil {
		return nil, false, refusal
	}
	living := slices.DeleteFunc(slices.Clone(candidates), func(of Candidate) bool { return of.Expired || of.Exhausted() })
	switch {
	case len(living) > 0:
	case candidates[0].Exhausted():
		return nil, false, api.Errorf(api.OTPAttemptsExceeded, "code", "There were too many wrong entries. Request a new code.")
	default:
		return nil, false, api.Errorf(api.OTPExpired, "code", "The code has expired. Request a new one.")
	}
	for _, of := range living {
		about := append(slices.Clone(of.About), digits)
		for _, key := range keys {
			if hmac.Equal(of.MAC, MAC(key, about...)) {
				return of.Code, false, nil
			}
		}
	}
	left := 0
	for _, of := range living {
		of.Guesses++
		left = max(left, guesses-of.Guesses)
	}
	c.fail(now, live)
	next := fmt.Sprintf("%d more tries are left.", left)
	switch left {
	case 1:
		next = "1 more try is left."
	case 0:
		next = "Request a new code."
	}
	return nil, true, api.Errorf(api.OTPInvalid, "code", "The code is wrong. %s", next)
}

// fail counts a wrong guess.
func (c *Counts) fail(now time.Time, live bool) {
	if !live {
		c.Failed = last(c.Failed, testLimit, now)
		return
	}
	if today := dayOf(now); c.Day != today {
		c.Day, c.Failures = today, 0
	}
	c.Failures++
}

// Locked refuses all codes after too many wrong guesses: for the rest of the day, or, in test mode, of the
// window.
func (c *Counts) Locked(now time.Time, live bool) *api.Error {
	if !live {
		if wait := pace.Wait(c.Failed, now, testLimit, window); wait > 0 {
			return api.Errorf(api.OTPAttemptsExceeded, "code", "There were %d wrong entries in 10 minutes. "+moveClock, testLimit).After(wait)
		}
		return nil
	}
	if c.Day != dayOf(now) || c.Failures < failures {
		return nil
	}
	wait := now.UTC().Truncate(day).Add(day).Sub(now)
	return api.Errorf(api.OTPAttemptsExceeded, "code", "There were too many wrong entries today. Try again tomorrow.").After(wait)
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
