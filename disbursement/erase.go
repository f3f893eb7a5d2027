package disbursement

import (
	"context"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage"
)

// ErasePayee takes the name of a payee off the rows of batches: off those whose
// disbursement is one of ids, and those of the payee that were refused. It returns how many
// rows that are not settled keep it.
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
