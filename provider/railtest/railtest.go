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
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/internal/test/conformance"
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
	// Network is the mobile-money network, or Bank the code of the bank.
	Network, Bank string
	Number        string
}

// Run tests the rail. It calls open for a new rig in each test.
func Run(t *testing.T, open func(t *testing.T) Rig) {
	conformance.Run(t, checks, func(t *testing.T) *Rig { r := open(t); return &r })
}

var checks = append(conformance.Promises("", (*Rig).flow), []conformance.Check[*Rig]{
	{Name: "the name of an account", Run: func(t *testing.T, r *Rig) error {
		enquirer, ok := r.Rail.(provider.NameEnquirer)
		if !ok || r.Name == "" {
			t.Skip("the rail tells no names, or the rig does not know them")
		}
		o := transfer(t, 0, r.Paid)
		for range 2 { // it changes nothing
			name, err := enquirer.AccountName(t.Context(), provider.Enquiry{Live: o.Live, Channel: o.Channel, Network: o.Network, Bank: o.Bank, Number: o.Number})
			if err != nil || name != r.Name {
				return fmt.Errorf("got the name %q and the error %v, want %q", name, err, r.Name)
			}
		}
		return nil
	}},
	{Name: "a destination that is looked at", Run: func(t *testing.T, r *Rig) error {
		checker, ok := r.Rail.(provider.Checker)
		if !ok {
			t.Skip("the rail looks at no destination")
		}
		o := transfer(t, 435, r.Paid)
		o.ID = "" // it has none yet
		if err := checker.Check(t.Context(), o); err != nil {
			return fmt.Errorf("a good destination: %w", err)
		}
		return r.order(o).WantMoved(0)
	}},
	{Name: "the name of the provider", Run: func(t *testing.T, r *Rig) error {
		router, ok := r.Rail.(provider.TransferRouter)
		if !ok {
			t.Skip("the rail has no name")
		}
		o := transfer(t, 435, r.Paid)
		return conformance.FixedName(func(route string) (string, bool) {
			o.Route = route
			return router.RouteTransfer(o)
		})
	}},
}...)

// flow returns what the promises need of the rig.
func (r *Rig) flow() *conformance.Flow {
	to := map[provider.Outcome]Destination{provider.Paid: r.Paid, provider.Refused: r.Refused, provider.InProgress: r.Slow}
	return &conformance.Flow{
		New: func(t *testing.T, amount int64, outcome provider.Outcome) (*conformance.Order, error) {
			return r.order(transfer(t, amount, to[outcome])), nil
		},
		LoseRequest: r.LoseRequest, LoseAnswer: r.LoseAnswer,
	}
}

func transfer(t *testing.T, amount int64, to Destination) provider.Transfer {
	t.Helper()
	if to.Number == "" {
		t.Skip("the rig has no such destination")
	}
	return provider.Transfer{
		Order: conformance.NewOrder("po_", amount), Channel: to.Channel, Network: to.Network, Bank: to.Bank, Number: to.Number,
		Description: "railtest",
	}
}

func (r *Rig) order(o provider.Transfer) *conformance.Order {
	call := conformance.Attempts(o, func(o *provider.Transfer) *provider.Order { return &o.Order }, time.Hour)
	order := &conformance.Order{
		Order: o.Order, Moved: r.Moved, Secrets: []string{o.Number},
		Submit: call("Submit", r.Rail.Submit), Status: call("Status", r.Rail.Status),
	}
	if r.Received != nil {
		order.Received = func() error {
			got, number := r.Received(o.ID)
			if digits(number) != digits(o.Number) && "0"+strings.TrimPrefix(digits(o.Number), "233") != digits(number) {
				return errors.New("another number arrived")
			}
			return conformance.SameAmount(got, o.Order)
		}
	}
	return order
}

func digits(s string) string {
	return strings.Map(func(c rune) rune {
		if c < '0' || c > '9' {
			return -1
		}
		return c
	}, s)
}
