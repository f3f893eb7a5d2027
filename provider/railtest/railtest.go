// Package railtest tests a [provider.Rail] against its contract. A host runs it on its own rail,
// with a fake of its provider behind it:
//
//	func TestRail(t *testing.T) {
//		railtest.Run(t, func(t *testing.T) railtest.Rig { … })
//	}
//
// [Chaos] is a rail for other tests. It keeps the contract and otherwise behaves as badly as it
// can.
package railtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
)

// Rig is a rail, with destinations and hooks of the fake provider behind it. Leave a hook nil if
// the fake cannot offer it. Run then skips the tests that need it.
type Rig struct {
	Rail provider.Rail
	// Paid and Refused are destinations with that outcome. A transfer to Slow stays in progress
	// while the suite runs. Leave Number empty for an outcome that the fake cannot produce.
	Paid, Refused, Slow Destination
	// Name is the registered name of Paid. It is empty if the rail is no [provider.NameEnquirer] or
	// the name is unknown.
	Name string
	// Moved returns how often money was sent for the order with that id.
	Moved func(id string) int
	// Received returns the amount, in GHS, and the number that the provider received for an order.
	Received func(id string) (amount decimal.Decimal, number string)
	// LoseRequest makes the next call fail before the provider has seen it,
	// LoseAnswer makes it fail after the provider has done everything.
	LoseRequest, LoseAnswer func()
}

// Destination is where an order goes.
type Destination struct {
	Channel provider.Channel
	// Network is of mobile money, Bank the code of a bank.
	Network, Bank string
	Number        string
}

// check is one promise. What it returns is why the promise is broken.
type check struct {
	name string
	run  func(t *testing.T, r *rig) error
}

// rig adds to a Rig what the checks share.
type rig struct {
	Rig
	orders int
}

// Run tests the rail. It calls open for a new rig in each test.
func Run(t *testing.T, open func(t *testing.T) Rig) {
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if err := c.run(t, &rig{Rig: open(t)}); err != nil {
				t.Error(err)
			}
		})
	}
}

// order makes a new order of GHS 4.35 to a destination.
func (r *rig) order(t *testing.T, to Destination) provider.Transfer {
	t.Helper()
	if to.Number == "" {
		t.Skip("the rig has no such destination")
	}
	r.orders++
	now := time.Now()
	return provider.Transfer{
		Order: provider.Order{
			ID: fmt.Sprintf("po_%s%04d", strings.Map(alphanumeric, t.Name()), r.orders), Live: true,
			Amount: 435, CreatedAt: now, SubmittedAt: now, Now: now, Attempts: 1,
		},
		Channel: to.Channel, Network: to.Network, Bank: to.Bank, Number: to.Number, Description: "railtest",
	}
}

func alphanumeric(c rune) rune {
	if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
		return c
	}
	return -1
}

// moved compares how often money was sent, where the rig can tell.
func (r *rig) moved(o provider.Transfer, want int) error {
	if r.Moved == nil {
		return nil
	}
	if got := r.Moved(o.ID); got != want {
		return fmt.Errorf("money was sent %d times, want %d", got, want)
	}
	return nil
}

// answer checks the outcome of a call.
func answer(result provider.Result, err error, want ...provider.Outcome) error {
	if err != nil {
		return fmt.Errorf("got the error %w, want an answer", err)
	}
	for _, w := range want {
		if result.Outcome == w {
			return nil
		}
	}
	return fmt.Errorf("got %q, want %q", result.Outcome, want)
}

// discreet refuses an error or a reason that quotes the number.
func discreet(o provider.Transfer, result provider.Result, err error) error {
	text := result.Reason.Message + " " + result.Reference
	if err != nil {
		text += " " + err.Error()
	}
	national := strings.TrimPrefix(o.Number, "+233")
	if strings.Contains(text, national) {
		return errors.New("an error, reason or reference quotes the whole number, and would be shown or logged")
	}
	return nil
}

var checks = []check{
	{"a paid order", func(t *testing.T, r *rig) error {
		o := r.order(t, r.Paid)
		result, err := r.Rail.Submit(t.Context(), o)
		if err := errors.Join(answer(result, err, provider.Paid, provider.InProgress), discreet(o, result, err)); err != nil {
			return err
		}
		result, err = r.Rail.Status(t.Context(), o)
		return errors.Join(answer(result, err, provider.Paid, provider.InProgress), discreet(o, result, err), r.moved(o, 1))
	}},
	{"the name of an account", func(t *testing.T, r *rig) error {
		enquirer, ok := r.Rail.(provider.NameEnquirer)
		if !ok || r.Name == "" {
			t.Skip("the rail tells no names, or the rig does not know them")
		}
		for range 2 { // it changes nothing
			o := r.order(t, r.Paid)
			name, err := enquirer.AccountName(t.Context(), provider.Enquiry{Live: o.Live, Channel: o.Channel, Network: o.Network, Bank: o.Bank, Number: o.Number})
			if err != nil || name != r.Name {
				return fmt.Errorf("got the name %q and the error %v, want %q", name, err, r.Name)
			}
			if err := r.moved(o, 0); err != nil {
				return err
			}
		}
		return nil
	}},
	{"what the provider is told", func(t *testing.T, r *rig) error {
		if r.Received == nil {
			t.Skip("the rig cannot tell what the provider received")
		}
		for _, amount := range []int64{1, 115, 435, 841, 1999, 100_00, 20_000_00} {
			o := r.order(t, r.Paid)
			o.Amount = amount
			if _, err := r.Rail.Submit(t.Context(), o); err != nil {
				return err
			}
			got, number := r.Received(o.ID)
			if want := api.FromPesewas(amount); !got.Equal(want.Decimal) {
				return fmt.Errorf("GHS %s arrived as %s", want, got)
			}
			if digits(number) != digits(o.Number) && "0"+strings.TrimPrefix(digits(o.Number), "233") != digits(number) {
				return errors.New("another number arrived")
			}
		}
		return nil
	}},
	{"submitted twice", func(t *testing.T, r *rig) error {
		o := r.order(t, r.Paid)
		for range 3 {
			result, err := r.Rail.Submit(t.Context(), o)
			if err := answer(result, err, provider.Paid, provider.InProgress); err != nil {
				return err
			}
		}
		return r.moved(o, 1)
	}},
	{"submitted by many", func(t *testing.T, r *rig) error {
		o := r.order(t, r.Paid)
		errs := make([]error, 16)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() {
				result, err := r.Rail.Submit(t.Context(), o)
				errs[i] = answer(result, err, provider.Paid, provider.InProgress)
			})
		}
		all.Wait()
		return errors.Join(append(errs, r.moved(o, 1))...)
	}},
	{"an unknown order", func(t *testing.T, r *rig) error {
		o := r.order(t, r.Paid)
		result, err := r.Rail.Status(t.Context(), o)
		return errors.Join(answer(result, err, provider.NotFound, provider.InProgress), r.moved(o, 0))
	}},
	{"a refused order", func(t *testing.T, r *rig) error {
		o := r.order(t, r.Refused)
		result, err := r.Rail.Submit(t.Context(), o)
		if err := errors.Join(answer(result, err, provider.Refused, provider.InProgress), discreet(o, result, err)); err != nil {
			return err
		}
		result, err = r.Rail.Status(t.Context(), o)
		if err := errors.Join(answer(result, err, provider.Refused, provider.InProgress), discreet(o, result, err), r.moved(o, 0)); err != nil {
			return err
		}
		if result.Outcome == provider.Refused && result.Reason == (provider.Refusal{}) {
			return errors.New("the refusal has neither code nor message")
		}
		return nil
	}},
	{"a slow order", func(t *testing.T, r *rig) error {
		o := r.order(t, r.Slow)
		result, err := r.Rail.Submit(t.Context(), o)
		if err := answer(result, err, provider.InProgress); err != nil {
			return err
		}
		result, err = r.Rail.Status(t.Context(), o)
		return errors.Join(answer(result, err, provider.InProgress), r.moved(o, 0))
	}},
	{"a lost request", func(t *testing.T, r *rig) error {
		if r.LoseRequest == nil {
			t.Skip("the rig cannot lose a request")
		}
		o := r.order(t, r.Paid)
		r.LoseRequest()
		result, err := r.Rail.Submit(t.Context(), o)
		if err == nil {
			return fmt.Errorf("a request that got lost is answered with %q; the outcome is unknown, which is an error", result.Outcome)
		}
		if err := errors.Join(discreet(o, result, err), r.moved(o, 0)); err != nil {
			return err
		}
		result, err = r.Rail.Status(t.Context(), o)
		if err := answer(result, err, provider.NotFound, provider.InProgress); err != nil {
			return err
		}
		result, err = r.Rail.Submit(t.Context(), o)
		return errors.Join(answer(result, err, provider.Paid, provider.InProgress), r.moved(o, 1))
	}},
	{"a lost answer", func(t *testing.T, r *rig) error {
		if r.LoseAnswer == nil {
			t.Skip("the rig cannot lose an answer")
		}
		o := r.order(t, r.Paid)
		r.LoseAnswer()
		result, err := r.Rail.Submit(t.Context(), o)
		if err == nil {
			return fmt.Errorf("an answer that got lost is told as %q; the outcome is unknown, which is an error", result.Outcome)
		}
		if err := discreet(o, result, err); err != nil {
			return err
		}
		result, err = r.Rail.Status(t.Context(), o)
		if err := answer(result, err, provider.Paid, provider.InProgress); err != nil {
			return err
		}
		result, err = r.Rail.Submit(t.Context(), o)
		return errors.Join(answer(result, err, provider.Paid, provider.InProgress), r.moved(o, 1))
	}},
	{"a status that gets lost", func(t *testing.T, r *rig) error {
		if r.LoseAnswer == nil {
			t.Skip("the rig cannot lose an answer")
		}
		o := r.order(t, r.Paid)
		if _, err := r.Rail.Submit(t.Context(), o); err != nil {
			return err
		}
		r.LoseAnswer()
		// A client may have asked again by itself, and so have an answer.
		if result, err := r.Rail.Status(t.Context(), o); err == nil {
			if err := answer(result, err, provider.Paid, provider.InProgress); err != nil {
				return err
			}
		}
		return r.moved(o, 1)
	}},
	{"a cancelled context", func(t *testing.T, r *rig) error {
		o := r.order(t, r.Slow)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		result, err := r.Rail.Submit(ctx, o)
		if err == nil && result.Outcome == provider.Refused {
			return errors.New("a call that ran out of time is refused; the outcome is unknown, which is an error")
		}
		return nil
	}},
	{"a destination that is looked at", func(t *testing.T, r *rig) error {
		checker, ok := r.Rail.(provider.Checker)
		if !ok {
			t.Skip("the rail looks at no destination")
		}
		o := r.order(t, r.Paid)
		o.ID = "" // it has none yet
		if err := checker.Check(t.Context(), o); err != nil {
			return fmt.Errorf("a good destination: %w", err)
		}
		return r.moved(o, 0)
	}},
}

func digits(s string) string {
	return strings.Map(func(c rune) rune {
		if c < '0' || c > '9' {
			return -1
		}
		return c
	}, s)
}
