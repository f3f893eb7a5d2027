package payout

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
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
	for _, live := range []bool{true, false} {
		err := o.eachOrder(ctx, live, outside.OpenOnly(),
			func(tx storage.ReadTx, n *Noun, caller api.Caller, r *record, now time.Time) {
				if now.Sub(r.CreatedAt.Time) < o.config.StuckAfter || r.Status.final() {
					return
				}
				s := Stuck{Merchant: caller.Merchant, Live: live, Transfer: r.Transfer, Asked: r.Asked}
				if r.SubmittedAt != nil {
					s.SubmittedAt = r.SubmittedAt.Time
				}
				all = append(all, s)
			})
		if err != nil {
			return nil, fmt.Errorf("payout: list stuck transfers: %w", err)
		}
	}
	return all, nil
}

// CountStuckTx counts the transfers of a mode that Stuck would list, up to limit; see
// [outside.Orders.CountStuckTx].
func (o *Outgoing) CountStuckTx(tx storage.ReadTx, live bool, limit int) (int, error) {
	return orders.CountStuckTx(tx, o.engine, live, o.config.StuckAfter, limit)
}

// eachOrder calls do for the transfer of every order that the query selects,
// newest first.
func (o *Outgoing) eachOrder(ctx context.Context, live bool, q storage.Query,
	do func(tx storage.ReadTx, n *Noun, caller api.Caller, r *record, now time.Time),
) error {
	return orders.Each(ctx, o.engine, live, q, func(id string, ordered *outside.Order, caller api.Caller) error {
		n := nounOf(ordered.Noun)
		return o.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
			found, err := n.transfers.Get(tx, caller.Scope(), id)
			if err == nil {
				do(tx, n, caller, &found.Value, tx.Now)
			}
			return err
		})
	})
}
