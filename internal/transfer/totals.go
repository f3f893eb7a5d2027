package transfer

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/totals"
	"github.com/seed-7082ffec/payments/payout"
)

// asEnded returns how a transfer counts in the totals, and whether it has ended.
func asEnded(r *record) (totals.Ended, bool) {
	e := totals.Ended{Created: r.CreatedAt.Time, Amount: inPesewas(r.Amount), Outcome: api.Outcome(r.Status)}
	if r.Status == payout.Succeeded {
		e.Outcome = api.OutcomeCompleted
	}
	switch {
	case r.Destination.Type == payout.ServiceWallet:
		e.Network = api.WalletNetwork
	case r.Destination.Provider != nil:
		e.Network = *r.Destination.Provider
	}
	return e, final(r.Status)
}
