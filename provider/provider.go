// Package provider defines the interfaces to a payment provider. A host implements [Rail] to send money and
// [Charger] to take money.
//
// Transfers, refunds and charges share one [Order] and one [Result]. A provider carries out two calls
// with one id as one order, and answers the second with the outcome of the first. The package books
// nothing. [Simulated] is the provider of test mode. Packages railtest and chargertest test a host's.
package provider

import (
	"errors"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// ErrContradicted means that the provider reports the opposite of an earlier report, or another amount.
// The booking stays. The library logs it, tells the Observer ("contradicted"), and lists the order
// until the host calls Resolve.
var ErrContradicted = errors.New("payments: the provider contradicts what it reported before")

// Order is what transfers, charges and refunds have in common.
type Order struct {
	// ID is the library's id of the order: po_… (payout or disbursement), pay_… (charge of a phone),
	// tu_… (the same, for a top-up), att_… (other charge) or re_… (refund). Submit it to the provider as
	// the order's unique reference. It is empty in Check.
	ID string
	// Route is the name of the provider that the order was first submitted to; see [TransferRouter]. It
	// is empty before, and if the host has given its providers no names.
	Route string
	Live  bool
	// Amount is in pesewas, without the library's fee.
	Amount    int64
	CreatedAt time.Time
	// SubmittedAt is when the library first submitted the order, and Now is the current time. Both
	// follow the merchant's clock, which may run ahead in test mode.
	SubmittedAt time.Time
	Now         time.Time
	// Attempts counts the attempts for this order, this one included. One attempt may be two
	// calls: a status query and, if the provider has never seen the order, a submission.
	Attempts int
}

// Outcome is the state of an order at the provider.
type Outcome string

// The outcomes.
const (
	// InProgress means that the provider has the order, and has not decided.
	InProgress Outcome = "in_progress"
	// Paid means that the money has moved. Only Reversed may follow it.
	Paid Outcome = "paid"
	// Refused means that the money has not moved and never will for this id.
	Refused Outcome = "refused"
	// Reversed means that the money had moved, and that the provider took it back. It is final. The
	// amount of a transfer is with the operator again, and that of a charge with the payer.
	Reversed Outcome = "reversed"
	// NotFound means that the provider has never seen the order. Only Status, ChargeStatus and
	// RefundStatus may answer it.
	NotFound Outcome = "not_found"
)

// Known reports whether the outcome says that the provider has the order.
func (o Outcome) Known() bool { return o == InProgress || o.Final() }

// Final reports whether the outcome ends an order: Paid, Refused or Reversed.
func (o Outcome) Final() bool { return o == Paid || o == Refused || o == Reversed }

// Result is what a provider answers, or what its callback reports.
type Result struct {
	Outcome Outcome
	// Reference is the provider's reference; may be empty.
	Reference string
	// Reason says why the provider refused the order or took it back. The merchant sees its text.
	Reason Refusal
	// PollAfter is how long to wait before the library asks again about an order in progress. The library
	// waits for at least a second. Zero means the library's own schedule. With a refused charge of a phone
	// it says that the provider may yet report the opposite. The library then asks again after that time,
	// and lists the charge if it was paid.
	PollAfter time.Duration
	// Prompt tells the payer of a charge in progress what to do, in at most 500 bytes; may be empty.
	Prompt string
	// NeedsCode says that a charge in progress waits for a code that the payer got; see
	// [ChargeConfirmer].
	NeedsCode bool
	// Amount is what the provider reports that has moved, or has come back, in pesewas and without its
	// fee; 0 if it does not say. If a paid or reversed order has another amount than the order's, the
	// library books nothing, leaves the order as it is, and lists it for a person.
	Amount int64
	// ProviderFee is the provider's own fee for an order that is paid, in pesewas; 0 if unknown. The
	// provider takes it out of the money that it holds for the operator. The library books it as the
	// operator's cost. A later result may correct it.
	ProviderFee int64
	// Network is the mobile-money network that took the money of a charge, such as "mtn"; may be
	// empty.
	Network string
	// TestMode says that the provider's test mode or sandbox reports this, where no money moves. It books
	// nothing for a live order: Notify knows none with the id, and the library asks again.
	TestMode bool
}

// Refusal says why a provider does not carry out an order.
type Refusal struct {
	// Code is api.RecipientUnavailable, api.InvalidDestination, api.ProviderBalanceInsufficient or a
	// provider's own; api.RecipientUnavailable when empty. Only transfers show the code.
	// ProviderBalanceInsufficient says that the operator has too little money at the provider; the
	// library writes an error to the log.
	Code    api.Code
	Message string
	// Failure is the reason of a charge or a refund for programs; FailureOther when empty.
	Failure Failure
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
	case api.ProviderBalanceInsufficient:
		r.Message = "The operator has too little money at the provider. Try again later."
	case api.RecipientUnavailable:
		r.Message = "The recipient's account is not available."
	default:
		r.Message = "The provider refused the transfer."
	}
	return r
}
