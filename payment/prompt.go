package payment

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/otp"
	"github.com/seed-7082ffec/payments/internal/pace"
	"github.com/seed-7082ffec/payments/storage"
)

// PromptLimits bound how often one phone is asked to approve a payment, over all merchants. A phone
// that has an open prompt, whose payment has neither ended nor passed its deadline, gets no other.
// The limits hold in live mode. A negative number turns one off.
type PromptLimits struct {
	// Recent is the largest number in any 10 minutes, and Day that in any 24 hours.
	Recent, Day int
}

// DefaultPromptLimits are the limits if the host sets none.
var DefaultPromptLimits = PromptLimits{Recent: 3, Day: 20}

const (
	promptWindow = 10 * time.Minute
	promptDay    = 24 * time.Hour
	// maxPrompts bounds the limits, and so what is remembered of one phone.
	maxPrompts = 1000
)

func (l *PromptLimits) fill() error {
	l.Recent, l.Day = cmp.Or(l.Recent, DefaultPromptLimits.Recent), cmp.Or(l.Day, DefaultPromptLimits.Day)
	if l.Recent > maxPrompts || l.Day > maxPrompts {
		return api.Invalid("PromptLimits", "PromptLimits must be at most %d.", maxPrompts)
	}
	return nil
}

// asked is what a phone was asked for: prompts, or codes by SMS.
type asked string

const (
	promptsOut asked = "prompt"
	codesOut   asked = "code"
)

// codeLimits bound the codes that are sent to one phone, over all merchants.
var codeLimits = PromptLimits{Recent: 5, Day: 20}

// prompted is when a phone was asked, or got a code, the oldest first. Its id hides the number.
type prompted struct {
	At []api.Time `json:"at"`
	// Open is the payment or top-up that was asked for last, and Until its deadline.
	Open  string   `json:"open,omitempty"`
	Until api.Time `json:"until"`
	// Forget is the time at which the record says nothing any more.
	Forget api.Time `json:"forget"`
}

var prompts = storage.NewCollection("payment_prompts", []storage.Field[prompted]{
	storage.NullTimeColumn("forget", func(p *prompted) *api.Time { return &p.Forget }),
}, storage.DueBy("forget"))

// promptsOf returns the record of a phone's prompts, or of the codes that were sent to it. Its id is a keyed
// digest of the number. After a change of the server's key, the record that an old key has named goes on.
func (s *Service) promptsOf(tx storage.ReadTx, what asked, number string) (*storage.Object[prompted], error) {
	var first *storage.Object[prompted]
	for _, key := range s.engine.ServerKeys {
		digest := hmac.New(sha256.New, key)
		digest.Write([]byte(string(what) + "\x00" + number))
		o, err := prompts.GetOrNew(tx, promptScope, "prompt_"+hex.EncodeToString(digest.Sum(nil)[:16]))
		if err != nil {
			return nil, fmt.Errorf("payment: read prompts: %w", err)
		}
		if o.Version > 0 {
			return o, nil
		}
		if first == nil {
			first = o
		}
	}
	return first, nil
}

// promptScope is that of all merchants.
var promptScope = storage.Scope{Live: true}

// countPrompt counts a prompt of a phone, and refuses one beyond the limits with too_many_prompts.
// In test mode the number …0908 alone is refused.
func (s *Service) countPrompt(tx *engine.Tx, number, payment string, deadline time.Time) error {
	if !tx.Caller.Live {
		if strings.HasSuffix(number, "0908") {
			return errTooManyPrompts(promptWindow)
		}
		return nil
	}
	o, err := s.promptsOf(tx, promptsOut, number)
	if err != nil {
		return err
	}
	p := &o.Value
	if wait := p.count(tx.Now, s.config.Prompts); wait > 0 {
		return errTooManyPrompts(wait)
	}
	p.Open, p.Until = payment, api.At(deadline)
	return prompts.Put(tx, o)
}

// CountCode counts a code that is sent to a phone by SMS, over all merchants, and refuses one beyond 5 in 10
// minutes and 20 in a day with rate_limited. As the limits of prompts, it holds in live mode.
func (in *Internal) CountCode(tx *engine.Tx, number string) error {
	if !tx.Caller.Live {
		return nil
	}
	o, err := in.svc.promptsOf(tx, codesOut, number)
	if err != nil {
		return err
	}
	if wait := o.Value.count(tx.Now, codeLimits); wait > 0 {
		return otp.TooManySends(wait)
	}
	return prompts.Put(tx, o)
}

// count counts that the phone is asked now, or returns how long it must not be asked.
func (p *prompted) count(now time.Time, l PromptLimits) (wait time.Duration) {
	if wait = p.wait(now, l); wait > 0 {
		return wait
	}
	p.At = append(p.At, api.At(now))
	p.At = p.At[max(0, len(p.At)-max(l.Recent, l.Day, 1)):]
	p.Forget = api.At(now.Add(promptDay))
	return 0
}

// wait returns how long the phone must not be asked.
func (p *prompted) wait(now time.Time, l PromptLimits) time.Duration {
	wait := time.Duration(0)
	if p.Open != "" {
		wait = p.Until.Sub(now)
	}
	for _, limit := range []struct {
		most   int
		window time.Duration
	}{{l.Recent, promptWindow}, {l.Day, promptDay}} {
		if limit.most > 0 {
			wait = max(wait, pace.Wait(p.At, now, limit.most, limit.window))
		}
	}
	return wait
}

func errTooManyPrompts(wait time.Duration) error {
	return api.Errorf(api.TooManyPrompts, "", "This phone was asked to approve payments too often. Try again after the seconds in the header Retry-After, or pay another way.").After(wait)
}

// endPrompt ends the open prompt of a phone, if it is that of this payment or top-up. unsent is the
// time of a prompt that was counted and never sent, and otherwise zero.
func (s *Service) endPrompt(tx *engine.Tx, number, payment string, unsent time.Time) error {
	if !tx.Caller.Live || number == "" {
		return nil
	}
	o, err := s.promptsOf(tx, promptsOut, number)
	if err != nil {
		return err
	}
	p := &o.Value
	if o.Version == 0 || p.Open != payment && unsent.IsZero() {
		return nil
	}
	if p.Open == payment {
		p.Open = ""
	}
	p.At = slices.DeleteFunc(p.At, func(t api.Time) bool { return t.Equal(unsent) })
	return prompts.Replace(tx, o)
}

// unsent returns the time of the prompt of a payment or top-up that was never submitted, for
// endPrompt; zero if it was.
func unsent(submission *dispatch.Submission, created api.Time) time.Time {
	if submission.SubmittedAt != nil {
		return time.Time{}
	}
	return created.Time
}
