package invoicing

import (
	"time"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/invoice"
)

// awaitAtMost bounds how long the end of a subscription's period waits for one automatic charge that can be
// made.
const awaitAtMost = time.Hour

// lastCharge returns the time of an invoice's last automatic charge if every charge is made on time.
func (s *Service) lastCharge(live bool, r *record) time.Time {
	return s.nextChargeTime(live, r.InvoiceDate.Time).Add(chargeOffsets[len(chargeOffsets)-1])
}

// AwaitsCharge returns the time until which a caller should wait for the next outcome of an invoice's
// automatic charges. since is when the caller began to wait. The caller has not applied the final outcome
// of the invoice yet.
//
// It returns the zero time if the last charge is planned for the time before or later, if the charges were
// stopped, or if an outcome has been missing for an hour.
func (s *Service) AwaitsCharge(tx *engine.Tx, id string, before, since time.Time) (until time.Time, err error) {
	o, err := s.get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return until, err
	}
	r := &o.Value
	if r.Status == invoice.Open && r.NextPaymentAttempt == nil || !s.lastCharge(tx.Caller.Live, r).Before(before) {
		return until, nil
	}
	from := since
	switch {
	case r.Status != invoice.Open: // its outcome is about to be applied
	case r.OpenCharge != nil:
		if r.OpenCharge.SubmittedAt != nil {
			from = r.OpenCharge.SubmittedAt.Time
		}
	case r.OpenPayment != "":
		p, err := s.config.Payments.Read(tx, r.OpenPayment)
		if err != nil {
			return until, err
		}
		from = p.CreatedAt.Time
	case r.NextWorkAt != nil && r.NextWorkAt.After(since): // the next charge is planned for then, or the phone must not be asked earlier
		from = r.NextWorkAt.Time
	}
	if until = from.Add(awaitAtMost); !until.After(tx.Now) {
		return time.Time{}, nil
	}
	return until, nil
}

// ChargeTime returns the first time, not before at, at which an automatic charge may ask a phone.
func (s *Service) ChargeTime(live bool, at time.Time) time.Time {
	return s.nextChargeTime(live, at)
}
