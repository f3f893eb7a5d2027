package disbursement

import (
	"context"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage"
)

// CountQueued returns the number of a payee's queued rows, which keep the name and the number. A row
// that is made afterwards is one of the payee's transfers.
func (in *Internal) CountQueued(ctx context.Context, within engine.Within, p payout.Payee) (int, error) {
	queued := map[string]bool{}
	err := engine.Rewrite(ctx, in.svc.engine, rows, within, func(o *storage.Object[rowRecord]) (bool, error) {
		if r := &o.Value; r.Status == RowQueued && p.MatchesRequest(&r.Destination, r.Params.Destination) {
			queued[r.ID] = true
		}
		return false, nil
	})
	return len(queued), err
}

// ErasePayee removes the name of a payee from batch rows: from rows with a disbursement in ids,
// and from the payee's refused rows.
func (in *Internal) ErasePayee(ctx context.Context, within engine.Within, p payout.Payee, ids map[string]bool) error {
	return engine.Rewrite(ctx, in.svc.engine, rows, within, func(o *storage.Object[rowRecord]) (bool, error) {
		r := &o.Value
		if r.Status == RowQueued || !ids[r.DisbursementID] && !p.MatchesShown(&r.Destination) {
			return false, nil
		}
		changed := r.Destination.Name != ""
		r.Destination.Name = ""
		return changed, nil
	})
}
