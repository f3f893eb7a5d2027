package payout

import (
	"context"
	"errors"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// Simulated is the rail of test mode. It moves nothing, and answers by the last
// four digits of the phone or account number:
//
//	0000–0899  succeeds at once
//	0901       fails, recipient_unavailable
//	0902       fails, invalid_destination
//	0903       stays in progress, until a test helper settles it
//	0904       succeeds after 25 seconds of the merchant's test clock
//	0905       does not answer the first time, then has succeeded
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
// but …0901 and …0906 are recipient_unavailable, …0902 is invalid_destination, and
// …0905 does not answer.
//
// It keeps no state: the same order gets the same answer, in any process.
type Simulated struct{}

// slow is how long …0904 takes.
const slow = 25 * time.Second

var errNoAnswer = errors.New("payout: the simulated rail does not answer")

// Check implements [Checker].
func (Simulated) Check(_ context.Context, o Order) error {
	if lastDigits(o.Number) == "0906" {
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
func (s Simulated) Submit(ctx context.Context, o Order) (Result, error) { return s.answer(o) }

// Status implements [Rail].
func (s Simulated) Status(ctx context.Context, o Order) (Result, error) { return s.answer(o) }

func (Simulated) answer(o Order) (Result, error) {
	reference := "SIM-" + o.ID
	switch lastDigits(o.Number) {
	case "0901":
		return Result{Outcome: Refused, Reference: reference, Reason: Refusal{Code: api.RecipientUnavailable}}, nil
	case "0902":
		return Result{Outcome: Refused, Reference: reference, Reason: Refusal{Code: api.InvalidDestination}}, nil
	case "0903":
		return Result{Outcome: InProgress, Reference: reference}, nil
	case "0904":
		if left := o.SubmittedAt.Add(slow).Sub(o.Now); left > 0 {
			return Result{Outcome: InProgress, Reference: reference, Again: left}, nil
		}
	case "0905":
		if o.Asked <= 1 {
			return Result{}, errNoAnswer
		}
	}
	return Result{Outcome: Paid, Reference: reference}, nil
}

func lastDigits(number string) string { return number[max(0, len(number)-4):] }
