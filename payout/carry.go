package payout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/chart"
	"github.com/seed-7082ffec/payments/internal/due"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/outside"
	"github.com/seed-7082ffec/payments/storage"
)

// ErrContradicted: a rail reports the opposite of what it reported before. What was booked
// stays. The log says so, the observer is told ("contradicted"), and [Service.Stuck] lists
// the transfer until [Service.Resolve]: it is for people to find out what happened.
var ErrContradicted = outside.ErrContradicted

type courier = outside.Courier[record, Order, Result]

func (o *Outgoing) courier(n *Noun) *courier {
	return &courier{
		Engine: o.engine, Trade: trade{o, n}, Records: n.transfers, Orders: orders,
		Noun: n.Object, Word: "transfer", StuckAfter: o.config.StuckAfter,
	}
}

// Jobs carry what is due to the rail.
func (o *Outgoing) Jobs() []due.Job {
	jobs := make([]due.Job, len(nouns))
	for i, n := range nouns {
		jobs[i] = o.couriers[n].Job()
	}
	return jobs
}

// trade is what a courier asks about the transfers of a noun.
type trade struct {
	*Outgoing
	noun *Noun
}

func (trade) Course(r *record) *outside.Course { return &r.Course }
func (trade) Created(r *record) time.Time      { return r.CreatedAt.Time }
func (trade) Ended(r *record) bool             { return r.Status.final() }

// Told enters Processing.
func (t trade) Told(tx *engine.Tx, r *record) error {
	r.enter(Processing)
	return t.events.RecordTx(tx, &r.Transfer, t.noun.entered(Processing))
}

// Order returns the transfer as the rail is told of it.
func (trade) Order(r *record, live bool, now time.Time) Order {
	return Order{
		ID: r.ID, Live: live, Type: r.Destination.Type, Amount: r.Amount.Decimal, Provider: r.To.Provider,
		Number: r.To.Number, Name: r.To.Name, Description: r.Description,
		CreatedAt: r.CreatedAt.Time, SubmittedAt: r.SubmittedAt.Time, Now: now, Asked: r.Asked,
	}
}

func (t trade) Port(live bool) outside.Port[Order, Result] {
	if rail := t.rail(live); rail != nil {
		return rail
	}
	return nil
}

func (trade) Outcome(r Result) string { return string(r.Outcome) }

func (trade) Read(r Result) outside.Reading {
	switch r.Outcome {
	case InProgress, Paid, Refused:
		return outside.Seen
	case NotFound:
		return outside.Unseen
	}
	return outside.NoAnswer
}

// Book books what a rail has said of a transfer.
func (t trade) Book(tx *engine.Tx, found *storage.Object[record], result Result) (ended bool, again time.Duration, err error) {
	r := &found.Value
	if result.Reference != "" {
		r.ProviderReference = new(outside.Cut(result.Reference, outside.MaxReference))
	}
	switch result.Outcome {
	case Paid:
		return true, 0, t.settle(tx, t.noun, found)
	case Refused:
		r.enter(Failed)
		r.FailureReason = new(outside.Cut(result.Reason.text(), outside.MaxReason))
		return true, 0, t.giveBack(tx, t.noun, found)
	}
	return false, result.Again, nil
}

func (trade) Contradiction(r *record, result Result) string {
	paid := r.Status == Succeeded || r.Status == Completed
	if result.Outcome == Paid && !paid || result.Outcome == Refused && paid {
		return fmt.Sprintf("%s, and now %s", r.Status, result.Outcome)
	}
	return ""
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
	if keep := o.config.NumberRetention; keep > 0 && !r.CreatedAt.Add(keep).After(tx.Now) {
		r.To = nil // the pass that removes numbers has been here
	}
	if err := n.transfers.Replace(tx, found); err != nil {
		return fmt.Errorf("payout: write %s: %w", n.Object, err)
	}
	if err := orders.CloseTx(tx, r.ID); err != nil {
		return err
	}
	return o.events.RecordTx(tx, &r.Transfer, n.entered(r.Status))
}

// Notify books what a rail's callback reports of the order with that id. It may
// be told the same again, late, and while the rail is being asked. An unknown id
// is resource_missing. ErrContradicted means that the opposite was booked before.
//
// The host has made sure that the callback is its provider's.
func (o *Outgoing) Notify(ctx context.Context, id string, result Result) error {
	if (trade{}).Read(result) != outside.Seen {
		return api.Invalid("outcome", "outcome must be in_progress, paid or refused.")
	}
	n, caller, err := o.find(ctx, id)
	if err != nil {
		return err
	}
	if _, err = o.couriers[n].Report(ctx, caller, id, result); err == nil {
		o.engine.Log.InfoContext(ctx, "the rail has reported", "transfer", id, "merchant", caller.Merchant, "live", caller.Live, "outcome", result.Outcome)
	}
	return err
}

// find returns whose transfer an id is.
func (o *Outgoing) find(ctx context.Context, id string) (*Noun, api.Caller, error) {
	noun, caller, err := orders.Find(ctx, o.engine, id, "transfer")
	return nounOf(noun), caller, err
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
	call := engine.Call{Name: n.Object + ".settle", Params: settling{id, result}}
	return engine.Do(ctx, o.engine, caller, call, func(tx *engine.Tx) (*Transfer, error) {
		r, err := o.couriers[n].ReportTx(ctx, tx, id, result)
		if errors.Is(err, ErrContradicted) {
			return nil, api.Errorf(api.TransferSettled, "", "This %s is %s already.", n.Object, r.Status)
		}
		if err != nil {
			return nil, err
		}
		return &r.Transfer, nil
	})
}

// settling is what a call of Settle says.
type settling struct {
	ID     string `json:"id"`
	Result Result `json:"result"`
}
