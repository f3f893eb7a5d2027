package orders

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// settlement is the stored form of a settlement. Its id is made of route and reference, so that one is
// recorded once.
type settlement struct {
	Route     string   `json:"route"`
	Reference string   `json:"reference"`
	Amount    int64    `json:"amount"`
	Fee       int64    `json:"fee"`
	Posting   string   `json:"posting"`
	CreatedAt api.Time `json:"created_at"`
}

var settlements = storage.NewCollection[settlement]("provider_settlements", nil)

// settlementID names the settlement of a provider with this reference.
func settlementID(route, reference string) string {
	sum := sha256.Sum256([]byte(route + "\x00" + reference))
	return "stl_" + hex.EncodeToString(sum[:16])
}

func (s *settlement) shown() *provider.Settlement {
	return &provider.Settlement{
		SettlementParams: provider.SettlementParams{Route: s.Route, Reference: s.Reference, Amount: s.Amount, Fee: s.Fee},
		Posting:          s.Posting, RecordedAt: s.CreatedAt.Time,
	}
}

// maxSettlement bounds amounts and fees of settlements, in pesewas, so that no sum overflows.
const maxSettlement = 1_000_000_000_000_00

func checkSettlement(p *provider.SettlementParams) error {
	switch {
	case p.Route != "" && !check.Route(p.Route):
		return errNoRoute
	case p.Reference == "":
		return api.Missing("reference")
	case p.Amount == 0 || p.Amount > maxSettlement || p.Amount < -maxSettlement:
		return api.Invalid("amount", "amount must be a whole number of pesewas other than 0.")
	case p.Fee < 0 || p.Fee > maxSettlement:
		return api.Invalid("fee", "fee must be a whole number of pesewas, 0 or more.")
	}
	return check.Text("reference", p.Reference, api.MaxReference)
}

var errNoRoute = api.Invalid("route", "route must be the name of a provider, or empty for one without a name.")

// RecordSettlement implements [provider.Service].
func (s *Service) RecordSettlement(ctx context.Context, caller api.Caller, p provider.SettlementParams) (*provider.Settlement, error) {
	if err := s.config.Accounts.OperatorOnly(caller); err != nil {
		return nil, err
	}
	if err := checkSettlement(&p); err != nil {
		return nil, err
	}
	var recorded *provider.Settlement
	err := s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		id, scope := settlementID(p.Route, p.Reference), storage.Scope{Live: caller.Live}
		old, err := engine.OrNil(settlements.Get(tx, scope, id))
		if err != nil {
			return err
		}
		if old != nil {
			recorded = old.Value.shown()
			if recorded.SettlementParams != p {
				return api.Invalid("reference", "This settlement was recorded before with another amount or fee.")
			}
			return nil
		}
		r := settlement{p.Route, p.Reference, p.Amount, p.Fee, tx.NewID("txn_"), api.At(tx.Now)}
		if _, err := settlements.Insert(tx, scope, id, r); err != nil {
			return fmt.Errorf("orders: keep settlement: %w", err)
		}
		// A provider without a name has two accounts: what it has collected lies in that of the charges,
		// and what it is to pay out in that of the transfers.
		flow := Charges
		if p.Amount < 0 {
			flow = Transfers
		}
		moves := append(flow.ClearingMoves(p.Route, caller.Live, p.Amount, p.Fee), ledger.Bank(caller.Live).Move(-p.Amount))
		if err := tx.Post(storage.Posting{ID: r.Posting, Type: "settlement", Ref: p.Reference, At: tx.Now, Moves: moves}); err != nil {
			return fmt.Errorf("orders: book settlement: %w", err)
		}
		recorded = r.shown()
		return nil
	})
	return recorded, err
}

// findSettlement returns a recorded settlement, or nil.
func (s *Service) findSettlement(ctx context.Context, live bool, route, reference string) (found *provider.Settlement, err error) {
	err = s.engine.View(ctx, api.Caller{Live: live}, func(tx *engine.ReadTx) error {
		o, err := engine.OrNil(settlements.Get(tx, storage.Scope{Live: live}, settlementID(route, reference)))
		if o != nil {
			found = o.Value.shown()
		}
		return err
	})
	return found, err
}
