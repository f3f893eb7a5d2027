// Package conformance has what provider/railtest and provider/chargertest share: the promises that
// hold for every order, be it a transfer, a charge or a refund, and a chaotic provider.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/provider"
)

// Check is one promise of a provider. Run returns why the promise is broken.
type Check[R any] struct {
	Name string
	Run  func(t *testing.T, r R) error
}

// Run runs each check on a rig of its own.
func Run[R any](t *testing.T, checks []Check[R], open func(t *testing.T) R) {
	for _, c := range checks {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Run(t, open(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// Flow is one flow of orders at a provider under test: transfers, charges or refunds.
type Flow struct {
	// New makes an order with that amount, which has that outcome at the provider: Paid, Refused
	// or InProgress. It skips the test if the rig has no such order.
	New func(t *testing.T, amount int64, outcome provider.Outcome) (*Order, error)
	// LoseRequest and LoseAnswer lose the next call, as in the rigs. They may be nil.
	LoseRequest, LoseAnswer func()
}

// Order is an order with its two calls.
type Order struct {
	provider.Order
	Submit, Status Call
	// Moved returns how often money moved for the order with that id. It may be nil.
	Moved func(id string) int
	// Received returns how the order that the provider received differs from this one. It may be
	// nil.
	Received func() error
	// Secrets are what no answer may quote.
	Secrets []string
	// MessageOnly says that merchants see the message of a refusal and not its code.
	MessageOnly bool
}

// Call is a call of the provider, with the name of its method.
type Call struct {
	Name string
	Do   func(ctx context.Context) (provider.Result, error)
}

var source = ids.New(time.Now, nil)

// NewID returns an id in the library's form.
func NewID(prefix string) string { return source.Make(prefix) }

// NewOrder returns an order with a new id, at its first attempt.
func NewOrder(prefix string, amount int64) provider.Order {
	now := time.Now()
	return provider.Order{ID: NewID(prefix), Live: true, Amount: amount, CreatedAt: now, SubmittedAt: now, Now: now, Attempts: 1}
}

// Attempts returns a function that makes the calls about one transfer, charge or refund, whose order is at
// orderOf. Each call is an attempt, counted and so much later than the one before. So the checks find a
// provider whose reference depends on more than the id: it takes a repetition for another order.
func Attempts[T any](of T, orderOf func(*T) *provider.Order, later time.Duration) func(name string, do func(context.Context, T) (provider.Result, error)) Call {
	var attempts atomic.Int64
	return func(name string, do func(context.Context, T) (provider.Result, error)) Call {
		return Call{Name: name, Do: func(ctx context.Context) (provider.Result, error) {
			again, before := of, int(attempts.Add(1))-1
			o := orderOf(&again)
			o.Attempts += before
			o.Now = o.Now.Add(time.Duration(before) * later)
			return do(ctx, again)
		}}
	}
}

// FixedName returns an error unless a provider keeps the promises about its name; see
// [provider.TransferRouter]. ask returns the name for an order that has this route.
func FixedName(ask func(route string) (string, bool)) error {
	name, ok := ask("")
	switch {
	case !ok:
		return errors.New("the provider does not carry an order that it is to pay")
	case !check.Route(name):
		return fmt.Errorf("the provider has the name %q, want 1 to 40 lower-case letters, digits and underscores", name)
	}
	if again, ok := ask(name); !ok || again != name {
		return fmt.Errorf("for an order that was submitted to %q the provider answers %q and %t, want the same name and true", name, again, ok)
	}
	return nil
}

// maxPrompt is the length of the longest prompt, in bytes; see [provider.Result].
const maxPrompt = 500

// Want makes a call. It returns an error if the answer has another outcome. InProgress passes
// always, since a provider may take its time.
func (o *Order) Want(t *testing.T, call Call, want provider.Outcome) error {
	result, err := call.Do(t.Context())
	switch {
	case err != nil:
		err = fmt.Errorf("%s returns the error %w, want %q", call.Name, err, want)
	case result.Outcome != want && result.Outcome != provider.InProgress:
		err = fmt.Errorf("%s answers %q, want %q", call.Name, result.Outcome, want)
	case result.Outcome == provider.Refused && result.Reason == (provider.Refusal{}):
		err = fmt.Errorf("%s refuses with neither code nor message", call.Name)
	case result.Outcome == provider.Refused && o.MessageOnly && result.Reason.Message == "":
		err = fmt.Errorf("%s refuses without a message, and merchants do not see the code", call.Name)
	case result.NeedsCode && result.Outcome != provider.InProgress:
		err = fmt.Errorf("%s answers %q and asks for a code; only an order in progress waits for one", call.Name, result.Outcome)
	case result.Outcome == provider.Paid && result.Amount != 0 && result.Amount != o.Amount:
		err = fmt.Errorf("%s reports %d pesewas paid of an order of %d; Amount is in pesewas, without the fee, and 0 if unknown", call.Name, result.Amount, o.Amount)
	case len(result.Prompt) > maxPrompt:
		err = fmt.Errorf("%s answers a prompt of %d bytes, and at most %d fit", call.Name, len(result.Prompt), maxPrompt)
	}
	return errors.Join(err, o.discreet(call, result, err))
}

// WantError makes a call that gets lost. It returns an error if the call has an answer.
func (o *Order) WantError(t *testing.T, call Call) error {
	result, err := call.Do(t.Context())
	if err == nil {
		return fmt.Errorf("%s gets lost and answers %q; the outcome is unknown, which is an error", call.Name, result.Outcome)
	}
	return o.discreet(call, result, err)
}

// wantIfAnswered makes a call of a paid order that may fail. A client may have repeated the
// request by itself, and so have an answer.
func (o *Order) wantIfAnswered(ctx context.Context, call Call) error {
	result, err := call.Do(ctx)
	if err == nil && result.Outcome != provider.Paid && result.Outcome != provider.InProgress {
		return fmt.Errorf("%s gets lost or runs out of time and answers %q; the outcome is unknown, which is an error", call.Name, result.Outcome)
	}
	return o.discreet(call, result, err)
}

// separators are what people write between the digits of a number.
var separators = strings.NewReplacer(" ", "", "-", "", ".", "", "(", "", ")", "")

// discreet refuses an answer that quotes a secret.
func (o *Order) discreet(call Call, result provider.Result, err error) error {
	text := result.Reason.Message + "\n" + result.Reference + "\n" + result.Prompt
	if err != nil {
		text += "\n" + err.Error()
	}
	for _, secret := range o.Secrets {
		// A phone number may stand there as +233…, 233… or 0…, and in groups.
		national, isPhone := strings.CutPrefix(secret, "+233")
		if secret != "" && (strings.Contains(text, national) || isPhone && strings.Contains(separators.Replace(text), national)) {
			return fmt.Errorf("the error, reason, reference or prompt of %s quotes a number or a secret, and would be shown or logged", call.Name)
		}
	}
	return nil
}

// WantMoved compares how often money moved, where the rig can tell.
func (o *Order) WantMoved(want int) error {
	if o.Moved == nil {
		return nil
	}
	if got := o.Moved(o.ID); got != want {
		return fmt.Errorf("the provider moved money %d times, want %d", got, want)
	}
	return nil
}

// SameAmount compares an amount that arrived, in GHS, with that of an order.
func SameAmount(got decimal.Decimal, o provider.Order) error {
	if want := api.FromPesewas(o.Amount); !got.Equal(want.Decimal) {
		return fmt.Errorf("GHS %s arrived as %s", want, got)
	}
	return nil
}
