package disbursement

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/transfer"
)

// DailyTotals returns, for each day of a period of at most two years, how many of the caller's
// disbursements that were created on it ended how, and their amounts without fees. One that the
// provider took back has failed. It reads a few records a day.
func (s *Service) DailyTotals(ctx context.Context, caller api.Caller, period api.Times) ([]api.DayTotals, error) {
	return s.payouts.DailyTotals(ctx, caller, transfer.Disbursement, period)
}
