package payout

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/totals"
	"github.com/seed-7082ffec/payments/internal/transfer"
	"github.com/seed-7082ffec/payments/storage"
)

// DailyTotals returns one entry for each day of a period. The entry counts the payouts created on that
// day, and adds up their amounts without fees, in pesewas, by network and outcome. A payout that the
// provider took back counts as failed. It reads a few records a day.
//
// Both ends of the period are required, and it has at most two years. It is rounded outwards to days in
// UTC.
//
// Refusals: parameter_invalid (period).
func (s *Service) DailyTotals(ctx context.Context, caller api.Caller, period api.Times) ([]api.DayTotals, error) {
	return s.internal.DailyTotals(ctx, caller, transfer.Payout, period)
}

// DailyTotals is [Service.DailyTotals] for a variant.
func (in *Internal) DailyTotals(ctx context.Context, caller api.Caller, v *transfer.Variant, period api.Times) (days []api.DayTotals, err error) {
	err = in.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		days, err = in.totals[v].Days(tx, engine.Scope(caller), period)
		return err
	})
	return days, err
}

// Totals returns the sums of transfers, for the job that makes those of an earlier release.
func (in *Internal) Totals() (all []*totals.Service[record]) {
	for _, v := range transfer.Variants {
		all = append(all, in.totals[v])
	}
	return all
}

// asEnded returns how a transfer counts in the totals, and whether it has ended.
func asEnded(r *record) (totals.Ended, bool) {
	e := totals.Ended{Created: r.CreatedAt.Time, Amount: inPesewas(r.Amount), Outcome: api.Outcome(r.Status)}
	if r.Status == Succeeded {
		e.Outcome = api.OutcomeCompleted
	}
	switch {
	case r.Destination.Type == ServiceWallet:
		e.Network = api.WalletNetwork
	case r.Destination.Provider != nil:
		e.Network = *r.Destination.Provider
	}
	return e, r.Status.final()
}
