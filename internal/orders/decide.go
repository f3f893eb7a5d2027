package orders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// Decision is what a provider's result means for an order.
type Decision int

// The decisions. The zero Decision stands beside an error.
const (
	// AlreadyEnded means that the order has ended, and that the result does not contradict its outcome. There
	// is nothing to do.
	AlreadyEnded Decision = iota + 1
	// StillPending means that the order has no outcome yet. The next poll is set; the
	// caller writes the record.
	StillPending
	// Succeeded means that the money has moved. The caller books it.
	Succeeded
	// Failed means that the money will never move, or came back before the order had ended. The
	// caller releases the reserve.
	Failed
	// Reversed means that the provider took the money of a paid order back. The caller books it
	// back.
	Reversed
	// Contradicted means that the result contradicts the recorded outcome or its amount. The index notes it. The
	// caller books nothing.
	Contradicted
)

// Recorded is the recorded outcome of an order.
type Recorded struct {
	Outcome provider.Outcome // Paid, Refused or Reversed; Decide takes an empty one for an order without an outcome
	Status  string           // the record's word for it
	// Reversible says that the caller can book a paid order back. Otherwise a reversal is a contradiction.
	Reversible bool
	// Amount is the paid amount, in pesewas. A later report of another amount, paid or reversed, is a
	// contradiction too, because the provider may have taken a part back. Left is the part of Amount that
	// is not refunded. A reversal of exactly Left is no contradiction.
	Amount, Left int64
}

// otherAmount reports whether a result states another amount than the recorded one.
func (is *Recorded) otherAmount(r provider.Result) bool {
	return is.Amount != 0 && movedOther(r, is.Amount) && (r.Outcome == provider.Paid || r.Amount != is.Left)
}

// movedOther reports whether a paid or reversed result states another amount than this one.
func movedOther(r provider.Result, amount int64) bool {
	moved := r.Outcome == provider.Paid || r.Outcome == provider.Reversed
	return moved && r.Amount != 0 && r.Amount != amount
}

// Decide says what a result means, and sets the next poll or notes a contradiction. The zero
// result stands for a call that failed.
func (o *Order) Decide(ctx context.Context, tx *engine.Tx, recorded Recorded, r provider.Result) (Decision, error) {
	paid := r.Outcome == provider.Paid
	switch {
	case recorded.Outcome == provider.Paid && r.Outcome == provider.Reversed && recorded.Reversible && !recorded.otherAmount(r):
		return Reversed, nil
	case recorded.Outcome != "":
		// Refused and Reversed agree: the money is not with its recipient.
		if r.Outcome.Final() && paid != (recorded.Outcome == provider.Paid) {
			cause := Cause{Recorded: recorded.Status, Reported: r.Outcome}
			how, against := fmt.Sprintf("%s, and now %s", recorded.Status, r.Outcome), r.Outcome
			class := provider.Class("")
			if recorded.otherAmount(r) { // no outcome says how much is missing
				cause.Amount = r.Amount
				how, against, class = how+fmt.Sprintf(": %d pesewas of %d", r.Amount, recorded.Amount), "", provider.ClassAmountMismatch
			}
			return Contradicted, o.contradict(ctx, tx, cause, how, against, class)
		}
		if paid && recorded.otherAmount(r) {
			how := fmt.Sprintf("%s, and now %d pesewas of %d", recorded.Status, r.Amount, recorded.Amount)
			cause := Cause{Recorded: recorded.Status, Reported: r.Outcome, Amount: r.Amount}
			return Contradicted, o.contradict(ctx, tx, cause, how, "", provider.ClassAmountMismatch)
		}
		if fee := ProviderFee(r); fee > 0 { // told late, or corrected
			return AlreadyEnded, o.Flow.bookFee(tx, o.ID, fee)
		}
		return AlreadyEnded, nil
	case paid:
		return Succeeded, nil
	case r.Outcome.Final():
		if r.Reason.Code == api.ProviderBalanceInsufficient {
			caller, flow, id := tx.Caller, o.Flow, o.ID
			tx.OnCommit(func() {
				LogBalanceInsufficient(ctx, tx.Log(), flow, string(flow.Name), id, "merchant", caller.Merchant, "live", caller.Live)
			})
		}
		o.recheckAfter = r.PollAfter
		return Failed, nil
	}
	o.schedulePoll(ctx, tx, r.PollAfter)
	return StillPending, nil
}

// LogBalanceInsufficient writes the log line about an order that failed because the operator has too
// little money at the provider.
func LogBalanceInsufficient(ctx context.Context, log *slog.Logger, f *Flow, args ...any) {
	log.ErrorContext(ctx, "a "+string(f.Name)+" failed because the operator's account at the provider has too little money", args...)
}

// contradictionReport is what the observer gets for a contradiction.
var contradictionReport = work.Report{Name: "contradicted", Level: slog.LevelError, Err: provider.ErrContradicted}

// CheckAmount returns the result to apply to an order of this amount. If a paid or reversed result states
// another amount, CheckAmount leaves the order open and lists it for a person: a stranger may have made that
// transaction under the order's reference.
func (o *Order) CheckAmount(ctx context.Context, tx *engine.Tx, amount int64, r provider.Result) (provider.Result, error) {
	if !movedOther(r, amount) {
		return r, nil
	}
	why := fmt.Sprintf("the provider reports %d pesewas %s, and not %d", r.Amount, r.Outcome, amount)
	return provider.Result{Outcome: provider.InProgress}, o.needsPerson(ctx, tx, Cause{Problem: otherAmount, Amount: r.Amount}, why, provider.ClassAmountMismatch)
}

// NeedsPerson lists an order as contradicted although its provider did not contradict itself, because the work
// that should follow the outcome could not be done. It does nothing if the same cause is noted or resolved already.
func (o *Order) NeedsPerson(ctx context.Context, tx *engine.Tx, cause Cause, why string) error {
	return o.needsPerson(ctx, tx, cause, why, "")
}

// needsPerson is NeedsPerson for an order whose provider has made an error of that class; "" for none.
func (o *Order) needsPerson(ctx context.Context, tx *engine.Tx, cause Cause, why string, class provider.Class) error {
	known, err := o.Flow.contradict(tx, o.Ref, cause, why, "", class)
	if err != nil || known {
		return err
	}
	flowName := string(o.Flow.Name)
	args := append(o.logged(tx, class), "why", why)
	tx.OnCommit(func() {
		tx.Log().ErrorContext(ctx, "a "+flowName+" needs a person, and is listed as stuck", args...)
	})
	return nil
}

// logged names the order in the log, and the class of its provider's error if there is one.
func (o *Order) logged(tx *engine.Tx, class provider.Class) []any {
	args := []any{string(o.Flow.Name), o.ID, "merchant", tx.Caller.Merchant, "live", tx.Caller.Live}
	if class != "" {
		if o.Submission != nil && o.Route != "" {
			args = append(args, "provider", o.Route)
		}
		args = append(args, "error", string(class))
	}
	return args
}

// contradict notes a contradiction. After the commit it writes a log line and reports to
// the observer, unless ctx belongs to work that is reported anyway. Providers repeat their
// callbacks: a contradiction that is noted or resolved already gets no second log line.
func (o *Order) contradict(ctx context.Context, tx *engine.Tx, cause Cause, how string, reported provider.Outcome, class provider.Class) error {
	known, err := o.Flow.contradict(tx, o.Ref, cause, how, reported, class)
	if err != nil {
		return err
	}
	caller, queue, flowName, id := tx.Caller, o.Kind.Name, string(o.Flow.Name), o.ID
	args := append(o.logged(tx, class), "how", how)
	tx.OnCommit(func() {
		if !known {
			tx.Log().ErrorContext(ctx, "the provider contradicts what it reported before; what was booked stands, and the "+flowName+" is listed as stuck", args...)
		}
		report := contradictionReport
		report.RequestID = caller.RequestID
		if observed := work.SetReport(ctx, report); !observed {
			tx.Observe(ctx, work.Work{Queue: queue, ID: id, Scope: engine.Scope(caller), Records: 1, Report: report})
		}
	})
	return nil
}

// contradict notes in the index how an order was contradicted, and the class of the provider's error if
// that is how it did. known reports that the index had noted it before.
func (f *Flow) contradict(tx *engine.Tx, ref Ref, cause Cause, how string, reported provider.Outcome, class provider.Class) (known bool, err error) {
	scope := storage.Scope{Live: tx.Caller.Live}
	found, err := f.index.Get(tx, scope, ref.ID)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		entry := newEntry(tx, ref, tx.Now)
		entry.contradict(tx, cause, how, reported, class)
		_, err = f.index.Insert(tx, scope, ref.ID, entry)
	case err == nil && found.Value.knows(cause):
		known = true
	case err == nil:
		found.Value.contradict(tx, cause, how, reported, class)
		err = f.index.Replace(tx, found)
	}
	if err != nil {
		return false, fmt.Errorf("orders: note contradiction: %w", err)
	}
	return known, nil
}

func (e *Entry) contradict(tx *engine.Tx, cause Cause, how string, reported provider.Outcome, class provider.Class) {
	e.Cause = &cause
	e.Contradiction, e.Reported, e.ReportedAt, e.ResolvedAt = how, reported, api.AtOrNil(tx.Now), nil
	e.LastError = cmp.Or(class, e.LastError)
}

// Resolve takes a contradicted order off the list, to which a repetition of the report
// does not bring it back. An order that is not contradicted is resource_missing.
func (f *Flow) Resolve(ctx context.Context, e *engine.Engine, id string) error {
	noun := "contradicted " + string(f.Name)
	_, caller, err := f.FindInIndex(ctx, e, id, noun)
	if err != nil {
		return err
	}
	return e.Update(ctx, caller, func(tx *engine.Tx) error {
		o, err := f.index.Get(tx, storage.Scope{Live: caller.Live}, id)
		if o, err = engine.OrMissing(o, err, noun); err != nil {
			return err
		}
		if o.Value.Contradiction == "" {
			return api.NoSuch(noun)
		}
		o.Value.Contradiction, o.Value.Resolved, o.Value.ResolvedAt = "", o.Value.Contradiction, api.AtOrNil(tx.Now)
		o.Value.Cause, o.Value.ResolvedCause = nil, o.Value.Cause
		return f.index.Replace(tx, o)
	})
}
