package outside

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/due"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// ErrContradicted: the provider reports the opposite of what it reported before. What was
// booked stays. The log and the observer are told of it, and the order is listed as stuck
// until it is resolved: it is for people to find out what happened.
var ErrContradicted = errors.New("payments: the provider contradicts what it reported before")

// Contradicted is what becomes of the work that found a contradiction.
var Contradicted = due.Outcome{Name: "contradicted", Level: slog.LevelError, Err: ErrContradicted}

// Contradicting is a report that is the opposite of what is booked.
type Contradicting struct {
	Order Order  // whose it is; its Contradiction says how
	ID    string // of the order
	// Kind is what the order's object is kept in, and Word what it is called in the log.
	Kind *storage.Kind
	Word string
}

// ContradictTx notes a contradiction in the caller's transaction. After the commit the log
// is told, and the observer, unless ctx is of work that is told of when it ends. Providers
// repeat their reports: of one that is noted, or resolved, already the observer alone is told.
func (os *Orders) ContradictTx(ctx context.Context, tx *engine.Tx, c Contradicting) error {
	scope := storage.Scope{Live: tx.Caller.Live}
	found, err := os.kept.Get(tx, scope, c.ID)
	known := err == nil && (c.Order.Contradiction == found.Value.Contradiction || c.Order.Contradiction == found.Value.Resolved)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		c.Order.Merchant, c.Order.CreatedAt = tx.Caller.Merchant, api.At(tx.Now)
		_, err = os.kept.Insert(tx, scope, c.ID, c.Order)
	case err == nil && !known:
		found.Value.Contradiction = c.Order.Contradiction
		err = os.kept.Replace(tx, found)
	}
	if err != nil {
		return fmt.Errorf("outside: note contradiction: %w", err)
	}
	caller := tx.Caller
	tx.Committed(func() {
		if !known {
			tx.Log().ErrorContext(ctx, "the provider contradicts what it reported before; what was booked stands, and the "+c.Word+" is listed as stuck",
				c.Word, c.ID, "merchant", caller.Merchant, "live", caller.Live, "how", c.Order.Contradiction)
		}
		said := Contradicted
		said.RequestID = caller.RequestID
		if !due.Report(ctx, said) {
			tx.Observe(ctx, due.Work{Queue: c.Kind.Name, ID: c.ID, Scope: caller.Scope(), Records: 1, Outcome: said})
		}
	})
	return nil
}

// contradictions select the orders that have ended, and were contradicted since.
var contradictions = []storage.Equal{{Column: "open", Value: false}}

// EachContradicted calls do for the contradicted orders of both modes, live ones first,
// as [Orders.Each] does.
func (os *Orders) EachContradicted(ctx context.Context, e *engine.Engine, do func(tx *engine.ReadTx, id string, o *Order) error) error {
	for _, live := range []bool{true, false} {
		if err := os.Each(ctx, e, live, storage.Query{Where: contradictions}, do); err != nil {
			return err
		}
	}
	return nil
}

// countContradictedTx counts the contradicted orders of a mode, up to limit.
func (os *Orders) countContradictedTx(tx storage.ReadTx, live bool, limit int) (n int, err error) {
	q := storage.Query{Scope: storage.Scope{Live: live}, Where: contradictions, Limit: orderPage}
	for more := true; more && n < limit; {
		page, left, err := os.kept.List(tx, q)
		if err != nil {
			return 0, fmt.Errorf("outside: count contradicted orders: %w", err)
		}
		n += len(page)
		if more = left; more {
			q.After = page[len(page)-1].ID
		}
	}
	return min(n, limit), nil
}

// Resolve takes a contradicted order off the list, to which a repetition of the report does
// not bring it back. word is what it is called in the
// refusal when there is none of that id.
func (os *Orders) Resolve(ctx context.Context, e *engine.Engine, id, word string) error {
	_, caller, err := os.Find(ctx, e, id, word)
	if err != nil {
		return err
	}
	return e.Update(ctx, caller, func(tx *engine.Tx) error {
		o, err := os.kept.Get(tx, storage.Scope{Live: caller.Live}, id)
		if o, err = engine.Found(o, err, word); err != nil {
			return err
		}
		if o.Value.Contradiction == "" {
			return api.NoSuch(word)
		}
		o.Value.Contradiction, o.Value.Resolved = "", o.Value.Contradiction
		return os.kept.Replace(tx, o)
	})
}
