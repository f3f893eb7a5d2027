// Package chargertest tests a [provider.Charger] against its contract, and its refunds if it is a
// [provider.RefundRail]. A host runs it on its own charger, with a fake of its provider behind it:
//
//	func TestCharger(t *testing.T) {
//		chargertest.Run(t, func(t *testing.T) chargertest.Rig { … })
//	}
//
// A charger that takes both phones and payment methods is run with a rig for each.
//
// [Chaos] is a charger for other tests. It keeps the contract and otherwise behaves as badly as it
// can.
package chargertest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/internal/test/conformance"
	"github.com/seed-7082ffec/payments/provider"
)

// Rig is a charger, with payers and hooks of the fake provider behind it. Leave a hook nil or a
// payer zero if the fake cannot offer it. Run then skips the tests that need it.
type Rig struct {
	Charger provider.Charger
	// Paid and Refused are payers whose charges have that outcome. A charge of Slow stays in
	// progress while the suite runs. Refunds of Paid are paid.
	Paid, Refused, Slow Payer
	// RefundRefused and RefundSlow are payers whose charges are paid. A refund to RefundRefused is
	// refused, and one to RefundSlow stays in progress while the suite runs.
	RefundRefused, RefundSlow Payer
	// NeedsCode is a payer whose charges wait for a code, and Code the right one. Any other code is
	// wrong. The charger must be a [provider.ChargeConfirmer].
	NeedsCode Payer
	Code      string
	// Moved returns how often money moved for the order with that id: was taken for a charge, pay_…
	// or att_…, or given back for a refund, re_….
	Moved func(id string) int
	// Received returns the amount, in GHS, that the provider received for a charge or a refund.
	Received func(id string) decimal.Decimal
	// Secrets are what no error, reason, reference or prompt may quote, such as the provider's key.
	// Each Payer's Phone and PaymentMethod are among them, so give a payment method a token and not
	// a word such as "card".
	Secrets []string
	// LoseRequest makes the next call fail before the provider has seen it,
	// LoseAnswer makes it fail after the provider has done everything.
	LoseRequest, LoseAnswer func()
}

// Payer is the customer who pays a charge: from a Phone, or else with a PaymentMethod.
type Payer struct {
	// Phone is +233XXXXXXXXX, and Network its mobile-money network, such as "mtn".
	Phone, Network string
	PaymentMethod  string
}

// Run tests the charger. It calls open for a new rig in each test.
func Run(t *testing.T, open func(t *testing.T) Rig) {
	conformance.Run(t, checks, func(t *testing.T) *Rig { r := open(t); return &r })
}

var checks = slices.Concat(
	conformance.Promises("charge: ", (*Rig).charges), nameChecks, phoneChecks, conformance.Promises("refund: ", (*Rig).refunds), refundChecks,
)

var nameChecks = []conformance.Check[*Rig]{
	{Name: "charge: the name of the provider", Run: func(t *testing.T, r *Rig) error {
		router, ok := r.Charger.(provider.ChargeRouter)
		if !ok {
			t.Skip("the charger has no name")
		}
		c := r.charge(t, 435, r.Paid)
		return conformance.FixedName(func(route string) (string, bool) {
			c.Route = route
			return router.RouteCharge(c)
		})
	}},
}

var refundChecks = []conformance.Check[*Rig]{
	{Name: "refund: several of one charge", Run: func(t *testing.T, r *Rig) error {
		charge, err := r.charged(t, 435, r.Paid)
		if err != nil {
			return err
		}
		for _, part := range []int64{100, 200, 135} {
			o := r.refund(t, charge, part)
			if err := errors.Join(o.Want(t, o.Submit, provider.Paid), o.WantMoved(1)); err != nil {
				return fmt.Errorf("%d of %d pesewas: %w", part, charge.Amount, err)
			}
		}
		return nil
	}},
	{Name: "refund: more than the charge", Run: func(t *testing.T, r *Rig) error {
		charge, err := r.charged(t, 435, r.Paid)
		if err != nil {
			return err
		}
		whole, most, rest := r.refund(t, charge, 436), r.refund(t, charge, 400), r.refund(t, charge, 36)
		return errors.Join(whole.Want(t, whole.Submit, provider.Refused), whole.WantMoved(0), most.Want(t, most.Submit, provider.Paid),
			rest.Want(t, rest.Submit, provider.Refused), rest.Want(t, rest.Status, provider.Refused), rest.WantMoved(0))
	}},
	{Name: "refund: of a refused charge", Run: func(t *testing.T, r *Rig) error {
		charge := r.charge(t, 435, r.Refused)
		if _, err := r.Charger.Charge(t.Context(), charge); err != nil {
			return err
		}
		o := r.refund(t, charge, 435)
		return errors.Join(o.Want(t, o.Submit, provider.Refused), o.Want(t, o.Status, provider.Refused), o.WantMoved(0))
	}},
	{Name: "refund: leaves its charge paid", Run: func(t *testing.T, r *Rig) error {
		charge, err := r.charged(t, 435, r.Paid)
		if err != nil {
			return err
		}
		o, c := r.refund(t, charge, 435), r.order(charge)
		return errors.Join(o.Want(t, o.Submit, provider.Paid), c.Want(t, c.Status, provider.Paid),
			c.Want(t, c.Submit, provider.Paid), c.WantMoved(1))
	}},
}

// charges returns what the promises need for charges.
func (r *Rig) charges() *conformance.Flow {
	of := map[provider.Outcome]Payer{provider.Paid: r.Paid, provider.Refused: r.Refused, provider.InProgress: r.Slow}
	return &conformance.Flow{
		New: func(t *testing.T, amount int64, outcome provider.Outcome) (*conformance.Order, error) {
			return r.order(r.charge(t, amount, of[outcome])), nil
		},
		LoseRequest: r.LoseRequest, LoseAnswer: r.LoseAnswer,
	}
}

// refunds returns what the promises need for refunds. Each is a part of its own charge.
func (r *Rig) refunds() *conformance.Flow {
	of := map[provider.Outcome]Payer{provider.Paid: r.Paid, provider.Refused: r.RefundRefused, provider.InProgress: r.RefundSlow}
	return &conformance.Flow{
		New: func(t *testing.T, amount int64, outcome provider.Outcome) (*conformance.Order, error) {
			charge, err := r.charged(t, amount+1, of[outcome])
			if err != nil {
				return nil, err
			}
			return r.refund(t, charge, amount), nil
		},
		LoseRequest: r.LoseRequest, LoseAnswer: r.LoseAnswer,
	}
}

func (r *Rig) charge(t *testing.T, amount int64, of Payer) provider.Charge {
	t.Helper()
	if of == (Payer{}) {
		t.Skip("the rig has no such payer")
	}
	if of.Phone != "" {
		o := conformance.NewOrder("pay_", amount)
		return provider.Charge{
			Order: o, Phone: of.Phone, Network: of.Network, Email: "payer@example.com", Description: "chargertest",
			Deadline: o.Now.Add(timeToAnswer),
		}
	}
	return provider.Charge{
		Order: conformance.NewOrder("att_", amount), PaymentMethod: of.PaymentMethod,
		Invoice: conformance.NewID("inv_"), Number: "INV-2026-000001", Customer: conformance.NewID("cus_"),
	}
}

// charged makes a charge and has it paid, for a refund.
func (r *Rig) charged(t *testing.T, amount int64, of Payer) (provider.Charge, error) {
	t.Helper()
	if _, ok := r.Charger.(provider.RefundRail); !ok {
		t.Skip("the charger gives no refunds")
	}
	c := r.charge(t, amount, of)
	o := r.order(c)
	if err := errors.Join(o.Want(t, o.Submit, provider.Paid), o.WantMoved(1)); err != nil {
		return c, fmt.Errorf("the charge to refund: %w", err)
	}
	return c, nil
}

func (r *Rig) order(c provider.Charge) *conformance.Order {
	later := time.Hour
	if !c.Deadline.IsZero() {
		later = time.Second // before the deadline
	}
	call := conformance.Attempts(c, func(c *provider.Charge) *provider.Order { return &c.Order }, later)
	return r.withHooks(&conformance.Order{
		Order: c.Order, Submit: call("Charge", r.Charger.Charge), Status: call("ChargeStatus", r.Charger.ChargeStatus),
	}, c)
}

// refund makes a new refund of a charge, and returns its calls.
func (r *Rig) refund(t *testing.T, c provider.Charge, amount int64) *conformance.Order {
	t.Helper()
	rail, ok := r.Charger.(provider.RefundRail)
	if !ok {
		t.Skip("the charger gives no refunds")
	}
	back := provider.Refund{
		Order: conformance.NewOrder("re_", amount), Charge: c.ID, Phone: c.Phone, Network: c.Network, PaymentMethod: c.PaymentMethod,
		Payment: conformance.NewID("pay_"), Invoice: c.Invoice, Reason: "chargertest",
	}
	if c.Phone != "" {
		back.Payment = c.ID
	}
	call := conformance.Attempts(back, func(f *provider.Refund) *provider.Order { return &f.Order }, time.Hour)
	return r.withHooks(&conformance.Order{
		Order: back.Order, Submit: call("Refund", rail.Refund), Status: call("RefundStatus", rail.RefundStatus),
	}, c)
}

// withHooks gives an order of a charge the hooks of the rig, and what no answer may quote.
func (r *Rig) withHooks(o *conformance.Order, c provider.Charge) *conformance.Order {
	o.Moved, o.MessageOnly, o.Secrets = r.Moved, true, append([]string{c.Phone, c.Email, c.PaymentMethod}, r.Secrets...)
	if r.Received != nil {
		o.Received = func() error { return conformance.SameAmount(r.Received(o.ID), o.Order) }
	}
	return o
}
