package orders

import (
	"fmt"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// Clearing is the account in the books of a provider: by its name, or, if the host has given it none,
// by the flow.
func (f *Flow) Clearing(route string, live bool) ledger.Account {
	if route == "" {
		return ledger.Clearing(f.clearing, live)
	}
	return ledger.Provider(route, live)
}

// ProviderFee returns the provider's fee to book for a result, in pesewas. It is 0 if the result is not paid, or if
// its fee is negative or above money.Max.
func ProviderFee(r provider.Result) int64 {
	if r.Outcome != provider.Paid || r.ProviderFee < 0 || r.ProviderFee > money.Max {
		return 0
	}
	return r.ProviderFee
}

// ClearingMoves returns the legs, on the provider's account and the operator's cost, of the posting
// that books a paid order. amount is what leaves through the provider; negative if it comes in.
func (f *Flow) ClearingMoves(route string, live bool, amount, fee int64) []storage.Move {
	var moves []storage.Move
	if amount+fee != 0 { // a charge of one pesewa may cost one
		moves = append(moves, f.Clearing(route, live).Move(amount+fee))
	}
	if fee != 0 {
		moves = append(moves, ledger.ProviderFees(live).Move(-fee))
	}
	return moves
}

// bookFee books the provider's own fee of an order that has ended, as far as it differs from what is
// booked.
func (f *Flow) bookFee(tx *engine.Tx, id string, fee int64) error {
	o, err := engine.OrNil(f.index.Get(tx, storage.Scope{Live: tx.Caller.Live}, id))
	if o == nil || err != nil { // a transfer within the service has none
		return err
	}
	more := fee - o.Value.ProviderFee
	if more == 0 {
		return nil
	}
	o.Value.ProviderFee = fee
	if err := f.index.Replace(tx, o); err != nil {
		return fmt.Errorf("orders: book provider's fee: %w", err)
	}
	err = tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: "provider_fee", Ref: id, At: tx.Now,
		Moves: f.ClearingMoves(o.Value.Route, tx.Caller.Live, 0, more),
	})
	if err != nil {
		return fmt.Errorf("orders: book provider's fee: %w", err)
	}
	return nil
}
