package transfer

import (
	"context"
	"io"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage"
)

// transfers are the calls that payouts and disbursements have in common.
type transfers struct {
	*Service
	variant *Variant
}

func (t *transfers) Get(ctx context.Context, caller api.Caller, id string) (*payout.Transfer, error) {
	return listing(t.variant).Get(ctx, t.engine, caller, id)
}

// GetJSON writes the JSON of what Get returns; see package httpapi.
func (t *transfers) GetJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return listing(t.variant).GetJSON(ctx, t.engine, caller, id, w)
}

func (t *transfers) RecipientNumber(ctx context.Context, caller api.Caller, id string) (string, error) {
	o, err := engine.Get(ctx, t.engine, caller, collection(t.variant), id, t.variant.Object)
	if err != nil || o.Value.To == nil {
		return "", err
	}
	return o.Value.To.Number, nil
}

func (t *transfers) List(ctx context.Context, caller api.Caller, p payout.ListParams) (*api.List[payout.Transfer], error) {
	return listing(t.variant).List(ctx, t.engine, engine.Query(caller, p), p.Page)
}

// ListJSON writes the JSON of what List returns; see package httpapi.
func (t *transfers) ListJSON(ctx context.Context, caller api.Caller, p payout.ListParams, w io.Writer) error {
	return listing(t.variant).ListJSON(ctx, t.engine, engine.Query(caller, p), p.Page, w)
}

func (t *transfers) Cancel(ctx context.Context, caller api.Caller, id string) (*payout.Transfer, error) {
	v, orders := t.variant, t.orders[t.variant]
	op := engine.Operation{Name: v.Object + ".cancel", Params: id}
	return engine.Execute(ctx, t.engine, caller, op, func(tx *engine.Tx) (*payout.Transfer, error) {
		found, err := engine.GetTx(tx, collection(v), engine.Scope(caller), id, v.Object)
		if err != nil {
			return nil, err
		}
		if status := found.Value.Status; found.Value.enter(payout.Cancelled) != nil {
			return nil, api.Errorf(v.NotCancellable, "", "This %s is %s and can no longer be cancelled.", v.Object, status)
		}
		if err := orders.End(tx, found, func() error { return orders.release(tx, &found.Value) }); err != nil {
			return nil, err
		}
		return &found.Value.Transfer, nil
	})
}

func (t *transfers) DailyTotals(ctx context.Context, caller api.Caller, period api.Times) (days []api.DayTotals, err error) {
	err = t.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		days, err = t.totals[t.variant].Days(tx, engine.Scope(caller), period)
		return err
	})
	return days, err
}

// listing is how transfers are read.
func listing(v *Variant) engine.Listing[record, payout.Transfer] {
	return engine.Listing[record, payout.Transfer]{
		Collection: collection(v), Noun: v.Object, URL: "/v1/" + v.Table,
		Show: func(r *record) payout.Transfer { return r.Transfer },
	}
}
