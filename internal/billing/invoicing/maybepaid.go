package invoicing

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// mayBePaid reports whether money of an open invoice may have arrived that the invoice does not count. Then no
// automatic charge is made until a person has decided: the customer would pay twice.
func (s *Service) mayBePaid(tx *engine.Tx, r *record) (bool, error) {
	switch {
	case r.AttemptCount == 0:
		return false, nil
	case r.BookedByStaff > 0:
		return true, nil
	}
	for _, id := range r.DoubtfulCharges {
		if listed, err := orders.Charges.NeedsDecision(tx, id); listed || err != nil {
			return listed, err
		}
	}
	return s.config.Payments.MayBePaid(tx, r.ID)
}

// awaitDecision postpones the scheduled charge of an invoice that may be paid already. The schedule stands still
// meanwhile: the later charges keep their distance from this one.
func (s *Service) awaitDecision(ctx context.Context, tx *engine.Tx, o *storage.Object[record]) error {
	work.SetReport(ctx, work.Report{Name: "may_be_paid", Level: slog.LevelInfo})
	o.Value.delaySchedule(tx.Now.Add(awaitAgain))
	return s.save(tx, o)
}

// delaySchedule moves the next automatic charge, and those after it, to a later time.
func (r *record) delaySchedule(until time.Time) {
	if delay := until.Sub(r.NextPaymentAttempt.Time); delay > 0 {
		r.FirstAttempt = api.AtOrNil(r.firstCharge().Add(delay))
		r.NextPaymentAttempt = api.AtOrNil(until)
	}
	r.NextWorkAt = api.AtOrNil(until)
}

// noteDoubt notes on an open invoice that its provider reports something else about a charge than that it was
// refused, as the invoice has recorded.
func (s *Service) noteDoubt(tx *engine.Tx, o *storage.Object[record], charge string, result provider.Result) error {
	r := &o.Value
	if r.Status != invoice.Open || !result.Outcome.Known() || result.Outcome == provider.Refused || slices.Contains(r.DoubtfulCharges, charge) {
		return nil
	}
	r.DoubtfulCharges = append(r.DoubtfulCharges, charge)
	return s.save(tx, o)
}

// adjusted notes what staff have booked for an open invoice with a doubtful charge. The adjustment names the
// invoice.
func (s *Service) adjusted(tx *engine.Tx, a *account.Adjustment, pesewas int64) error {
	if !strings.HasPrefix(a.Reference, "inv_") {
		return nil
	}
	o, err := engine.OrNil(invoices.Get(tx, engine.Scope(tx.Caller), a.Reference))
	if o == nil || err != nil { // the reference may be anything
		return err
	}
	if o.Value.Status != invoice.Open || len(o.Value.DoubtfulCharges) == 0 {
		return nil
	}
	o.Value.BookedByStaff += pesewas
	return s.save(tx, o)
}
