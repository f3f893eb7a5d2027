package account

import (
	"context"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/storage"
)

// Adjustment is a change of a merchant's balance that an operator made by hand. It names the
// operator and the reason. It is never changed or removed; another adjustment corrects a wrong
// one.
type Adjustment struct {
	ID     string `json:"id"`     // adj_…
	Object string `json:"object"` // always "balance_adjustment"
	// Amount is in GHS, negative when it took money away.
	Amount   api.GHS `json:"amount"`
	Currency string  `json:"currency"`
	Reason   string  `json:"reason"`
	Actor    string  `json:"actor"`
	// Reference is the operator's own, such as a ticket number; may be empty.
	Reference string   `json:"reference"`
	Livemode  bool     `json:"livemode"`
	CreatedAt api.Time `json:"created_at"`
}

// AdjustParams describes an adjustment.
type AdjustParams struct {
	// Amount is in GHS, not zero: positive tops the balance up, negative takes from
	// it.
	Amount decimal.Decimal `json:"amount"`
	// Reason and Actor are required. Reason says why, in at most 500 characters. Actor is the
	// name or account of the operator who decided, in at most 255.
	Reason string `json:"reason"`
	Actor  string `json:"actor"`
	// Reference is the operator's own, at most 100 characters. The id of a payment from a phone that has ended says
	// that the adjustment books what became of it, after its provider contradicted itself. Then the payment's page
	// says so to the payer, and an SMS tells payer and merchant of one that was booked as paid.
	Reference string `json:"reference,omitempty"`
}

var adjustments = storage.NewCollection[Adjustment]("balance_adjustments", nil)

// Adjust tops up or corrects the available balance of a merchant, in the caller's mode, against
// the clearing account "adjustment". Set caller.Merchant to the merchant. Adjust does not check who
// calls: let only the operator use it. No route of /v1 leads to it.
//
//	_, err := svc.Accounts.Adjust(ctx, api.Caller{Merchant: id, Live: true, IdempotencyKey: "ticket-4711"},
//		account.AdjustParams{Amount: decimal.RequireFromString("-12.50"), Reason: "Paid twice by the bank on 3 March", Actor: "esi@operator.example"})
//
// The transaction of the movement also stores reason and actor. The entry has the type adjustment
// and the adjustment's id as source. With an idempotency key the call may be repeated safely. The
// key is one of the merchant's.
//
// Refusals: parameter_invalid, parameter_missing, resource_missing (no such
// merchant), insufficient_balance when it would take the balance below zero.
func (s *Service) Adjust(ctx context.Context, caller api.Caller, p AdjustParams) (*Adjustment, error) {
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
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*Adjustment, error) {
		if _, err := getMerchant(tx, caller.Merchant); err != nil {
			return nil, err
		}
		a := Adjustment{
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

// OnAdjust has each adjustment told in its transaction.
func (i *Internal) OnAdjust(adjusted func(tx *engine.Tx, a *Adjustment, pesewas int64) error) {
	i.svc.adjusted = adjusted
}

// ListAdjustments returns the adjustments of a merchant in the caller's mode, newest first. As for
// Adjust, set caller.Merchant to the merchant, and let only the operator use it.
func (s *Service) ListAdjustments(ctx context.Context, caller api.Caller, p api.Page) (*api.List[Adjustment], error) {
	listing := engine.Listing[Adjustment, Adjustment]{
		Collection: adjustments, Noun: "balance adjustment",
		Show: func(a *Adjustment) Adjustment { return *a },
	}
	return listing.List(ctx, s.engine, storage.Query{Scope: engine.Scope(caller)}, p)
}
