package orders

import "github.com/seed-7082ffec/payments/provider"

// Cause says why an order is contradicted. The repetition of a report has an equal cause, whatever text describes it.
type Cause struct {
	// Recorded is the recorded status, and Reported the outcome that contradicts it. Both are empty with a Problem.
	Recorded string           `json:"recorded,omitempty"`
	Reported provider.Outcome `json:"reported,omitempty"`
	// Amount is the other amount that is reported, in pesewas; 0 if the amount is not at fault, or unknown.
	Amount int64 `json:"amount,omitempty"`
	// Problem says why an order needs a person although its provider did not contradict itself.
	Problem Problem `json:"problem,omitempty"`
}

// Problem is why an order needs a person although its provider did not contradict itself.
type Problem string

// The problems.
const (
	NotRefundable       Problem = "not_refundable"        // its money should go back, and the provider gives no refunds
	RefundFailed        Problem = "refund_failed"         // its money should go back, and the refund failed
	ReversedAfterRefund Problem = "reversed_after_refund" // the provider took it back after refunds, of Cause.Amount in all

	otherAmount Problem = "other_amount" // the provider reports another amount or currency for an open order
)

// knows reports whether a contradiction with that cause is noted, or was the last one that was resolved.
func (e *Entry) knows(c Cause) bool {
	return e.Cause != nil && *e.Cause == c || e.ResolvedCause != nil && *e.ResolvedCause == c
}
