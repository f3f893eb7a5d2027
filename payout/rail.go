package payout

import (
	"context"
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/outside"
)

// Rail carries transfers to mobile money and banks. A host plugs in its provider;
// package payout/railtest is what it must hold, as a test suite.
//
// The id of an order is what makes it safe: a rail carries out two submissions
// with one id as one transfer, and answers the second with the state of the
// first. It must be safe for concurrent use. Calls run outside of any
// transaction, with a context that ends after 30 seconds.
//
// An error means that nothing is known: the order may have been carried out or
// not. Only a [Result] is an answer. So a rail must not report Failed for a
// time-out, a broken connection or a server error of its provider, and must not
// return an error for what the provider has conclusively refused.
type Rail interface {
	// Submit hands an order to the provider.
	Submit(ctx context.Context, o Order) (Result, error)
	// Status asks what became of an order. Of one that the provider has never seen
	// it answers NotFound, after which the order is submitted again; a provider
	// that cannot tell "not yet seen" from "never seen" answers InProgress.
	Status(ctx context.Context, o Order) (Result, error)
}

// Checker is what a Rail may also be: it looks at a destination before anything
// is reserved. It returns nil, or a *[Refusal]; any other error means that it
// could not tell, and the transfer goes on.
type Checker interface {
	Check(ctx context.Context, o Order) error
}

// Order is a transfer as a rail is told of it.
type Order struct {
	// ID is ours, po_…, and the reference under which the provider books it. It is
	// empty in Check, which comes before the transfer has one.
	ID   string
	Live bool
	Type Type // MobileMoney or BankTransfer
	// Amount is in GHS, without the fee.
	Amount decimal.Decimal
	// Provider is mtn, telecel or airteltigo, or the bank's code.
	Provider string
	// Number is unmasked: +233XXXXXXXXX, or the digits of a bank account. It must
	// reach no log.
	Number string
	// Name is the recipient's, as the merchant gave it; may be empty.
	Name        string
	Description string
	CreatedAt   time.Time
	// SubmittedAt is when the order was first submitted, and Now the present, both
	// by the merchant's clock, which in test mode may run ahead.
	SubmittedAt time.Time
	Now         time.Time
	// Asked counts the calls of Submit and Status for this order, this one
	// included.
	Asked int
}

// Outcome is what a rail knows of an order.
type Outcome string

// The outcomes.
const (
	// InProgress: the provider has it, and has not decided.
	InProgress Outcome = "in_progress"
	// Paid: the recipient has the money. It is never taken back.
	Paid Outcome = "paid"
	// Refused: the money has not moved and never will for this id.
	Refused Outcome = "refused"
	// NotFound: the provider has never seen the order. An answer to Status only.
	NotFound Outcome = "not_found"
)

// Result is what a rail answers, or what its callback reports.
type Result struct {
	Outcome Outcome
	// Reference is the provider's; may be empty.
	Reference string
	// Reason says, of a Refused order, why. Its text is shown to the merchant.
	Reason Refusal
	// Again is when the rail wants to be asked next about an order in progress;
	// zero leaves it to the library.
	Again time.Duration
}

// Refusal is why money cannot be sent.
type Refusal struct {
	// Code is api.RecipientUnavailable, api.InvalidDestination or a provider's own;
	// api.RecipientUnavailable when empty.
	Code    api.Code
	Message string
	// Verbatim makes Message alone the failure_reason, without the code.
	Verbatim bool
}

// Error implements error, for [Checker].
func (r *Refusal) Error() string { return r.text() }

// text is what failure_reason says.
func (r Refusal) text() string {
	r.fill()
	if r.Verbatim {
		return r.Message
	}
	return string(r.Code) + ": " + r.Message
}

func (r *Refusal) fill() {
	if r.Code == "" {
		r.Code = api.RecipientUnavailable
	}
	if r.Message != "" {
		return
	}
	switch r.Code {
	case api.InvalidDestination:
		r.Message = "The destination account is not valid."
	case api.RecipientUnavailable:
		r.Message = "The recipient's account is not available."
	default:
		r.Message = "The provider refused the transfer."
	}
}

// errNoRail is the refusal of live mode without a rail, before anything is
// reserved.
var errNoRail = api.Errorf(api.Unavailable, "", "Transfers to mobile money and banks are not available in live mode at the moment. Try again later, or ask the operator.")

// rail returns the rail of a mode, or nil.
func (o *Outgoing) rail(live bool) Rail {
	if live {
		return o.config.Rail
	}
	return o.config.TestRail
}

// refusedEarly asks the rail, if it can tell, whether a destination will do.
func (o *Outgoing) refusedEarly(ctx context.Context, rail Rail, order Order, param string) error {
	checker, ok := rail.(Checker)
	if !ok {
		return nil
	}
	_, err := outside.Call(ctx, func(ctx context.Context, o Order) (struct{}, error) {
		return struct{}{}, checker.Check(ctx, o)
	}, order)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		told := *refusal
		told.fill()
		return api.Errorf(told.Code, param, "%s", told.Message)
	}
	if err != nil {
		// The error may quote the number; the log must not.
		o.engine.Log.WarnContext(ctx, "the rail could not check a destination", "type", order.Type)
	}
	return nil
}
