package invoice

import (
	"context"
	"strings"

	"github.com/seed-7082ffec/payments/internal/outside"
)

// Charger takes money from a customer's payment method. A host plugs in its
// provider.
//
// The id of a charge is what makes it safe: a charger carries out two calls with
// one id as one charge, and answers the second with the outcome of the first. It
// must be safe for concurrent use. Calls run outside of any transaction, with a
// context that ends after 30 seconds.
//
// An error means that nothing is known: the money may have been taken or not.
// Only a [ChargeResult] is an answer.
type Charger interface {
	// Charge takes the money.
	Charge(ctx context.Context, c Charge) (ChargeResult, error)
	// Status asks what became of a charge, which may never have arrived.
	Status(ctx context.Context, c Charge) (ChargeResult, error)
}

// Charge is what a charger is told.
type Charge struct {
	ID   string // ours, att_…
	Live bool
	// Amount is in pesewas.
	Amount   int64
	Currency string
	// PaymentMethod is the caller's, as it came; may be empty.
	PaymentMethod string
	// OffSession says that the customer is not there to confirm.
	OffSession bool
	// Invoice and Number name what is paid, Customer who pays (may be empty).
	Invoice, Number, Customer string
}

// ChargeOutcome is what a charger knows of a charge.
type ChargeOutcome string

// The outcomes.
const (
	// Charged: the money was taken.
	Charged ChargeOutcome = "charged"
	// Declined: it was not, and will not be for this id.
	Declined ChargeOutcome = "declined"
	// Undecided: the provider has it, and has not decided.
	Undecided ChargeOutcome = "undecided"
	// Unseen: the provider has never seen it. An answer to Status only.
	Unseen ChargeOutcome = "unseen"
)

// ChargeResult is what a charger answers.
type ChargeResult struct {
	Outcome ChargeOutcome
	// Provider names who took the money, as "mtn"; may be empty.
	Provider string
	// Reason says why a charge was declined, in words for the merchant.
	Reason string
}

// Simulated is the charger of test mode. It takes nothing, and answers by the first
// letters of the payment method:
//
//	pm_fail_         the charge is declined
//	pm_refund_fail_  charged; a refund is declined
//	pm_refund_slow_  charged; a refund stays undecided, until a test helper settles it
//	pm_refund_lost_  charged; of a refund it does not answer the first time, then
//	                 has made it
//	all else, none   charged, and refunded at once
//
// It keeps no state: the same order gets the same answer, in any process.
type Simulated struct{}

// Charge implements [Charger].
func (Simulated) Charge(_ context.Context, c Charge) (ChargeResult, error) {
	if strings.HasPrefix(c.PaymentMethod, "pm_fail_") {
		return ChargeResult{Outcome: Declined, Reason: "The payment method was declined."}, nil
	}
	return ChargeResult{Outcome: Charged}, nil
}

// Status implements [Charger].
func (s Simulated) Status(ctx context.Context, c Charge) (ChargeResult, error) {
	return s.Charge(ctx, c)
}

// port is a charger as package outside asks it.
type port struct{ Charger }

func (p port) Submit(ctx context.Context, c Charge) (ChargeResult, error) { return p.Charge(ctx, c) }

func readCharge(r ChargeResult) outside.Reading {
	switch r.Outcome {
	case Charged, Declined, Undecided:
		return outside.Seen
	case Unseen:
		return outside.Unseen
	}
	return outside.NoAnswer
}
