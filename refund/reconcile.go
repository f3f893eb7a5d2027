package refund

import (
	"context"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/outside"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage"
)

// Difference is a row of a statement that does not agree with a refund of ours, or
// one without the other.
type Difference struct {
	Row      payout.Row // zero for a refund that the statement does not know
	Refund   *Refund    // nil for a row that we do not know
	Merchant string
}

// Reconciliation is the outcome of comparing a statement with the refunds that were
// sent; its fields are those of [payout.Reconciliation].
type Reconciliation struct {
	Matched                                                 int
	MissingHere, MissingThere, AmountDiffers, StatusDiffers []Difference
	Repeated                                                []payout.Row
}

// Reconcile compares a provider's statement of refunds, whose amounts are in GHS,
// with the refunds that its charger was told of, over all merchants, as
// [payout.Outgoing.Reconcile] does with transfers. Nothing is changed: what differs
// is for people to look into, and for [Service.Notify] to book. Rows of anything but
// refunds are MissingHere; who has them in one statement leaves them out by their
// references, which do not begin with re_. An error of the reader ends it.
func (s *Service) Reconcile(ctx context.Context, rows payout.RowReader, p payout.ReconcileParams) (*Reconciliation, error) {
	found, err := outside.Reconcile(ctx, rows.Read, outside.Books[payout.Row, Refund]{
		Reference: func(row payout.Row) string { return row.Reference },
		Find: func(ctx context.Context, id string) (*Refund, string, error) {
			_, caller, err := orders.Find(ctx, s.engine, id, "refund")
			if api.CodeOf(err) == api.ResourceMissing || err == nil && caller.Live != p.Live {
				return nil, "", nil
			}
			if err != nil {
				return nil, "", err
			}
			r, err := s.Get(ctx, caller, id)
			return r, caller.Merchant, err
		},
		SameAmount: func(row payout.Row, r *Refund) bool { return row.Amount.Equal(decimal.New(r.Amount, -2)) },
		SameStatus: func(row payout.Row, r *Refund) bool { return means(p.Outcome(row.Status), r.Status) },
		Told: func(ctx context.Context, do func(string, *Refund, string)) error {
			q := storage.Query{Range: api.InTimes(nil, "created", api.Times{From: p.From, Until: p.Until})}
			return orders.Each(ctx, s.engine, p.Live, q, func(tx *engine.ReadTx, id string, _ *outside.Order) error {
				o, err := refunds.Get(tx, tx.Caller.Scope(), id)
				if err == nil && o.Value.SubmittedAt != nil {
					do(id, &o.Value.Refund, tx.Caller.Merchant)
				}
				return err
			})
		},
	})
	if err != nil {
		return nil, fmt.Errorf("refund: reconcile: %w", err)
	}
	show := func(d outside.Difference[payout.Row, Refund]) Difference {
		return Difference{d.Row, d.Object, d.Merchant}
	}
	return &Reconciliation{
		Matched:       found.Matched,
		MissingHere:   outside.Each(found.MissingHere, show),
		MissingThere:  outside.Each(found.MissingThere, show),
		AmountDiffers: outside.Each(found.OtherAmount, show),
		StatusDiffers: outside.Each(found.OtherStatus, show),
		Repeated:      found.Repeated,
	}, nil
}

// means reports whether a provider's outcome says what our status says.
func means(o payout.Outcome, ours Status) bool {
	switch o {
	case payout.Paid:
		return ours == Succeeded
	case payout.Refused:
		return ours == Failed
	case payout.InProgress:
		return ours == Processing
	}
	return false
}
