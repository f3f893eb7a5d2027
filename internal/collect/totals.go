package collect

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/totals"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

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
	case r.PaymentMethod == payment.ServiceWallet:
		e.Network = api.WalletNetwork
	}
	return e, ended(r.Status)
}
