package payout

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
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
		err := o.eachOrder(ctx, live, storage.Query{Where: []storage.Equal{{Column: "open", Value: true}}},
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

// CountStuckTx counts the transfers of a mode that Stuck would list, up to limit. It
// reads what is open, the oldest first, and in live mode no more than what is
// stuck; test mode has as many clocks as merchants, so that up to limit open ones
// are looked at there.
func (o *Outgoing) CountStuckTx(tx storage.ReadTx, live bool, limit int) (int, error) {
	stuck, seen := 0, 0
	q := storage.Query{
		Scope: storage.Scope{Live: live}, Where: []storage.Equal{{Column: "open", Value: true}},
		Before: " ", Limit: orderPage, // before every id, so that the oldest come first
	}
	for more := true; more && seen < limit; {
		page, left, err := orders.List(tx, q)
		if err != nil {
			return 0, fmt.Errorf("payout: count stuck transfers: %w", err)
		}
		for _, ordered := range slices.Backward(page) { // a page is newest first
			if seen++; seen > limit {
				break
			}
			now, err := o.engine.NowTx(tx, api.Caller{Merchant: ordered.Value.Merchant, Live: live})
			if err != nil {
				return 0, err
			}
			switch {
			case now.Sub(ordered.Value.CreatedAt.Time) >= o.config.StuckAfter:
				stuck++
			case live:
				return stuck, nil // all that follow are younger
			}
		}
		if more = left; more {
			q.Before = page[0].ID
		}
	}
	return stuck, nil
}

// orderPage is how many orders are read in one transaction, so that a long list
// holds no snapshot for long.
const orderPage = 200

// eachOrder calls do for the transfer of every order that the query selects,
// newest first.
func (o *Outgoing) eachOrder(ctx context.Context, live bool, q storage.Query,
	do func(tx storage.ReadTx, n *Noun, caller api.Caller, r *record, now time.Time),
) error {
	q.Scope, q.Limit = storage.Scope{Live: live}, orderPage
	for more := true; more; {
		var page []*storage.Object[order]
		err := o.engine.Store.View(ctx, func(tx storage.ReadTx) error {
			var err error
			page, more, err = orders.List(tx, q)
			return err
		})
		if err != nil {
			return err
		}
		for _, ordered := range page {
			q.After = ordered.ID
			n, caller := nounOf(ordered.Value.Noun), api.Caller{Merchant: ordered.Value.Merchant, Live: live}
			err := o.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
				found, err := n.transfers.Get(tx, caller.Scope(), ordered.ID)
				if err == nil {
					do(tx, n, caller, &found.Value, tx.Now)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
