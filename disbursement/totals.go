package disbursement

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/transfer"
)

// DailyTotals returns one entry for each day of a period. The entry counts the disbursements created on
// that day, and adds up their amounts without fees, in pesewas, by network and outcome. A disbursement
// that the provider took back counts as failed. It reads a few records a day.
//
// Both ends of the period are required, and it has at most two years. It is rounded outwards to days in
// UTC.
//
// Refusals: parameter_invalid (period).
func (s *Service) DailyTotals(ctx context.Context, caller api.Caller, period api.Times) ([]api.DayTotals, error) {
	return s.payouts.DailyTotals(ctx, caller, transfer.Disbursement, period)
}
