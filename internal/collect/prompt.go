package collect

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
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/internal/otp"
	"github.com/seed-7082ffec/payments/internal/pace"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

const (
	promptWindow = 10 * time.Minute
	promptDay    = 24 * time.Hour
	// maxPrompts bounds the limits, and so what is remembered of one phone.
	maxPrompts = 1000
)

func fillLimits(l *payment.PromptLimits) error {
	l.Recent, l.Day = cmp.Or(l.Recent, payment.DefaultPromptLimits.Recent), cmp.Or(l.Day, payment.DefaultPromptLimits.Day)
	if l.Recent > maxPrompts || l.Day > maxPrompts {
		return api.Invalid("PromptLimits", "PromptLimits must be at most %d.", maxPrompts)
	}
	return nil
}

// counter names what a record counts: prompts to a phone, codes or other texts by SMS to it, the prompts or codes
// that one IP address caused there, or the holds that an address has started.
type counter string

const (
	promptsOut   counter = "prompt"
	pagePrompts  counter = "page"
	codesOut     counter = "code"
	pageCodes    counter = "page code"
	textsOut     counter = "text"
	holdsStarted counter = "hold"
)

// codeLimits bound the codes that are sent to one phone, over all merchants.
var codeLimits = payment.PromptLimits{Recent: 5, Day: 20}

// prompted records the times of what it counts; see counter. Its id hides the number and the address.
type prompted struct {
	// At are the times, the oldest first.
	At []api.Time `json:"at"`
	// Automatic is when the phone was asked for scheduled charges, the oldest first.
	Automatic []api.Time `json:"automatic,omitempty"`
	// Open is the payment or top-up that was asked for last, and Until its deadline.
	Open  string   `json:"open,omitempty"`
	Until api.Time `json:"until"`
	// Forget is the time from which the record limits nothing any more.
	Forget api.Time `json:"forget"`
}

var prompts = storage.NewCollection("payment_prompts", []storage.Field[prompted]{
	storage.NullTimeColumn("forget", func(p *prompted) *api.Time { return &p.Forget }),
}, storage.DueBy("forget"))

// promptsOf returns the record of a counter for a key: a number, a number and an address, or an object and an
// address. Its id is a keyed digest of counter and key. After a change of the server's key, a record under an older key
// stays in use.
func (s *Service) promptsOf(tx storage.ReadTx, c counter, key string) (*storage.Object[prompted], error) {
	var first *storage.Object[prompted]
	for _, serverKey := range s.engine.ServerKeys {
		digest := hmac.New(sha256.New, serverKey)
		digest.Write([]byte(string(c) + "\x00" + key))
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

// promptScope is the scope of records that count over all merchants.
var promptScope = storage.Scope{Live: true}

// asker says on whose behalf a phone is asked.
type asker struct {
	// automatic says that it is a scheduled charge.
	automatic bool
	// from is the network address of a payer on a public page; empty for any other.
	from string
}

// countPrompt counts a prompt of a phone, and refuses one beyond the limits with too_many_prompts.
// In test mode it refuses only a number that ends in 0908.
func (s *Service) countPrompt(tx *engine.Tx, number, payment string, deadline time.Time, by asker) error {
	if !tx.Caller.Live {
		if strings.HasSuffix(number, "0908") {
			return errPhoneAsked(promptWindow)
		}
		return nil
	}
	o, err := s.promptsOf(tx, promptsOut, number)
	if err != nil {
		return err
	}
	p, limits := &o.Value, s.config.Prompts
	counted := &p.At
	if by.automatic {
		counted = &p.Automatic
	}
	wait := waitFor(limits, *counted, tx.Now)
	if p.Open != "" && p.Until.After(tx.Now) {
		return errPhoneAsked(max(wait, p.Until.Sub(tx.Now)))
	}
	var page *storage.Object[prompted]
	if by.from != "" {
		if page, err = s.promptsOf(tx, pagePrompts, number+"\x00"+by.from); err != nil {
			return err
		}
		wait = max(wait, waitFor(pageLimits(limits), page.Value.At, tx.Now))
	}
	if wait > 0 {
		return errTooManyPrompts(wait)
	}
	if page != nil {
		page.Value.At = remembered(pageLimits(limits), page.Value.At, tx.Now)
		page.Value.Forget = api.At(tx.Now.Add(promptDay))
		if err := prompts.Put(tx, page); err != nil {
			return fmt.Errorf("payment: count prompt: %w", err)
		}
	}
	*counted = remembered(limits, *counted, tx.Now)
	p.Open, p.Until, p.Forget = payment, api.At(deadline), api.At(tx.Now.Add(promptDay))
	return prompts.Put(tx, o)
}

// CountCode counts a code that is sent to a phone by SMS, over all merchants, and refuses one beyond 5 in 10
// minutes and 20 in a day with rate_limited. On a public page, from is the payer's network address, which has
// lower limits, as with prompts. The limits hold in live mode.
func (s *Service) CountCode(tx *engine.Tx, number, from string) error {
	if !tx.Caller.Live {
		return nil
	}
	if from != "" {
		if err := s.countCode(tx, pageCodes, number+"\x00"+from, pageLimits(codeLimits)); err != nil {
			return err
		}
	}
	return s.countCode(tx, codesOut, number, codeLimits)
}

func (s *Service) countCode(tx *engine.Tx, c counter, key string, limits payment.PromptLimits) error {
	o, err := s.promptsOf(tx, c, key)
	if err != nil {
		return err
	}
	p := &o.Value
	if wait := waitFor(limits, p.At, tx.Now); wait > 0 {
		return otp.TooManySends(wait)
	}
	p.At, p.Forget = remembered(limits, p.At, tx.Now), api.At(tx.Now.Add(promptDay))
	return prompts.Put(tx, o)
}

// countHold counts a hold that a network address starts on a page, and refuses a third of one object in an
// hour with too_many_prompts. from is empty for any other call. The limit holds in live mode. The caller writes
// the record, if it is not nil, once nothing can refuse the payment any more.
func (s *Service) countHold(tx *engine.Tx, object, from string) (*storage.Object[prompted], error) {
	if !tx.Caller.Live || from == "" {
		return nil, nil
	}
	o, err := s.promptsOf(tx, holdsStarted, object+"\x00"+from)
	if err != nil {
		return nil, err
	}
	p := &o.Value
	if wait := pace.Wait(p.At, tx.Now, addressHolds, time.Hour); wait > 0 {
		return nil, api.Errorf(api.TooManyPrompts, "from", "Payments of this were started too often from this address. Try again after the seconds in the header Retry-After, or pay another way.").After(wait)
	}
	p.At = append(p.At[max(0, len(p.At)+1-addressHolds):], api.At(tx.Now))
	p.Forget = api.At(tx.Now.Add(time.Hour))
	return o, nil
}

// pageLimits returns the limits of one network address on public pages for one phone. They are below those of the
// phone, so that a stranger with one address cannot stop its holder's payments.
func pageLimits(l payment.PromptLimits) payment.PromptLimits {
	below := func(most, less int) int {
		if most < 0 {
			return most
		}
		return max(1, less)
	}
	return payment.PromptLimits{Recent: below(l.Recent, l.Recent-1), Day: below(l.Day, l.Day/2)}
}

// remembered adds now to the times at which a phone was asked, and keeps as many as the limits need.
func remembered(l payment.PromptLimits, at []api.Time, now time.Time) []api.Time {
	at = append(at, api.At(now))
	return at[max(0, len(at)-max(l.Recent, l.Day, 1)):]
}

// waitFor returns how long a phone that was asked at these times must not be asked again.
func waitFor(l payment.PromptLimits, at []api.Time, now time.Time) (wait time.Duration) {
	for _, limit := range []struct {
		most   int
		window time.Duration
	}{{l.Recent, promptWindow}, {l.Day, promptDay}} {
		if limit.most > 0 {
			wait = max(wait, pace.Wait(at, now, limit.most, limit.window))
		}
	}
	return wait
}

func errTooManyPrompts(wait time.Duration) error {
	return api.Errorf(api.TooManyPrompts, "", "This phone was asked to approve payments too often. Try again after the seconds in the header Retry-After, or pay another way.").After(wait)
}

func errPhoneAsked(wait time.Duration) error {
	return api.Errorf(api.TooManyPrompts, "", "This phone is asked to approve a payment at the moment. Approve or decline it there, or try again after the seconds in the header Retry-After.").After(wait).WithCause(payment.ErrPhoneAsked)
}

// endPrompt ends the open prompt of a phone, if it is that of this payment or top-up. unsent is the time of a
// prompt that was counted and never sent, which is no longer counted; zero for none.
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
	is := func(t api.Time) bool { return t.Equal(unsent) }
	p.At, p.Automatic = slices.DeleteFunc(p.At, is), slices.DeleteFunc(p.Automatic, is)
	return prompts.Replace(tx, o)
}

// unsent returns the time of the prompt of a payment or top-up that was never submitted, for
// endPrompt; zero if it was.
func unsent(submission *orders.Submission, created api.Time) time.Time {
	if submission.SubmittedAt != nil {
		return time.Time{}
	}
	return created.Time
}
