package provider

import (
	"context"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/internal/money"
)

const (
	// contradictAfter is how long after the decline …0910 is reported paid.
	contradictAfter = time.Minute
	// simulatedCode is the code that …0907 waits for.
	simulatedCode = "123456"
)

// SubmitAfter returns how long the library keeps a charge pending before it submits it: 25 seconds
// for a phone number that ends in 0906, else nothing. Test mode waits, so that testers can see and
// cancel a pending payment.
func (Simulated) SubmitAfter(c Charge) time.Duration {
	if lastDigits(c.Phone) == "0906" {
		return slow
	}
	return 0
}

// Charge implements [Charger].
func (s Simulated) Charge(_ context.Context, c Charge) (Result, error) {
	switch {
	case c.Phone != "":
		return s.chargePhone(c)
	case strings.HasPrefix(c.PaymentMethod, "pm_fail_"):
		return Result{Outcome: Refused, Reason: Refusal{Message: "The payment method was declined.", Failure: FailureDeclined}}, nil
	}
	return Result{Outcome: Paid}, nil
}

// ChargeStatus implements [Charger].
func (s Simulated) ChargeStatus(ctx context.Context, c Charge) (Result, error) {
	return s.Charge(ctx, c)
}

// ConfirmCharge implements [ChargeConfirmer]. For a charge that waits for no code it answers what
// Charge does.
func (s Simulated) ConfirmCharge(ctx context.Context, c Charge, code string) (Result, error) {
	if lastDigits(c.Phone) == "0907" && code == simulatedCode {
		return Result{Outcome: Paid, Reference: simulatedReference(c.Order)}, nil
	}
	return s.Charge(ctx, c)
}

// chargePhone answers for a charge of a phone number.
func (Simulated) chargePhone(c Charge) (Result, error) {
	amount := "GHS " + money.Text(c.Amount)
	declined := func(why Failure, message string) Result {
		return Result{Outcome: Refused, Reference: simulatedReference(c.Order), Reason: Refusal{Message: message, Failure: why}}
	}
	waits := Result{
		Outcome: InProgress, Reference: simulatedReference(c.Order),
		Prompt: "Approve the payment of " + amount + " on your phone.",
	}
	switch lastDigits(c.Phone) {
	case "0901":
		return declined(FailureDeclined, "The payer declined."), nil
	case "0902":
		return declined(FailureInsufficientFunds, "The payer's balance is too low."), nil
	case "0903":
		return waits, nil
	case "0904":
		if waits.PollAfter = c.SubmittedAt.Add(slow).Sub(c.Now); waits.PollAfter > 0 {
			return waits, nil
		}
	case "0905":
		if c.Attempts <= 1 {
			return Result{}, errNoAnswer
		}
	case "0907":
		waits.NeedsCode = true
		waits.Prompt = "Enter the code for the payment of " + amount + ". In test mode it is " + simulatedCode + "."
		return waits, nil
	case "0909":
		if c.Deadline.IsZero() {
			return waits, nil
		}
		if waits.PollAfter = c.Deadline.Sub(c.Now); waits.PollAfter > 0 {
			return waits, nil
		}
		return declined(FailureTimeout, "The payer did not answer in time."), nil
	case "0910":
		r := declined(FailureDeclined, "The payer declined.")
		if r.PollAfter = c.SubmittedAt.Add(contradictAfter).Sub(c.Now); r.PollAfter > 0 {
			return r, nil
		}
	}
	return Result{Outcome: Paid, Reference: simulatedReference(c.Order)}, nil
}

// Refund implements [RefundRail].
func (Simulated) Refund(_ context.Context, r Refund) (Result, error) {
	reference, digits := simulatedReference(r.Order), lastDigits(r.Phone)
	has := func(prefix string) bool { return r.Phone == "" && strings.HasPrefix(r.PaymentMethod, prefix) }
	switch {
	case digits == "0911":
		return Result{Outcome: Refused, Reference: reference, Reason: Refusal{Message: "The payer's account takes no refunds.", Failure: FailureDeclined}}, nil
	case has("pm_refund_fail_"):
		return Result{Outcome: Refused, Reference: reference, Reason: Refusal{Message: "The payment method takes no refunds.", Failure: FailureDeclined}}, nil
	case digits == "0912" || has("pm_refund_slow_"):
		return Result{Outcome: InProgress, Reference: reference}, nil
	case (digits == "0913" || has("pm_refund_lost_")) && r.Attempts <= 1:
		return Result{}, errNoAnswer
	}
	return Result{Outcome: Paid, Reference: reference}, nil
}

// RefundStatus implements [RefundRail].
func (s Simulated) RefundStatus(ctx context.Context, r Refund) (Result, error) {
	return s.Refund(ctx, r)
}

// simulatedReference is short, as those of networks are: the end of the order's id, which is random.
func simulatedReference(o Order) string { return "SIM-" + o.ID[max(0, len(o.ID)-8):] }
