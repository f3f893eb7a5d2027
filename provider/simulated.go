package provider

import (
	"context"
	"errors"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// Simulated is the provider of test mode: a [Rail], a [Charger], a [ChargeConfirmer] and a
// [RefundRail]. It moves nothing.
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
//	0907       stays pending for 25 seconds before the library submits it, then succeeds; see
//	           SubmitTransferAfter
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
// The last four digits of the payer's phone number decide about a charge and its refunds:
//
//	0901      declined: "The payer declined."
//	0902      declined: "The payer's balance is too low."
//	0903      stays in progress, until a test helper settles it
//	0904      succeeds after 25 seconds of the merchant's test clock
//	0905      the first call fails, the next one reports it paid
//	0906      stays pending for 25 seconds before the library submits it, then succeeds; see
//	          SubmitAfter
//	0907      asks for a code: 123456 is right, any other is wrong
//	0908      the library refuses it with too_many_prompts, and asks no charger
//	0909      declined at its deadline: "The payer did not answer in time."
//	0910      declined: "The payer declined."; reported paid 60 seconds later, a contradiction
//	0911      succeeds; a refund is declined
//	0912      succeeds; a refund stays in progress, until a test helper settles it
//	0913      succeeds; the first call for a refund fails, the next one reports it paid
//	all else  succeeds, and is refunded, at once
//
// The first characters of the payment method decide about a charge without a phone number:
//
//	pm_fail_         the charge is refused
//	pm_refund_fail_  charged; a refund is refused
//	pm_refund_slow_  charged; a refund stays in progress, until a test helper settles it
//	pm_refund_lost_  charged; the first call for a refund fails, the next one reports it
//	                 paid
//	all else, none   charged, and refunded at once
//
// It keeps no state: the same order gets the same answer, in any process. So ChargeStatus still
// asks for the code of a charge of …0907 that ConfirmCharge has reported paid.
type Simulated struct{}

// slow is how long …0904 takes, and how long a transfer to …0907 and a charge of …0906 stay pending.
const slow = 25 * time.Second

var errNoAnswer = errors.New("provider: the simulated provider does not answer")

// Check implements [Checker].
func (Simulated) Check(_ context.Context, t Transfer) error {
	if lastDigits(t.Number) == "0906" {
		return &Refusal{Code: api.RecipientUnavailable}
	}
	return nil
}

// SubmitTransferAfter returns how long the library keeps a transfer pending before it submits it: 25
// seconds for a number that ends in 0907, else nothing. So testers can cancel one.
func (Simulated) SubmitTransferAfter(t Transfer) time.Duration {
	if lastDigits(t.Number) == "0907" {
		return slow
	}
	return 0
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
	reference := simulatedReference(t.Order)
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
