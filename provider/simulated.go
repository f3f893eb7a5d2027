package provider

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// Simulated is the provider of test mode: a [Rail], a [Charger] and a [RefundRail]. It
// moves nothing.
//
// The last four digits of the phone or account number decide about a transfer:
//
//	0000–0899  succeeds at once
//	0901       fails, recipient_unavailable
//	0902       fails, invalid_destination
//	0903       stays in progress, until a test helper settles it
//	0904       succeeds after 25 seconds of the merchant's test clock
//	0905       the first call fails, the next one reports it paid
//	0906       is refused before anything is reserved, recipient_unavailable
//	all else   succeeds at once
//
// As [NameEnquirer] it knows these names, by the last digit of the number:
//
//	0  Kofi Mensah       5  Abena Osei
//	1  Ama Owusu         6  Kwasi Appiah
//	2  Kwame Boateng     7  Efua Quaye
//	3  Akosua Agyeman    8  Kojo Addo
//	4  Yaw Asante        9  Adwoa Frimpong
//
// but …0901 and …0906 are recipient_unavailable, …0902 is invalid_destination, and for …0905
// AccountName fails, as if the provider did not answer.
//
// The first characters of the payment method decide about a charge and its refunds:
//
//	pm_fail_         the charge is refused
//	pm_refund_fail_  charged; a refund is refused
//	pm_refund_slow_  charged; a refund stays in progress, until a test helper settles it
//	pm_refund_lost_  charged; the first call for a refund fails, the next one reports it
//	                 paid
//	all else, none   charged, and refunded at once
//
// It keeps no state: the same order gets the same answer, in any process.
type Simulated struct{}

// slow is how long …0904 takes.
const slow = 25 * time.Second

var errNoAnswer = errors.New("provider: the simulated provider does not answer")

// Check implements [Checker].
func (Simulated) Check(_ context.Context, t Transfer) error {
	if lastDigits(t.Number) == "0906" {
		return &Refusal{Code: api.RecipientUnavailable}
	}
	return nil
}

// simulatedNames are those of accounts, by the last digit of the number.
var simulatedNames = [10]string{
	"Kofi Mensah", "Ama Owusu", "Kwame Boateng", "Akosua Agyeman", "Yaw Asante",
	"Abena Osei", "Kwasi Appiah", "Efua Quaye", "Kojo Addo", "Adwoa Frimpong",
}

// AccountName implements [NameEnquirer].
func (Simulated) AccountName(_ context.Context, e Enquiry) (string, error) {
	switch lastDigits(e.Number) {
	case "0901", "0906":
		return "", &Refusal{Code: api.RecipientUnavailable}
	case "0902":
		return "", &Refusal{Code: api.InvalidDestination}
	case "0905":
		return "", errNoAnswer
	}
	digit := lastDigits(e.Number)
	if digit == "" || digit[len(digit)-1] < '0' || digit[len(digit)-1] > '9' {
		return "", &Refusal{Code: api.InvalidDestination}
	}
	return simulatedNames[digit[len(digit)-1]-'0'], nil
}

// Submit implements [Rail].
func (s Simulated) Submit(ctx context.Context, t Transfer) (Result, error) { return s.answer(t) }

// Status implements [Rail].
func (s Simulated) Status(ctx context.Context, t Transfer) (Result, error) { return s.answer(t) }

func (Simulated) answer(t Transfer) (Result, error) {
	reference := "SIM-" + t.ID
	switch lastDigits(t.Number) {
	case "0901":
		return Result{Outcome: Refused, Reference: reference, Reason: Refusal{Code: api.RecipientUnavailable}}, nil
	case "0902":
		return Result{Outcome: Refused, Reference: reference, Reason: Refusal{Code: api.InvalidDestination}}, nil
	case "0903":
		return Result{Outcome: InProgress, Reference: reference}, nil
	case "0904":
		if left := t.SubmittedAt.Add(slow).Sub(t.Now); left > 0 {
			return Result{Outcome: InProgress, Reference: reference, PollAfter: left}, nil
		}
	case "0905":
		if t.Attempts <= 1 {
			return Result{}, errNoAnswer
		}
	}
	return Result{Outcome: Paid, Reference: reference}, nil
}

func lastDigits(number string) string { return number[max(0, len(number)-4):] }

// Charge implements [Charger].
func (Simulated) Charge(_ context.Context, c Charge) (Result, error) {
	if strings.HasPrefix(c.PaymentMethod, "pm_fail_") {
		return Result{Outcome: Refused, Reason: Refusal{Message: "The payment method was declined."}}, nil
	}
	return Result{Outcome: Paid}, nil
}

// ChargeStatus implements [Charger].
func (s Simulated) ChargeStatus(ctx context.Context, c Charge) (Result, error) {
	return s.Charge(ctx, c)
}

// Refund implements [RefundRail].
func (Simulated) Refund(_ context.Context, r Refund) (Result, error) {
	reference := "SIM-" + r.ID
	switch {
	case strings.HasPrefix(r.PaymentMethod, "pm_refund_fail_"):
		return Result{Outcome: Refused, Reference: reference, Reason: Refusal{Message: "The payment method takes no refunds."}}, nil
	case strings.HasPrefix(r.PaymentMethod, "pm_refund_slow_"):
		return Result{Outcome: InProgress, Reference: reference}, nil
	case strings.HasPrefix(r.PaymentMethod, "pm_refund_lost_") && r.Attempts <= 1:
		return Result{}, errNoAnswer
	}
	return Result{Outcome: Paid, Reference: reference}, nil
}

// RefundStatus implements [RefundRail].
func (s Simulated) RefundStatus(ctx context.Context, r Refund) (Result, error) {
	return s.Refund(ctx, r)
}
