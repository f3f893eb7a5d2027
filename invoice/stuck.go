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
// from the first time on that the charger did not decide: most decide at once. Under
// their own ids it holds the charges that the charger contradicted.
var undecided = outside.NewOrders("charge_orders")

// errContradicted: the charger reports the opposite of what it reported before. What was
// booked stays. The log says so, the observer is told ("contradicted"), and
// [Service.Stuck] lists the charge: it is for people to find out what happened.
var errContradicted = fmt.Errorf("invoice: %w", outside.ErrContradicted)

// contradicted notes that the charger contradicts what is booked of a charge, and returns
// errContradicted.
func (s *Service) contradicted(ctx context.Context, caller api.Caller, id, charge, how string) error {
	err := s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		return undecided.ContradictTx(ctx, tx, outside.Contradicting{
			Order: outside.Order{Noun: "invoice", Of: id, Contradiction: how}, ID: charge, Kind: invoices.Kind(), Word: "charge",
		})
	})
	if err != nil {
		return err
	}
	return errContradicted
}

// Stuck is an invoice whose charge has been undecided for too long, or of which the
// charger has reported the opposite of what it reported before.
type Stuck struct {
	Merchant string
	Live     bool
	Invoice  Invoice
	// Charge is the id that the [Charger] knows. Since is when it first did not decide, or
	// when it contradicted itself.
	Charge string
	Since  time.Time
	// Asked counts how often the charger was asked without a conclusive answer; 0 for a
	// contradiction.
	Asked int
	// Contradiction says what is booked and what the charger reported afterwards, as
	// "declined, and now charged"; empty for a charge that is undecided.
	Contradiction string
}

// CountStuckTx counts the invoices of a mode that Stuck would list, up to limit.
func (s *Service) CountStuckTx(tx storage.ReadTx, live bool, limit int) (int, error) {
	return undecided.CountStuckTx(tx, s.engine, live, s.config.StuckAfter, limit)
}

// Stuck lists the invoices of all merchants, in both modes, whose charge has been
// undecided for longer than StuckAfter, the oldest last. They can be neither paid nor
// voided meanwhile, and the charger goes on being asked; the list is for people, who
// ask the provider. Before them it lists the charges of which the charger has reported the
// opposite of what it reported before, until [Service.Resolve].
func (s *Service) Stuck(ctx context.Context) ([]Stuck, error) {
	var all []Stuck
	err := undecided.EachContradicted(ctx, s.engine, func(tx *engine.ReadTx, charge string, o *outside.Order) error {
		found, err := s.get(tx, tx.Caller.Scope(), o.Of)
		if err != nil {
			return err
		}
		all = append(all, Stuck{
			Merchant: tx.Caller.Merchant, Live: tx.Caller.Live, Invoice: found.Value.Invoice,
			Charge: charge, Since: o.CreatedAt.Time, Contradiction: o.Contradiction,
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("invoice: list contradicted charges: %w", err)
	}
	err = undecided.EachStuck(ctx, s.engine, s.config.StuckAfter, func(tx *engine.ReadTx, id string, o *outside.Order) error {
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

// Resolve takes a charge that the charger contradicted off the list of Stuck, once
// somebody has found out what happened. It books nothing; what is missing or too much on a
// balance is booked with account.Service.Adjust. charge is its id, att_…; one that is not
// contradicted is resource_missing.
func (s *Service) Resolve(ctx context.Context, charge string) error {
	return undecided.Resolve(ctx, s.engine, charge, "contradicted charge")
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
