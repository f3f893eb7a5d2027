package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// Decision is what a provider's result means for an order.
type Decision int

// The decisions.
const (
	// Repeat means that the order has ended and the result says nothing new.
	Repeat Decision = iota
	// Wait means that the order has no outcome yet. The next poll is set; the caller
	// writes the record.
	Wait
	// Settle means that the money has moved. The caller books it.
	Settle
	// Release means that the money will never move. The caller gives the reserve back.
	Release
	// Contradict means that the result is the opposite of the booked outcome. The index notes it;
	// the caller books nothing.
	Contradict
)

// Booked is the booked outcome of an order.
type Booked struct {
	Outcome provider.Outcome // Paid or Refused; empty while the order is on its way
	Status  string           // the record's word for it
}

// Decide returns the meaning of a result. The zero result stands for a lost answer.
func (o *Order) Decide(ctx context.Context, tx *engine.Tx, booked Booked, r provider.Result) (Decision, error) {
	paid, refused := r.Outcome == provider.Paid, r.Outcome == provider.Refused
	switch {
	case booked.Outcome != "":
		if paid && booked.Outcome != provider.Paid || refused && booked.Outcome != provider.Refused {
			how := fmt.Sprintf("%s, and now %s", booked.Status, r.Outcome)
			return Contradict, o.contradict(ctx, tx, how)
		}
		return Repeat, nil
	case paid:
		return Settle, nil
	case refused:
		return Release, nil
	}
	o.Wait(ctx, tx, r.PollAfter)
	return Wait, nil
}

// contradicted is the observer's outcome for a contradiction.
var contradicted = work.Outcome{Name: "contradicted", Level: slog.LevelError, Err: provider.ErrContradicted}

// contradict notes a contradiction. After the commit it tells the log. It tells the observer too,
// unless ctx belongs to work whose end the observer sees anyway. Providers repeat their reports,
// so a contradiction that is noted or resolved already goes to the observer alone.
func (o *Order) contradict(ctx context.Context, tx *engine.Tx, how string) error {
	known, err := o.Flow.contradict(tx, o.Ref, how)
	if err != nil {
		return err
	}
	caller, queue, word, id := tx.Caller, o.Records.Name, string(o.Flow.Name), o.ID
	tx.OnCommit(func() {
		if !known {
			tx.Log().ErrorContext(ctx, "the provider contradicts what it reported before; what was booked stands, and the "+word+" is listed as stuck",
				word, id, "merchant", caller.Merchant, "live", caller.Live, "how", how)
		}
		said := contradicted
		said.RequestID = caller.RequestID
		if !work.SetReport(ctx, said) {
			tx.Observe(ctx, work.Work{Queue: queue, ID: id, Scope: engine.Scope(caller), Records: 1, Report: said})
		}
	})
	return nil
}

// contradict notes in the index how a provider contradicted an order. It reports whether the
// index had it already.
func (f *Flow) contradict(tx *engine.Tx, ref Ref, how string) (known bool, err error) {
	scope := storage.Scope{Live: tx.Caller.Live}
	found, err := f.index.Get(tx, scope, ref.ID)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		entry := newEntry(tx, ref, tx.Now)
		entry.Contradiction = how
		_, err = f.index.Insert(tx, scope, ref.ID, entry)
	case err == nil && (same(how, found.Value.Contradiction) || same(how, found.Value.Resolved)):
		known = true
	case err == nil:
		found.Value.Contradiction = how
		err = f.index.Replace(tx, found)
	}
	if err != nil {
		return false, fmt.Errorf("dispatch: note contradiction: %w", err)
	}
	return known, nil
}

// earlierWords maps the words of earlier releases for contradictions of charges and refunds to
// the present ones.
var earlierWords = strings.NewReplacer("declined", "refused", "charged", "paid", "refunded", "paid")

// same reports whether two texts describe the same contradiction.
func same(now, noted string) bool { return now == earlierWords.Replace(noted) }

// Resolve removes a contradicted order from the list. A repeated report does not bring it back.
// An order without a contradiction is resource_missing.
func (f *Flow) Resolve(ctx context.Context, e *engine.Engine, id string) error {
	word := "contradicted " + string(f.Name)
	_, caller, err := f.Find(ctx, e, id, word)
	if err != nil {
		return err
	}
	return e.Update(ctx, caller, func(tx *engine.Tx) error {
		o, err := f.index.Get(tx, storage.Scope{Live: caller.Live}, id)
		if o, err = engine.OrMissing(o, err, word); err != nil {
			return err
		}
		if o.Value.Contradiction == "" {
			return api.NoSuch(word)
		}
		o.Value.Contradiction, o.Value.Resolved = "", o.Value.Contradiction
		return f.index.Replace(tx, o)
	})
}
