package party

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/storage"
)

var adjustments = storage.NewCollection[account.Adjustment]("balance_adjustments", nil)

func (s *Service) Adjust(ctx context.Context, caller api.Caller, p account.AdjustParams) (*account.Adjustment, error) {
	pesewas, err := check.Amount("amount", p.Amount.Abs())
	if err != nil {
		return nil, err
	}
	if p.Amount.IsNegative() {
		pesewas = -pesewas
	}
	for _, text := range []struct {
		param, text string
		most        int
	}{{"reason", p.Reason, api.MaxText}, {"actor", p.Actor, api.MaxName}} {
		if text.text == "" {
			return nil, api.Missing(text.param)
		}
		if err := check.Text(text.param, text.text, text.most); err != nil {
			return nil, err
		}
	}
	if err := check.Text("reference", p.Reference, api.MaxReference); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "balance.adjust", Params: p}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*account.Adjustment, error) {
		if _, err := getMerchant(tx, caller.Merchant); err != nil {
			return nil, err
		}
		a := account.Adjustment{
			ID: tx.NewID("adj_"), Object: "balance_adjustment", Amount: api.FromPesewas(pesewas), Currency: api.Currency,
			Reason: p.Reason, Actor: p.Actor, Reference: p.Reference, Livemode: caller.Live, CreatedAt: api.At(tx.Now),
		}
		err := credit(tx, caller.Merchant, storage.Posting{
			ID: tx.NewID("txn_"), Type: "adjustment", Ref: a.ID, At: tx.Now,
			Moves: []storage.Move{
				ledger.Available(caller.Merchant, caller.Live).Move(pesewas),
				ledger.Clearing("adjustment", caller.Live).Move(-pesewas),
			},
		})
		if err != nil {
			return nil, fmt.Errorf("account: adjust: %w", err)
		}
		if _, err := adjustments.Insert(tx, engine.Scope(caller), a.ID, a); err != nil {
			return nil, fmt.Errorf("account: keep adjustment: %w", err)
		}
		if s.adjusted == nil {
			return &a, nil
		}
		return &a, s.adjusted(tx, &a, pesewas)
	})
}

// OnAdjust sets a function that Adjust calls in the transaction of each adjustment.
func (s *Service) OnAdjust(adjusted func(tx *engine.Tx, a *account.Adjustment, pesewas int64) error) {
	s.adjusted = adjusted
}

func (s *Service) ListAdjustments(ctx context.Context, caller api.Caller, p api.Page) (*api.List[account.Adjustment], error) {
	listing := engine.Listing[account.Adjustment, account.Adjustment]{
		Collection: adjustments, Noun: "balance adjustment",
		Show: func(a *account.Adjustment) account.Adjustment { return *a },
	}
	return listing.List(ctx, s.engine, storage.Query{Scope: engine.Scope(caller)}, p)
}
