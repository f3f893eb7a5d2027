package payout

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/chart"
	"github.com/seed-7082ffec/payments/internal/due"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// askAgain is how long to wait after each time that the rail was asked without a
// conclusive answer; the last entry stands for all later ones.
var askAgain = []time.Duration{
	2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute,
}

// underWay is how long a transfer is left alone while the rail is being asked.
// It is longer than a call may take, so that another worker asks only when this
// one has died.
const underWay = 2*callTimeout + 15*time.Second

// ErrContradicted: a rail reports the opposite of what it reported before. What
// was booked stays, and the log says so: it is for people to find out what
// happened.
var ErrContradicted = errors.New("payout: the rail contradicts what it reported before")

// Jobs carry what is due to the rail.
func (o *Outgoing) Jobs() []due.Job {
	const atATime = 64 // most of it waits for the rail
	jobs := make([]due.Job, len(nouns))
	for i, n := range nouns {
		jobs[i] = due.Job{
			Kind: n.transfers.Kind(), Lease: underWay, Batch: atATime,
			Do: func(ctx context.Context, r storage.Record) error { return o.carry(ctx, n, r) },
		}
	}
	return jobs
}

// carry submits a transfer to the rail or asks what became of it. That the rail
// is about to be asked is written before, so that nobody cancels what may have
// been submitted, and whoever finds the transfer after a crash asks first.
func (o *Outgoing) carry(ctx context.Context, n *Noun, claimed storage.Record) error {
	kept, err := n.transfers.Decode(claimed)
	if err != nil {
		return err
	}
	caller := api.Caller{
		Merchant: claimed.Scope.Merchant, Live: claimed.Scope.Live,
		RequestID: kept.Value.Request, IdempotencyKey: kept.Value.Key,
	}
	rail := o.rail(caller.Live)
	var to *Order
	var first bool
	said := due.Outcome{RequestID: caller.RequestID}
	defer func() { due.Report(ctx, said) }()
	err = o.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		to, said.Name = nil, "ended_before"
		found, err := n.transfers.Get(tx, caller.Scope(), claimed.ID)
		if err != nil {
			return fmt.Errorf("payout: read %s: %w", n.Object, err)
		}
		r := &found.Value
		if r.Status.final() {
			return nil // a callback was faster
		}
		if rail == nil {
			said.Name = "no_rail"
			tx.Committed(func() {
				o.engine.Log.ErrorContext(ctx, "a transfer waits for a rail, and there is none", "transfer", claimed.ID, "live", caller.Live)
			})
			r.Due = after(tx.Now, askAgain[len(askAgain)-1])
			return n.transfers.Replace(tx, found)
		}
		first = r.enter(Processing)
		if first {
			r.SubmittedAt = api.AtOrNil(tx.Now)
		}
		r.Asked++
		r.Due = after(tx.Now, underWay)
		to = r.order(caller.Live, tx.Now)
		if err := n.transfers.Replace(tx, found); err != nil {
			return fmt.Errorf("payout: write %s: %w", n.Object, err)
		}
		if !first {
			return nil
		}
		return o.events.RecordTx(tx, &r.Transfer, n.entered(Processing))
	})
	if err != nil || to == nil {
		return err
	}
	result, failed := ask(ctx, rail, *to, first)
	said.Name, said.Attempt = string(result.Outcome), to.Asked
	if failed != nil {
		// It will be asked again. The error may quote the number; the log must not.
		said.Name, said.Level, said.Err = "no_answer", slog.LevelWarn, failed
		result = Result{Outcome: InProgress}
	}
	_, err = o.report(ctx, n, caller, to.ID, result)
	return err
}

// ask calls the rail.
func ask(ctx context.Context, rail Rail, to Order, first bool) (result Result, err error) {
	call := func(submit bool) error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return guarded(func() error {
			var err error
			if submit {
				result, err = rail.Submit(ctx, to)
			} else {
				result, err = rail.Status(ctx, to)
			}
			if err == nil {
				err = result.check(!submit)
			}
			return err
		})
	}
	if err := call(first); err != nil || result.Outcome != NotFound {
		return result, err
	}
	return result, call(true)
}

// check refuses an answer that is none.
func (r *Result) check(mayBeNotFound bool) error {
	switch r.Outcome {
	case InProgress, Paid, Refused:
		return nil
	case NotFound:
		if mayBeNotFound {
			return nil
		}
	}
	return fmt.Errorf("payout: %q is no outcome of a rail", string(r.Outcome))
}

// order returns the transfer as the rail is told of it.
func (r *record) order(live bool, now time.Time) *Order {
	return &Order{
		ID: r.ID, Live: live, Type: r.Destination.Type, Amount: r.Amount.Decimal, Provider: r.To.Provider,
		Number: r.To.Number, Name: r.To.Name, Description: r.Description,
		CreatedAt: r.CreatedAt.Time, SubmittedAt: r.SubmittedAt.Time, Now: now, Asked: r.Asked,
	}
}

// maxReference bounds what a rail's references are kept of, in bytes, and
// maxReason what is kept of its words.
const (
	maxReference = 255
	maxReason    = 500
)

// report books what a rail has said of a transfer, be it as an answer or in a
// callback. It may be told the same again, late, and in any order.
func (o *Outgoing) report(ctx context.Context, n *Noun, caller api.Caller, id string, result Result) (*Transfer, error) {
	var shown *Transfer
	var contradicted bool
	err := o.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		contradicted = false
		found, err := engine.GetTx(tx, n.transfers, caller.Scope(), id, n.Object)
		if err != nil {
			return err
		}
		r := &found.Value
		shown = &r.Transfer
		if r.Status.final() {
			paid := r.Status == Succeeded || r.Status == Completed
			contradicted = result.Outcome == Paid && !paid || result.Outcome == Refused && paid
			return nil
		}
		tx.Caller.RequestID, tx.Caller.IdempotencyKey = r.Request, r.Key
		if r.enter(Processing) { // a test helper is faster than the worker
			r.SubmittedAt = api.AtOrNil(tx.Now)
			if err := o.events.RecordTx(tx, &r.Transfer, n.entered(Processing)); err != nil {
				return err
			}
		}
		if result.Reference != "" {
			r.ProviderReference = new(cut(result.Reference, maxReference))
		}
		switch result.Outcome {
		case Paid:
			return o.settle(tx, n, found)
		case Refused:
			r.enter(Failed)
			r.FailureReason = new(cut(result.Reason.text(), maxReason))
			return o.giveBack(tx, n, found)
		}
		wait := result.Again
		if wait <= 0 {
			wait = askAgain[min(max(r.Asked, 1), len(askAgain))-1]
		}
		r.Due = after(tx.Now, wait)
		if o.isStuck(r, tx.Now) {
			r.Stuck = true
			age, asked := tx.Now.Sub(r.CreatedAt.Time), r.Asked
			tx.Committed(func() {
				o.engine.Log.ErrorContext(ctx, "a transfer is stuck: the rail has not decided", "transfer", id, "age", age.String(), "asked", asked)
			})
		}
		return n.transfers.Replace(tx, found)
	})
	if err != nil {
		return nil, err
	}
	if contradicted {
		o.engine.Log.ErrorContext(ctx, "the rail contradicts what it reported before; nothing was changed",
			"transfer", id, "status", shown.Status, "reported", result.Outcome)
		return shown, ErrContradicted
	}
	return shown, nil
}

// isStuck reports a transfer that takes too long, of which the log was not told.
func (o *Outgoing) isStuck(r *record, now time.Time) bool {
	return !r.Stuck && now.Sub(r.CreatedAt.Time) >= o.config.StuckAfter
}

// settle books a transfer that has arrived: the reserve leaves the merchant, the
// amount to the world outside, the fee to the operator.
func (o *Outgoing) settle(tx *engine.Tx, n *Noun, found *storage.Object[record]) error {
	r := &found.Value
	merchant, live := tx.Caller.Merchant, tx.Caller.Live
	amount, fee := r.pesewas()
	moves := []storage.Move{
		chart.Reserved(merchant, live).Move(-amount - fee),
		chart.Clearing("rail", live).Move(amount),
	}
	if fee > 0 {
		moves = append(moves, chart.Fees(live).Move(fee))
	}
	err := tx.Post(storage.Posting{ID: tx.NewID("txn_"), Type: n.Object + "_settled", Ref: r.ID, At: tx.Now, Moves: moves})
	if err != nil {
		return fmt.Errorf("payout: settle: %w", err)
	}
	r.enter(n.Done)
	r.CompletedAt = api.AtOrNil(tx.Now)
	return o.end(tx, n, found)
}

// giveBack releases the reserve of a transfer that has failed or was cancelled.
func (o *Outgoing) giveBack(tx *engine.Tx, n *Noun, found *storage.Object[record]) error {
	r := &found.Value
	merchant, live := tx.Caller.Merchant, tx.Caller.Live
	amount, fee := r.pesewas()
	err := tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: n.Object + "_released", Ref: r.ID, At: tx.Now,
		Moves: []storage.Move{
			chart.Reserved(merchant, live).Move(-amount - fee),
			chart.Available(merchant, live).Move(amount + fee),
		},
	})
	if err != nil {
		return fmt.Errorf("payout: release: %w", err)
	}
	if err := o.countDay(tx, n, r.CreatedAt.Time, -amount); err != nil {
		return err
	}
	return o.end(tx, n, found)
}

// end writes a transfer that has entered its final status.
func (o *Outgoing) end(tx *engine.Tx, n *Noun, found *storage.Object[record]) error {
	r := &found.Value
	r.Due = nil
	if err := n.transfers.Replace(tx, found); err != nil {
		return fmt.Errorf("payout: write %s: %w", n.Object, err)
	}
	ordered, err := orders.Get(tx, storage.Scope{Live: tx.Caller.Live}, r.ID)
	if err == nil {
		ordered.Value.Open = false
		err = orders.Replace(tx, ordered)
	}
	if err != nil {
		return fmt.Errorf("payout: close order: %w", err)
	}
	return o.events.RecordTx(tx, &r.Transfer, n.entered(r.Status))
}

// Notify books what a rail's callback reports of the order with that id. It may
// be told the same again, late, and while the rail is being asked. An unknown id
// is resource_missing. ErrContradicted means that the opposite was booked before.
//
// The host has made sure that the callback is its provider's.
func (o *Outgoing) Notify(ctx context.Context, id string, result Result) error {
	if err := result.check(false); err != nil {
		return api.Invalid("outcome", "outcome must be in_progress, paid or refused.").WithCause(err)
	}
	n, caller, err := o.find(ctx, id)
	if err != nil {
		return err
	}
	if _, err = o.report(ctx, n, caller, id, result); err == nil {
		o.engine.Log.InfoContext(ctx, "the rail has reported", "transfer", id, "merchant", caller.Merchant, "live", caller.Live, "outcome", result.Outcome)
	}
	return err
}

// find returns whose transfer an id is.
func (o *Outgoing) find(ctx context.Context, id string) (n *Noun, caller api.Caller, err error) {
	err = o.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		found, err := orders.Get(tx, storage.Scope{Live: true}, id)
		if errors.Is(err, storage.ErrNotFound) {
			found, err = orders.Get(tx, storage.Scope{}, id)
		}
		if found, err = engine.Found(found, err, "transfer"); err != nil {
			return err
		}
		n = nounOf(found.Value.Noun)
		caller = api.Caller{Merchant: found.Value.Merchant, Live: found.Scope.Live}
		return nil
	})
	return n, caller, err
}

func nounOf(object string) *Noun {
	for _, n := range nouns {
		if n.Object == object {
			return n
		}
	}
	return nil
}

// Settle plays the rail in test mode: it ends a transfer of the caller's as the
// result says. One that has ended otherwise is refused with transfer_settled.
func (o *Outgoing) Settle(ctx context.Context, caller api.Caller, n *Noun, id string, result Result) (*Transfer, error) {
	if caller.Live {
		return nil, api.Errorf(api.PermissionDenied, "", "A transfer can be settled by hand in test mode only.")
	}
	t, err := o.report(ctx, n, caller, id, result)
	if errors.Is(err, ErrContradicted) {
		return nil, api.Errorf(api.TransferSettled, "", "This %s is %s already.", n.Object, t.Status)
	}
	return t, err
}

// cut shortens a text to at most so many bytes, between characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most]
}
