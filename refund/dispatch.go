package refund

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// ref names the order of a refund.
func ref(id string) dispatch.Ref { return dispatch.Ref{Object: "refund", ID: id, Record: id} }

func (in *Internal) order(r *record) *dispatch.Order {
	return &dispatch.Order{
		Submission: &r.Submission, Ref: ref(r.ID), Flow: dispatch.Refunds, Kind: refunds.Kind(),
		Since: r.CreatedAt.Time,
	}
}

// Begin counts an attempt of a refund and returns the call of the charger, or nil if there is
// nothing to call.
func (in *Internal) Begin(ctx context.Context, tx *engine.Tx, _, id string) (*dispatch.Call, error) {
	found, err := engine.GetTx(tx, refunds, engine.Scope(tx.Caller), id, "refund")
	if err != nil {
		return nil, err
	}
	r := &found.Value
	order := in.order(r)
	if r.ended() { // a callback was faster
		order.ReportAlreadyEnded(ctx)
		return nil, nil
	}
	rail := in.config.Payments.RefundRail(tx.Caller.Live, r.Route)
	if rail == nil {
		order.PostponeWithoutProvider(ctx, tx)
		return nil, refunds.Replace(tx, found)
	}
	first := r.Submission.CountAttempt(tx.Now)
	if first {
		if err := r.enter(Processing); err != nil { // merchants get no event for it
			return nil, err
		}
	}
	if err := refunds.Replace(tx, found); err != nil {
		return nil, fmt.Errorf("refund: write: %w", err)
	}
	back := provider.Refund{
		Order:  order.ProviderOrder(tx, r.Amount),
		Charge: r.Charge, Phone: r.Phone, Network: r.Network, PaymentMethod: r.PaymentMethod, Payment: r.Payment,
	}
	if r.Invoice != nil {
		back.Invoice = *r.Invoice
	}
	if r.Reason != nil {
		back.Reason = *r.Reason
	}
	return order.NewCall(tx, found.Version, first,
		func(ctx context.Context) (provider.Result, error) { return rail.Refund(ctx, back) },
		func(ctx context.Context) (provider.Result, error) { return rail.RefundStatus(ctx, back) })
}

// Book books a charger's result for a refund, from a call or from a callback. The zero result
// stands for a call that failed.
func (in *Internal) Book(ctx context.Context, tx *engine.Tx, ref dispatch.Ref, result provider.Result) (dispatch.Decision, error) {
	found, err := engine.GetTx(tx, refunds, engine.Scope(tx.Caller), ref.Record, "refund")
	if err != nil {
		return 0, err
	}
	r := &found.Value
	order := in.order(r)
	if r.ended() {
		return order.Decide(ctx, tx, dispatch.Booked{Outcome: r.outcome(), Status: string(r.Status), Amount: r.Amount}, result)
	}
	defer r.AttributeEvents(tx)()
	if r.MarkSubmitted(tx.Now) { // a callback or a test helper was faster than the worker
		if err := r.enter(Processing); err != nil {
			return 0, err
		}
	}
	r.ProviderReference = dispatch.Reference(r.ProviderReference, result)
	if result, err = order.CheckAmount(ctx, tx, r.Amount, result); err != nil {
		return 0, err
	}
	decision, err := order.Decide(ctx, tx, dispatch.Booked{}, result)
	if err == nil && (decision == dispatch.Succeeded || decision == dispatch.Failed) {
		err = r.forgetDeleted(tx)
	}
	switch {
	case err != nil:
	case decision == dispatch.Succeeded:
		err = in.bookPaid(tx, found, dispatch.ProviderFee(result))
	case decision == dispatch.Failed:
		reversed := false
		if reversed, err = in.release(ctx, tx, found, result); err == nil && r.Automatic && !reversed {
			err = in.config.Payments.NeedsPerson(ctx, tx, r.Payment, "completed, paid twice, and its refund failed")
		}
	default:
		err = refunds.Replace(tx, found)
	}
	return decision, err
}

// outcome returns the outcome of the order, as the refund's status implies it.
func (r *record) outcome() provider.Outcome {
	switch r.Status {
	case Succeeded:
		return provider.Paid
	case Failed:
		return provider.Refused
	case Processing:
		return provider.InProgress
	}
	return provider.NotFound
}

// FindOwnOrder names the order with that id, without reading it. Book refuses an order that is missing
// or not the caller's.
func (in *Internal) FindOwnOrder(_ context.Context, _ api.Caller, id string) (dispatch.Ref, error) {
	return ref(id), nil
}

// Load returns a refund as hosts see it, and its status as a word.
func (in *Internal) Load(tx *engine.Tx, ref dispatch.Ref) (*Refund, string, error) {
	found, err := engine.GetTx(tx, refunds, engine.Scope(tx.Caller), ref.Record, "refund")
	if err != nil {
		return nil, "", err
	}
	return &found.Value.Refund, string(found.Value.Status), nil
}

// Info describes the order of a refund.
func (in *Internal) Info(tx *engine.ReadTx, ref dispatch.Ref, _ *dispatch.Entry) (*provider.OrderInfo, error) {
	found, err := refunds.Get(tx, engine.Scope(tx.Caller), ref.Record)
	if err != nil {
		return nil, fmt.Errorf("refund: read order: %w", err)
	}
	r := &found.Value
	info := &provider.OrderInfo{Amount: r.Amount, Outcome: r.outcome(), Route: r.Route, Network: r.Network, Attempts: r.Attempts}
	if r.SubmittedAt != nil {
		info.SubmittedAt = r.SubmittedAt.Time
	}
	return info, nil
}

// bookPaid books a refund that the provider has paid. The reserve goes to the provider's
// account.
func (in *Internal) bookPaid(tx *engine.Tx, o *storage.Object[record], providerFee int64) error {
	r, live := &o.Value, tx.Caller.Live
	err := tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: "refund_settled", Ref: r.ID, At: tx.Now,
		Moves: append(
			dispatch.Refunds.ClearingMoves(r.Route, live, r.Amount, providerFee),
			ledger.Reserved(tx.Caller.Merchant, live).Move(-r.Amount),
		),
	})
	if err != nil {
		return fmt.Errorf("refund: book paid: %w", err)
	}
	if err := r.enter(Succeeded); err != nil {
		return err
	}
	if err := in.succeeded(tx, r, "", r.Phone); err != nil {
		return err
	}
	return in.finish(tx, o, providerFee)
}

// release returns the reserve of a declined refund. The amount may be refunded again, unless the
// provider took the payment back in the meantime: then release books the amount as taken.
func (in *Internal) release(ctx context.Context, tx *engine.Tx, o *storage.Object[record], result provider.Result) (reversed bool, err error) {
	r, merchant, live := &o.Value, tx.Caller.Merchant, tx.Caller.Live
	err = in.config.Accounts.Credit(tx, merchant, storage.Posting{
		ID: tx.NewID("txn_"), Type: "refund_released", Ref: r.ID, At: tx.Now,
		Moves: []storage.Move{ledger.Reserved(merchant, live).Move(-r.Amount), ledger.Available(merchant, live).Move(r.Amount)},
	})
	if err != nil {
		return false, fmt.Errorf("refund: release: %w", err)
	}
	taken, err := in.config.Payments.RefundFailed(tx, r.Payment, r.Amount)
	if err != nil {
		return false, err
	}
	if err := r.enter(Failed); err != nil {
		return false, err
	}
	r.FailureReason = dispatch.FailureReason(result, "The provider declined the refund.")
	if err := in.finish(tx, o, 0); err != nil || taken == nil {
		return false, err
	}
	return true, in.bookReversed(ctx, tx, taken)
}

// finish writes a refund that has entered its final status.
func (in *Internal) finish(tx *engine.Tx, o *storage.Object[record], providerFee int64) error {
	o.Value.Due = nil
	if retention.Outlived(o.Value.CreatedAt, tx.Now, in.engine.NumberRetention) {
		o.Value.Phone = "" // retention has already run for this refund
	}
	if err := refunds.Replace(tx, o); err != nil {
		return fmt.Errorf("refund: write: %w", err)
	}
	if err := dispatch.Refunds.IndexEnded(tx, o.ID, &o.Value.Submission, providerFee); err != nil {
		return err
	}
	return in.config.Events.Record(tx, &o.Value.Refund, statusEvent[o.Value.Status])
}
