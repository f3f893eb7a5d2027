package disbursement

import (
	"context"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage"
)

// ErasePayee removes the name of a payee from batch rows: from rows with a disbursement in ids,
// and from the payee's refused rows. It returns the number of unsettled rows, which keep the
// name.
func (in *Internal) ErasePayee(ctx context.Context, within engine.Within, p payout.Payee, ids map[string]bool) (open int, err error) {
	under := map[string]bool{}
	err = engine.Rewrite(ctx, in.svc.engine, rows, within, func(o *storage.Object[rowRecord]) (bool, error) {
		r := &o.Value
		switch {
		case r.Status == RowQueued && p.MatchesShown(&r.Destination):
			under[r.ID] = true
			return false, nil
		case r.Status == RowQueued, !ids[r.DisbursementID] && !p.MatchesShown(&r.Destination):
			return false, nil
		}
		changed := r.Destination.Name != ""
		r.Destination.Name = ""
		return changed, nil
	})
	return len(under), err
}
