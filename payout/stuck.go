package payout

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/outside"
	"github.com/seed-7082ffec/payments/storage"
)

// Stuck is a transfer that has been on its way for too long.
type Stuck struct {
	Merchant string
	Live     bool
	Transfer Transfer
	// SubmittedAt is when the rail was first told; zero if it never was.
	SubmittedAt time.Time
	// Asked counts how often the rail was submitted to or asked.
	Asked int
}

// Stuck lists the transfers of all merchants, in both modes, that were created
// longer ago than StuckAfter and have not ended, the oldest last. They go on being
// carried; the list is for people, who ask the provider.
func (o *Outgoing) Stuck(ctx context.Context) ([]Stuck, error) {
	var all []Stuck
	err := orders.EachStuck(ctx, o.engine, o.config.StuckAfter, func(tx *engine.ReadTx, id string, ordered *outside.Order) error {
		found, err := nounOf(ordered.Noun).transfers.Get(tx, tx.Caller.Scope(), id)
		if err != nil {
			return err
		}
		r := &found.Value
		if r.Status.final() {
			return nil
		}
		s := Stuck{Merchant: tx.Caller.Merchant, Live: tx.Caller.Live, Transfer: r.Transfer, Asked: r.Asked}
		if r.SubmittedAt != nil {
			s.SubmittedAt = r.SubmittedAt.Time
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("payout: list stuck transfers: %w", err)
	}
	return all, nil
}

// CountStuckTx counts the transfers of a mode that Stuck would list, up to limit.
func (o *Outgoing) CountStuckTx(tx storage.ReadTx, live bool, limit int) (int, error) {
	return orders.CountStuckTx(tx, o.engine, live, o.config.StuckAfter, limit)
}
