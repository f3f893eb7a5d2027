package invoice

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/due"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/outside"
	"github.com/seed-7082ffec/payments/storage"
)

// chargeAfter is when an invoice is charged automatically, counted from its
// finalization. After the last failure it is uncollectible.
var chargeAfter = []time.Duration{0, 24 * time.Hour, 3 * 24 * time.Hour, 5 * 24 * time.Hour}

// scheduleNext sets the next automatic charge, or reports that there is none.
func (r *record) scheduleNext() bool {
	if r.AttemptCount >= len(chargeAfter) {
		r.NextPaymentAttempt = nil
		return false
	}
	next := api.At(r.FinalizedAt.Add(chargeAfter[r.AttemptCount]))
	r.NextPaymentAttempt, r.Due = &next, &next
	return true
}

// Job charges invoices on their schedule, and finds out about charges whose
// outcome is open.
func (s *Service) Job() due.Job {
	const atATime = 32 // most of it waits for the charger
	return due.Job{Kind: invoices.Kind(), Limit: outside.WorkLimit, Batch: atATime, Do: s.work}
}

func (s *Service) work(ctx context.Context, claimed storage.Record) error {
	caller := api.Caller{Merchant: claimed.Scope.Merchant, Live: claimed.Scope.Live}
	var charge *Charge
	var release func()
	var call engine.Call
	var scheduled bool
	var of *origin
	err := s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		charge, scheduled, of = nil, false, nil
		caller.RequestID, caller.IdempotencyKey = "", "" // an earlier run may have found an attempt
		o, err := s.get(tx, caller.Scope(), claimed.ID)
		if err != nil {
			return err
		}
		r := &o.Value
		switch {
		case r.Attempt != nil:
			caller.RequestID, caller.IdempotencyKey = r.Attempt.Request, r.Attempt.Key
			charge, call = r.charge(caller.Live), payCall(r.ID, r.Attempt.PayParams)
			if s.charger(caller.Live) != nil {
				release, err = s.hold(tx, o)
				return err
			}
			// Nobody can say what became of it.
			r.Due = api.AtOrNil(tx.Now.Add(due.Lease))
			if err := s.waits(ctx, tx, r); err != nil {
				return err
			}
		case r.Status == Open && r.NextPaymentAttempt != nil:
			scheduled, of = true, r.Origin
			return nil
		default:
			r.Due = nil
		}
		return s.replace(tx, o)
	})
	switch {
	case err != nil:
		return err
	case scheduled:
		_, err = s.pay(ctx, caller, claimed.ID, PayParams{OffSession: true}, of)
		if api.CodeOf(err) == api.PaymentFailed && s.charger(caller.Live) == nil {
			due.Report(ctx, due.Outcome{Name: "no_charger", Level: slog.LevelWarn})
			err = s.skipped(ctx, caller, claimed.ID)
		}
	case charge != nil && s.charger(caller.Live) != nil:
		_, err = s.carry(ctx, caller, call, charge, release, false)
	}
	if api.CodeOf(err) != "" || errors.Is(err, errContradicted) {
		return nil // booked, to be asked again, or on record for people
	}
	return err
}

// skipped counts an automatic charge that no charger could make.
func (s *Service) skipped(ctx context.Context, caller api.Caller, id string) error {
	return s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		o, err := s.get(tx, caller.Scope(), id)
		if err != nil || o.Value.Status != Open || o.Value.NextPaymentAttempt == nil {
			return err
		}
		r := &o.Value
		r.Origin.continues(tx)
		r.AttemptCount++
		r.Due = nil
		types := []event.Type{event.InvoicePaymentFailed}
		if !r.scheduleNext() {
			r.enter(Uncollectible)
			types = append(types, event.InvoiceMarkedUncollectible)
		}
		return s.replace(tx, o, types...)
	})
}
