// Package provider says what a payment provider must be. A host implements [Rail] to send
// money out and [Charger] to take it, and hands both to the library as
// payments.Providers.
//
// All three flows, transfers, refunds and charges, share one [Order] and one [Result].
// The id of an order makes it safe: a provider carries out two calls with one id as one
// order, and answers the second with the outcome of the first.
//
// The package books nothing. [Simulated] is the provider of test mode, and package
// provider/railtest tests a Rail against these contracts.
package provider

import (
	"errors"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// ErrContradicted means that the provider reports the opposite of what it reported before.
// What was booked stays. The log and the observer are told ("contradicted"), and the order
// is listed until a person has looked into it and resolved it.
var ErrContradicted = errors.New("payments: the provider contradicts what it reported before")

// Order is what transfers, charges and refunds have in common.
type Order struct {
	// ID is ours: po_… of a transfer, att_… of a charge, re_… of a refund. The provider
	// books the order under it. It is empty in Check, which comes before the transfer.
	ID   string
	Live bool
	// Amount is in pesewas, without our fee.
	Amount    int64
	CreatedAt time.Time
	// SubmittedAt is when the order was first submitted, and Now the present. Both follow
	// the merchant's clock, which in test mode may run ahead.
	SubmittedAt time.Time
	Now         time.Time
	// Attempts counts the calls for this order, this one included.
	Attempts int
}

// Outcome is what a provider knows of an order.
type Outcome string

// The outcomes.
const (
	// InProgress means that the provider has the order, and has not decided.
	InProgress Outcome = "in_progress"
	// Paid means that the money has moved. It is never taken back.
	Paid Outcome = "paid"
	// Refused means that the money has not moved and never will for this id.
	Refused Outcome = "refused"
	// NotFound means that the provider has never seen the order. Only the calls that ask
	// for a status answer it.
	NotFound Outcome = "not_found"
)

// Known reports whether the outcome says that the provider has the order.
func (o Outcome) Known() bool { return o == InProgress || o == Paid || o == Refused }

// Result is what a provider answers, or what its callback reports.
type Result struct {
	Outcome Outcome
	// Reference is the provider's; may be empty.
	Reference string
	// Reason says why an order was refused. The merchant sees its text.
	Reason Refusal
	// PollAfter is when the provider wants to be asked next about an order in progress.
	// Zero leaves it to the library.
	PollAfter time.Duration
	// Network is the mobile-money network that took the money of a charge, as "mtn"; may
	// be empty.
	Network string
}

// Refusal is why a provider does not carry out an order.
type Refusal struct {
	// Code is api.RecipientUnavailable, api.InvalidDestination or a provider's own;
	// api.RecipientUnavailable when empty. Transfers alone show it.
	Code    api.Code
	Message string
	// Verbatim makes Message alone the failure_reason of a transfer, without the code.
	Verbatim bool
}

// Error implements error, for [Checker] and [NameEnquirer].
func (r *Refusal) Error() string { return r.Text() }

// Text returns the failure_reason of a transfer.
func (r Refusal) Text() string {
	r = r.Filled()
	if r.Verbatim {
		return r.Message
	}
	return string(r.Code) + ": " + r.Message
}

// Filled returns the refusal of a transfer with code and message, where the provider gave
// none.
func (r Refusal) Filled() Refusal {
	if r.Code == "" {
		r.Code = api.RecipientUnavailable
	}
	if r.Message != "" {
		return r
	}
	switch r.Code {
	case api.InvalidDestination:
		r.Message = "The destination account is not valid."
	case api.RecipientUnavailable:
		r.Message = "The recipient's account is not available."
	default:
		r.Message = "The provider refused the transfer."
	}
	return r
}
