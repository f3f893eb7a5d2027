package invoice

import (
	"context"
	"errors"
	"strings"
	"time"
)

// RefundRail is what a [Charger] may also be: it gives money back that it took.
// Without it, refunds of what it charged are refused with service_unavailable.
//
// The id of a refund is what makes it safe: two calls of Refund with one id are one
// refund, and the second is answered with the outcome of the first. It must be safe
// for concurrent use. Calls run outside of any transaction, with a context that ends
// after 30 seconds.
//
// An error means that nothing is known: the money may be on its way back or not.
// Only a [RefundResult] is an answer. So it must not answer RefundDeclined for a
// time-out, a broken connection or a server error of its provider, and must not
// return an error for what the provider has conclusively refused.
type RefundRail interface {
	// Refund gives money back.
	Refund(ctx context.Context, r RefundOrder) (RefundResult, error)
	// RefundStatus asks what became of a refund. Of one that the provider has never
	// seen it answers RefundUnseen, after which Refund is called again; a provider that
	// cannot tell "not yet seen" from "never seen" answers RefundUndecided.
	RefundStatus(ctx context.Context, r RefundOrder) (RefundResult, error)
}

// RefundOrder is a refund as a charger is told of it.
type RefundOrder struct {
	ID   string // ours, re_…
	Live bool
	// Charge is the id of the charge, att_…, of which money is given back.
	Charge string
	// Amount is in pesewas. Several refunds of one charge never exceed it.
	Amount   int64
	Currency string
	// PaymentMethod is as the charge had it; "default" when it had none.
	PaymentMethod string
	// Payment and Invoice name what is given back; Reason is the merchant's, and may
	// be empty.
	Payment, Invoice, Reason string
	CreatedAt                time.Time
	// SubmittedAt is when the refund was first submitted, and Now the present, both by
	// the merchant's clock, which in test mode may run ahead.
	SubmittedAt time.Time
	Now         time.Time
	// Asked counts the calls for this refund, this one included.
	Asked int
}

// RefundOutcome is what a charger knows of a refund.
type RefundOutcome string

// The outcomes.
const (
	// Refunded: the customer has the money, or will without fail.
	Refunded RefundOutcome = "refunded"
	// RefundDeclined: the money has not moved and never will for this id.
	RefundDeclined RefundOutcome = "declined"
	// RefundUndecided: the provider has it, and has not decided.
	RefundUndecided RefundOutcome = "undecided"
	// RefundUnseen: the provider has never seen it. An answer to RefundStatus only.
	RefundUnseen RefundOutcome = "unseen"
)

// RefundResult is what a charger answers, or what its callback reports.
type RefundResult struct {
	Outcome RefundOutcome
	// Reference is the provider's; may be empty.
	Reference string
	// Reason says why a refund was declined, in words for the merchant.
	Reason string
	// Again is when the charger wants to be asked next about an undecided refund;
	// zero leaves it to the library.
	Again time.Duration
}

var errNoAnswer = errors.New("invoice: the simulated charger does not answer")

// Refund implements [RefundRail].
func (Simulated) Refund(_ context.Context, r RefundOrder) (RefundResult, error) {
	reference := "SIM-" + r.ID
	switch {
	case strings.HasPrefix(r.PaymentMethod, "pm_refund_fail_"):
		return RefundResult{Outcome: RefundDeclined, Reference: reference, Reason: "The payment method takes no refunds."}, nil
	case strings.HasPrefix(r.PaymentMethod, "pm_refund_slow_"):
		return RefundResult{Outcome: RefundUndecided, Reference: reference}, nil
	case strings.HasPrefix(r.PaymentMethod, "pm_refund_lost_") && r.Asked <= 1:
		return RefundResult{}, errNoAnswer
	}
	return RefundResult{Outcome: Refunded, Reference: reference}, nil
}

// RefundStatus implements [RefundRail].
func (s Simulated) RefundStatus(ctx context.Context, r RefundOrder) (RefundResult, error) {
	return s.Refund(ctx, r)
}

// RefundRail returns what gives money back that was charged in that mode, or nil.
func (s *Service) RefundRail(live bool) RefundRail {
	rail, _ := s.charger(live).(RefundRail)
	return rail
}
