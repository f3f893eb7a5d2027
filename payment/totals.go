package payment

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/totals"
	"github.com/seed-7082ffec/payments/storage"
)

// DailyTotals returns one entry for each day of a period. The entry counts the payments created on that
// day, and adds up their amounts in pesewas, by network and outcome. A payment that has not ended
// counts nowhere. A payment that was refunded, or that its provider took back, stays completed.
//
// Both ends of the period are required, and it has at most two years. It is rounded outwards to days in
// UTC.
//
// It reads a few records a day, however many payments there are.
//
// Refusals: parameter_invalid (period).
func (s *Service) DailyTotals(ctx context.Context, caller api.Caller, period api.Times) (days []api.DayTotals, err error) {
	err = s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		days, err = s.totals.Days(tx, engine.Scope(caller), period)
		return err
	})
	return days, err
}

// asEnded returns how a payment counts in the totals, and whether it has ended.
func asEnded(r *record) (totals.Ended, bool) {
	e := totals.Ended{Created: r.CreatedAt.Time, Amount: r.Amount, Outcome: api.Outcome(r.Status)}
	switch {
	case r.Provider != nil:
		e.Network = *r.Provider
	case r.PaymentMethod == ServiceWallet:
		e.Network = api.WalletNetwork
	}
	return e, r.Status.ended()
}
