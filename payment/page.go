package payment

import (
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
)

// Hosted holds what the page that follows a payment from a phone shows.
type Hosted struct {
	Payment  Payment
	Merchant account.Merchant
	// Number is the payer's whole number, +233XXXXXXXXX; empty after an erasure. The page shows more of
	// it than Payment does.
	Number string
	// Late says that the payment was completed when there was nothing left to pay. Contradicted says that
	// the provider has contradicted the outcome that is booked.
	Late, Contradicted bool
	// Left says that the payer has chosen another way to pay meanwhile.
	Left bool
	// Reported is what the provider has reported later than the booked outcome, and against it, and ReportedAt when;
	// also after a person has decided. Doubted says that it has contradicted itself in any way, ever.
	Reported   provider.Outcome
	ReportedAt time.Time
	Doubted    bool
	// BookedAsPaid and BookedAsUnpaid say that staff have booked by hand the opposite of the status, at DecidedAt.
	BookedAsPaid, BookedAsUnpaid bool
	DecidedAt                    time.Time
	// Deadline is the time until which the payer is asked, and Now the merchant's clock.
	Deadline, Now time.Time
	// Caller stands for the merchant, for the calls of the page.
	Caller api.Caller
}
