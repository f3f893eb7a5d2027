package invoice

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/outside"
	"github.com/seed-7082ffec/payments/storage"
)

// undecided holds the invoices of all merchants that wait for the outcome of a charge,
// from the first time on that the charger did not decide: most decide at once.
var undecided = outside.NewOrders("charge_orders")

// Stuck is an invoice whose charge has been undecided for too long.
type Stuck struct {
	Merchant string
	Live     bool
	Invoice  Invoice
	// Charge is the id that the [Charger] knows, Since when it first did not decide.
	Charge string
	Since  time.Time
	// Asked counts how often the charger was asked without a conclusive answer.
	Asked int
}

// CountStuckTx counts the invoices of a mode that Stuck would list, up to limit.
func (s *Service) CountStuckTx(tx storage.ReadTx, live bool, limit int) (int, error) {
	return undecided.CountStuckTx(tx, s.engine, live, s.config.StuckAfter, limit)
}

// Stuck lists the invoices of all merchants, in both modes, whose charge has been
// undecided for longer than StuckAfter, the oldest last. They can be neither paid nor
// voided meanwhile, and the charger goes on being asked; the list is for people, who
// ask the provider.
func (s *Service) Stuck(ctx context.Context) ([]Stuck, error) {
	var all []Stuck
	err := undecided.EachStuck(ctx, s.engine, s.config.StuckAfter, func(tx *engine.ReadTx, id string, o *outside.Order) error {
		found, err := invoices.Get(tx, tx.Caller.Scope(), id)
		if err != nil {
			return err
		}
		if r := &found.Value; r.Attempt != nil {
			all = append(all, Stuck{
				Merchant: tx.Caller.Merchant, Live: tx.Caller.Live, Invoice: r.Invoice,
				Charge: r.Attempt.ID, Since: o.CreatedAt.Time, Asked: r.Attempt.Asked - 1,
			})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("invoice: list stuck charges: %w", err)
	}
	return all, nil
}

// waits notes that an invoice waits for the outcome of its charge, and tells the log,
// once, of one that takes too long.
func (s *Service) waits(ctx context.Context, tx *engine.Tx, r *record) error {
	a := r.Attempt
	if a.Undecided == nil {
		a.Undecided = api.AtOrNil(tx.Now)
		return undecided.OpenTx(tx, "invoice", r.ID)
	}
	age := tx.Now.Sub(a.Undecided.Time)
	if a.Stuck || age < s.config.StuckAfter {
		return nil
	}
	a.Stuck = true
	id, charge, asked := r.ID, a.ID, a.Asked-1
	tx.Committed(func() {
		s.engine.Log.ErrorContext(ctx, "a charge is stuck: the charger has not decided", "invoice", id, "charge", charge, "age", age.String(), "asked", asked)
	})
	return nil
}

// decided ends the attempt of an invoice, if there is one.
func (r *record) decided(tx *engine.Tx) error {
	a := r.Attempt
	r.Attempt, r.Due = nil, nil
	if a == nil || a.Undecided == nil {
		return nil
	}
	return undecided.DropTx(tx, r.ID)
}
