package payout

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/internal/transfer"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// ref names the order of a transfer.
func ref(r *record) dispatch.Ref { return dispatch.Ref{Object: r.Object, ID: r.ID, Record: r.ID} }

func (in *Internal) order(v *transfer.Variant, r *record) *dispatch.Order {
	return &dispatch.Order{
		Submission: &r.Submission, Ref: ref(r), Flow: dispatch.Transfers, Kind: collection(v).Kind(),
		Since: r.CreatedAt.Time,
	}
}

// Begin counts an attempt of a transfer and returns the call of the rail, or nil if there is
// nothing to call. It writes the attempt before the rail is called: so no merchant cancels
// what may have been submitted, and the worker that finds the record after a crash polls
// first.
func (in *Internal) Begin(ctx context.Context, tx *engine.Tx, object, id string) (*dispatch.Call, error) {
	v := transfer.Of(object)
	found, err := engine.GetTx(tx, collection(v), engine.Scope(tx.Caller), id, object)
	if err != nil {
		return nil, err
	}
	r := &found.Value
	order := in.order(v, r)
	if r.Status.final() { // a callback arrived first
		order.ReportAlreadyEnded(ctx)
		return nil, nil
	}
	rail, err := r.RouteTransfer(in.rail(tx.Caller.Live), in.request(tx, v, r))
	if err != nil {
		return nil, err
	}
	if rail == nil {
		order.PostponeWithoutProvider(ctx, tx)
		return nil, collection(v).Replace(tx, found)
	}
	defer r.AttributeEvents(tx)()
	first, err := in.countAttempt(tx, v, r)
	if err != nil {
		return nil, err
	}
	if err := collection(v).Replace(tx, found); err != nil {
		return nil, fmt.Errorf("payout: write %s: %w", object, err)
	}
	return in.newCall(tx, v, found, rail, first)
}

// request returns a transfer as the rail gets it.
func (in *Internal) request(tx *engine.Tx, v *transfer.Variant, r *record) provider.Transfer {
	amount, _ := r.pesewas()
	t := r.To.providerTransfer()
	t.Order = in.order(v, r).ProviderOrder(tx, amount)
	t.Description = r.Description
	return t
}

// countAttempt counts an attempt of a transfer. With the first, the transfer is processing.
func (in *Internal) countAttempt(tx *engine.Tx, v *transfer.Variant, r *record) (first bool, err error) {
	if first = r.Submission.CountAttempt(tx.Now); first {
		err = in.enterProcessing(tx, v, r)
	}
	return first, err
}

// newCall leases a transfer, which the transaction has written with the counted attempt, and
// returns the call of the rail.
func (in *Internal) newCall(tx *engine.Tx, v *transfer.Variant, o *storage.Object[record], rail provider.Rail, first bool) (*dispatch.Call, error) {
	r := &o.Value
	t := in.request(tx, v, r)
	return in.order(v, r).NewCall(tx, o.Version, first,
		func(ctx context.Context) (provider.Result, error) { return rail.Submit(ctx, t) },
		func(ctx context.Context) (provider.Result, error) { return rail.Status(ctx, t) })
}

func (in *Internal) enterProcessing(tx *engine.Tx, v *transfer.Variant, r *record) error {
	if err := r.enter(Processing); err != nil {
		return err
	}
	return in.events.Record(tx, &r.Transfer, statusEvent(v, Processing))
}

// Book books a rail's result for a transfer, from a call or from a callback. The zero result
// stands for a call that failed.
func (in *Internal) Book(ctx context.Context, tx *engine.Tx, ref dispatch.Ref, result provider.Result) (dispatch.Decision, error) {
	v := transfer.Of(ref.Object)
	found, err := engine.GetTx(tx, collection(v), engine.Scope(tx.Caller), ref.Record, v.Object)
	if err != nil {
		return 0, err
	}
	r := &found.Value
	order := in.order(v, r)
	if r.Status.final() {
		booked := dispatch.Booked{Outcome: r.outcome(), Status: string(r.Status), Reversible: r.SubmittedAt != nil} // else it is within the service
		booked.Amount, _ = r.pesewas()
		decision, err := order.Decide(ctx, tx, booked, result)
		if err == nil && decision == dispatch.Reversed {
			err = in.bookReversed(ctx, tx, v, found, result)
		}
		return decision, err
	}
	defer r.AttributeEvents(tx)()
	first, err := r.MarkReported(tx.Now, func() error {
		_, err := r.RouteTransfer(in.rail(tx.Caller.Live), in.request(tx, v, r))
		return err
	})
	if first {
		err = in.enterProcessing(tx, v, r)
	}
	if err != nil {
		return 0, err
	}
	r.ProviderReference = dispatch.Reference(r.ProviderReference, result)
	amount, _ := r.pesewas()
	if result, err = order.CheckAmount(ctx, tx, amount, result); err != nil {
		return 0, err
	}
	decision, err := order.Decide(ctx, tx, dispatch.Booked{}, result)
	switch {
	case err != nil:
	case decision == dispatch.Succeeded:
		err = in.bookPaid(tx, v, found, dispatch.ProviderFee(result))
	case decision == dispatch.Failed:
		r.fail(result)
		if err = r.enter(Failed); err == nil {
			err = in.bookReleased(tx, v, found)
		}
	default:
		err = collection(v).Replace(tx, found)
	}
	return decision, err
}

// fail notes why a transfer has failed: the provider refused it or took it back.
func (r *record) fail(result provider.Result) {
	r.Reversed = result.Outcome == provider.Reversed
	reason := "reversed: " + cmp.Or(result.Reason.Message, "The provider took the money back.")
	if !r.Reversed {
		reason = result.Reason.Text()
	}
	r.FailureReason = new(dispatch.Truncate(reason, dispatch.MaxReason))
}

// outcome returns the outcome of the order, as the transfer's status implies it. A cancelled
// transfer is Refused, so that a rail that reports it paid contradicts the booking, and one
// that refuses it does not.
func (r *record) outcome() provider.Outcome {
	switch r.Status {
	case Succeeded, Completed:
		return provider.Paid
	case Failed, Cancelled:
		if r.Reversed {
			return provider.Reversed
		}
		return provider.Refused
	case Processing:
		return provider.InProgress
	}
	return provider.NotFound
}

// Kind is what the transfers of a variant are stored as.
func (in *Internal) Kind(v *transfer.Variant) *storage.Kind { return collection(v).Kind() }

// FindOwnOrder returns the caller's order with that id. It reads the transfers, since one to a wallet
// never leaves the service and is in no index.
func (in *Internal) FindOwnOrder(ctx context.Context, caller api.Caller, id string) (dispatch.Ref, error) {
	for _, v := range transfer.Variants {
		_, err := in.Get(ctx, caller, v, id)
		if api.CodeOf(err) != api.ResourceMissing {
			return dispatch.Ref{Object: v.Object, ID: id, Record: id}, err
		}
	}
	return dispatch.Ref{}, api.NoSuch("transfer")
}

// Load returns a transfer as hosts see it, and its status as a word.
func (in *Internal) Load(tx *engine.Tx, ref dispatch.Ref) (*Transfer, string, error) {
	t, err := in.GetTx(tx, engine.Scope(tx.Caller), transfer.Of(ref.Object), ref.Record)
	if err != nil {
		return nil, "", err
	}
	return t, string(t.Status), nil
}

// Info describes the order of a transfer.
func (in *Internal) Info(tx *engine.ReadTx, ref dispatch.Ref, _ *dispatch.Entry) (*provider.OrderInfo, error) {
	found, err := collection(transfer.Of(ref.Object)).Get(tx, engine.Scope(tx.Caller), ref.Record)
	if err != nil {
		return nil, fmt.Errorf("payout: read order: %w", err)
	}
	r := &found.Value
	info := &provider.OrderInfo{Outcome: r.outcome(), Route: r.Route, Attempts: r.Attempts}
	info.Amount, _ = r.pesewas()
	if d := &r.Destination; d.Type == MobileMoney && d.Provider != nil {
		info.Network = *d.Provider
	}
	if r.Status == Cancelled { // for a person, the rail never got it; see outcome
		info.Outcome = provider.NotFound
	}
	if r.SubmittedAt != nil {
		info.SubmittedAt = r.SubmittedAt.Time
	}
	return info, nil
}

// bookPaid books a transfer that the rail has paid: the reserve leaves the merchant, the amount
// to the rail's account, the fee to the operator, who pays the rail's own fee.
func (in *Internal) bookPaid(tx *engine.Tx, v *transfer.Variant, found *storage.Object[record], providerFee int64) error {
	r := &found.Value
	merchant, live := tx.Caller.Merchant, tx.Caller.Live
	amount, fee := r.pesewas()
	moves := append(
		dispatch.Transfers.ClearingMoves(r.Route, live, amount, providerFee),
		ledger.Reserved(merchant, live).Move(-amount-fee),
	)
	if fee > 0 {
		moves = append(moves, ledger.Fees(live).Move(fee))
	}
	err := tx.Post(storage.Posting{ID: tx.NewID("txn_"), Type: v.Object + "_settled", Ref: r.ID, At: tx.Now, Moves: moves})
	if err != nil {
		return fmt.Errorf("payout: book paid: %w", err)
	}
	if err := r.enter(Status(v.Done)); err != nil {
		return err
	}
	r.CompletedAt = api.AtOrNil(tx.Now)
	return in.finish(tx, v, found, providerFee)
}

// bookReversed books back a transfer that the rail had paid and took back: the amount returns from the
// rail's account, and the fee from the operator. What the rail kept for itself stays the operator's cost.
func (in *Internal) bookReversed(ctx context.Context, tx *engine.Tx, v *transfer.Variant, found *storage.Object[record], result provider.Result) error {
	r := &found.Value
	defer r.AttributeEvents(tx)()
	merchant, live := tx.Caller.Merchant, tx.Caller.Live
	amount, fee := r.pesewas()
	moves := append(
		dispatch.Transfers.ClearingMoves(r.Route, live, -amount, 0),
		ledger.Available(merchant, live).Move(amount+fee),
	)
	if fee > 0 {
		moves = append(moves, ledger.Fees(live).Move(-fee))
	}
	err := in.config.Accounts.Credit(tx, merchant, storage.Posting{ID: tx.NewID("txn_"), Type: v.Object + "_reversed", Ref: r.ID, At: tx.Now, Moves: moves})
	if err != nil {
		return fmt.Errorf("payout: book reversed: %w", err)
	}
	if err := r.enter(Failed); err != nil {
		return err
	}
	r.fail(result)
	r.CompletedAt = nil
	id := r.ID
	tx.OnCommit(func() {
		tx.Log().WarnContext(ctx, "the provider took a transfer back, and the merchant has amount and fee again", v.Object, id, "merchant", merchant, "live", live)
	})
	if err := in.uncount(tx, v, r); err != nil {
		return err
	}
	if err := collection(v).Replace(tx, found); err != nil {
		return fmt.Errorf("payout: write %s: %w", v.Object, err)
	}
	if err := in.totals[v].Recount(tx, r.ID, api.OutcomeCompleted, r); err != nil {
		return err
	}
	return in.events.Record(tx, &r.Transfer, statusEvent(v, Failed))
}

// bookReleased releases the reserve of a transfer that has failed or was cancelled, and writes
// the transfer.
func (in *Internal) bookReleased(tx *engine.Tx, v *transfer.Variant, found *storage.Object[record]) error {
	r := &found.Value
	merchant, live := tx.Caller.Merchant, tx.Caller.Live
	amount, fee := r.pesewas()
	err := in.config.Accounts.Credit(tx, merchant, storage.Posting{
		ID: tx.NewID("txn_"), Type: v.Object + "_released", Ref: r.ID, At: tx.Now,
		Moves: []storage.Move{
			ledger.Reserved(merchant, live).Move(-amount - fee),
			ledger.Available(merchant, live).Move(amount + fee),
		},
	})
	if err != nil {
		return fmt.Errorf("payout: release: %w", err)
	}
	if err := in.uncount(tx, v, r); err != nil {
		return err
	}
	return in.finish(tx, v, found, 0)
}

// uncount takes a transfer whose amount the merchant has again off the total of its day.
func (in *Internal) uncount(tx *engine.Tx, v *transfer.Variant, r *record) error {
	amount, _ := r.pesewas()
	return in.countDailyTotal(tx, v, r.CreatedAt.Time, -amount)
}

// finish writes a transfer that has entered its final status.
func (in *Internal) finish(tx *engine.Tx, v *transfer.Variant, found *storage.Object[record], providerFee int64) error {
	r := &found.Value
	r.Due = nil
	if retention.Outlived(r.CreatedAt, tx.Now, in.engine.NumberRetention) {
		r.To = nil // retention has already run for this transfer
	}
	if err := collection(v).Replace(tx, found); err != nil {
		return fmt.Errorf("payout: write %s: %w", v.Object, err)
	}
	if err := in.totals[v].Count(tx, r.ID, r); err != nil {
		return err
	}
	if err := dispatch.Transfers.IndexEnded(tx, r.ID, &r.Submission, providerFee); err != nil {
		return err
	}
	return in.events.Record(tx, &r.Transfer, statusEvent(v, r.Status))
}
