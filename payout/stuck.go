package payout

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/outside"
	"github.com/seed-7082ffec/payments/storage"
)

// Stuck is a transfer that has been on its way for too long, or of which the rail has
// reported the opposite of what it reported before.
type Stuck struct {
	Merchant string
	Live     bool
	Transfer Transfer
	// Contradiction says what is booked and what the rail reported afterwards, as "failed,
	// and now paid"; empty for a transfer that is on its way.
	Contradiction string
	// SubmittedAt is when the rail was first told; zero if it never was.
	SubmittedAt time.Time
	// Asked counts how often the rail was submitted to or asked.
	Asked int
}

// Stuck lists the transfers of all merchants, in both modes, that were created
// longer ago than StuckAfter and have not ended, the oldest last. They go on being
// carried; the list is for people, who ask the provider. Before them it lists those that
// have ended and that the rail contradicted since; see [ErrContradicted].
func (o *Outgoing) Stuck(ctx context.Context) ([]Stuck, error) {
	var all []Stuck
	list := func(tx *engine.ReadTx, id string, ordered *outside.Order) error {
		found, err := nounOf(ordered.Noun).transfers.Get(tx, tx.Caller.Scope(), id)
		if err != nil {
			return err
		}
		r := &found.Value
		if r.Status.final() && ordered.Contradiction == "" {
			return nil
		}
		s := Stuck{
			Merchant: tx.Caller.Merchant, Live: tx.Caller.Live, Transfer: r.Transfer, Asked: r.Asked,
			Contradiction: ordered.Contradiction,
		}
		if r.SubmittedAt != nil {
			s.SubmittedAt = r.SubmittedAt.Time
		}
		all = append(all, s)
		return nil
	}
	err := orders.EachContradicted(ctx, o.engine, list)
	if err == nil {
		err = orders.EachStuck(ctx, o.engine, o.config.StuckAfter, list)
	}
	if err != nil {
		return nil, fmt.Errorf("payout: list stuck transfers: %w", err)
	}
	return all, nil
}

// Resolve takes a transfer that the rail contradicted off the list of Stuck, once somebody
// has found out what happened. It books nothing; what is missing or too much on a balance
// is booked with account.Service.Adjust. An id that is not contradicted is
// resource_missing.
func (o *Outgoing) Resolve(ctx context.Context, id string) error {
	return orders.Resolve(ctx, o.engine, id, "contradicted transfer")
}

// CountStuckTx counts the transfers of a mode that Stuck would list, up to limit.
func (o *Outgoing) CountStuckTx(tx storage.ReadTx, live bool, limit int) (int, error) {
	return orders.CountStuckTx(tx, o.engine, live, o.config.StuckAfter, limit)
}
