package invoice

import (
	"time"

	"github.com/seed-7082ffec/payments/internal/engine"
)

// awaitAtMost bounds how long the end of a subscription's period waits for an automatic charge of an
// earlier time.
const awaitAtMost = time.Hour

// AwaitsCharge returns until when a caller should wait for the outcome of an automatic charge of an
// invoice that was to be made before a time, and zero if there is none to wait for: no such charge is
// planned, the phone must not be asked before that time, or the outcome has failed to come for an hour.
func (in *Internal) AwaitsCharge(tx *engine.Tx, id string, before time.Time) (until time.Time, err error) {
	o, err := in.svc.get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return until, err
	}
	r := &o.Value
	if r.Status != Open || r.NextPaymentAttempt == nil || !r.NextPaymentAttempt.Before(before) {
		return until, nil
	}
	switch {
	case r.OpenCharge != nil:
		until = tx.Now.Add(awaitAtMost)
		if r.OpenCharge.SubmittedAt != nil {
			until = r.OpenCharge.SubmittedAt.Add(awaitAtMost)
		}
	case r.OpenPayment != "":
		p, _, err := in.svc.config.Payments.Load(tx, r.OpenPayment)
		if err != nil {
			return until, err
		}
		until = p.CreatedAt.Add(awaitAtMost)
	case r.NextWorkAt != nil && r.NextWorkAt.Before(before):
		until = tx.Now.Add(awaitAtMost)
	}
	if !until.After(tx.Now) {
		return time.Time{}, nil
	}
	return until, nil
}

// ChargeTime returns the first time, not before at, at which an automatic charge may ask a phone.
func (in *Internal) ChargeTime(live bool, at time.Time) time.Time {
	return in.svc.nextChargeTime(live, at)
}
