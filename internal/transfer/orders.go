package transfer

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// Orders are the transfers of a variant as orders of a rail.
type Orders struct {
	*orders.Orders[record]
	service *Service
	variant *Variant
}

func newOrders(s *Service, v *Variant) *Orders {
	o := &Orders{service: s, variant: v}
	o.Orders = &orders.Orders[record]{
		Flow: orders.Transfers, Records: collection(v), Object: v.Object, Noun: v.Object, Keep: s.engine.NumberRetention, Rules: o,
	}
	o.Apply = o.ApplyResult
	return o
}

// Orders returns the orders of a variant's transfers, for the loop that drives all orders.
func (s *Service) Orders(v *Variant) *Orders { return s.orders[v] }

// State implements [orders.Rules].
func (*Orders) State(r *record) orders.State {
	amount, _ := r.pesewas()
	s := orders.State{
		Submission: &r.Submission, ID: r.ID, Amount: amount, CreatedAt: r.CreatedAt,
		Recorded:  orders.Recorded{Outcome: r.outcome(), Status: string(r.Status), Reversible: r.SubmittedAt != nil}, // else it is within the service
		Reference: r.ProviderReference, SetReference: func(to *string) { r.ProviderReference = to }, Object: &r.Transfer, Forget: r.forgetNumber,
	}
	if d := &r.Destination; d.Type == payout.MobileMoney && d.Provider != nil {
		s.Network = *d.Provider
	}
	return s
}

// outcome returns the outcome of the order, as the transfer's status implies it. A cancelled
// transfer is Refused, so that a rail that reports it paid contradicts the recorded outcome, and one
// that refuses it does not.
func (r *record) outcome() provider.Outcome {
	switch r.Status {
	case payout.Succeeded, payout.Completed:
		return provider.Paid
	case payout.Failed, payout.Cancelled:
		if r.Reversed {
			return provider.Reversed
		}
		return provider.Refused
	case payout.Processing:
		return provider.InProgress
	}
	return provider.NotFound
}

// forgetNumber removes the recipient's number. The masked form stays.
func (r *record) forgetNumber() { r.To = nil }

// Provider implements [orders.Rules].
func (o *Orders) Provider(tx *engine.Tx, r *record, order provider.Order) (*orders.Provider, error) {
	t := r.To.providerTransfer()
	t.Order, t.Description = order, r.Description
	rail, err := r.RouteTransfer(o.service.rail(tx.Caller.Live), t)
	return orders.TransferBy(rail, t), err
}

// Processing implements [orders.Rules].
func (o *Orders) Processing(tx *engine.Tx, r *record) error {
	if err := r.enter(payout.Processing); err != nil {
		return err
	}
	return o.service.config.Events.Append(tx, &r.Transfer, statusEvent(o.variant, payout.Processing))
}

// Waiting implements [orders.Rules].
func (*Orders) Waiting(*engine.Tx, *record, provider.Result) error { return nil }

// Ending implements [orders.Rules].
func (*Orders) Ending(*engine.Tx, *record) error { return nil }

// Paid implements [orders.Rules]: the reserve leaves the merchant, the amount to the rail's account, the
// fee to the operator, who pays the rail's own fee.
func (o *Orders) Paid(_ context.Context, tx *engine.Tx, r *record, providerFee int64) error {
	merchant, live := tx.Caller.Merchant, tx.Caller.Live
	amount, fee := r.pesewas()
	moves := append(
		orders.Transfers.ClearingMoves(r.Route, live, amount, providerFee),
		ledger.Reserved(merchant, live).Move(-amount-fee),
	)
	if fee > 0 {
		moves = append(moves, ledger.Fees(live).Move(fee))
	}
	err := tx.Post(storage.Posting{ID: tx.NewID("txn_"), Type: o.Object + "_settled", Ref: r.ID, At: tx.Now, Moves: moves})
	if err != nil {
		return fmt.Errorf("payout: book paid: %w", err)
	}
	if err := r.enter(payout.Status(o.variant.Done)); err != nil {
		return err
	}
	r.CompletedAt = api.AtOrNil(tx.Now)
	return nil
}

// Refused implements [orders.Rules].
func (o *Orders) Refused(_ context.Context, tx *engine.Tx, r *record, result provider.Result) error {
	r.fail(result)
	if err := r.enter(payout.Failed); err != nil {
		return err
	}
	return o.release(tx, r)
}

// fail notes why a transfer has failed: the provider refused it or took it back.
func (r *record) fail(result provider.Result) {
	r.Reversed = result.Outcome == provider.Reversed
	reason := "reversed: " + cmp.Or(result.Reason.Message, "The provider took the money back.")
	if !r.Reversed {
		reason = result.Reason.Text()
	}
	r.FailureReason = new(orders.Truncate(reason, orders.MaxReason))
}

// release returns the reserve of a transfer that has failed or was cancelled.
func (o *Orders) release(tx *engine.Tx, r *record) error {
	merchant, live := tx.Caller.Merchant, tx.Caller.Live
	amount, fee := r.pesewas()
	err := o.service.config.Accounts.Credit(tx, merchant, storage.Posting{
		ID: tx.NewID("txn_"), Type: o.Object + "_released", Ref: r.ID, At: tx.Now,
		Moves: []storage.Move{
			ledger.Reserved(merchant, live).Move(-amount - fee),
			ledger.Available(merchant, live).Move(amount + fee),
		},
	})
	if err != nil {
		return fmt.Errorf("payout: release: %w", err)
	}
	return o.uncount(tx, r)
}

// uncount takes a transfer whose amount the merchant has again off the total of its day.
func (o *Orders) uncount(tx *engine.Tx, r *record) error {
	amount, _ := r.pesewas()
	return o.service.countDailyTotal(tx, o.variant, r.CreatedAt.Time, -amount)
}

// Ended implements [orders.Rules].
func (o *Orders) Ended(tx *engine.Tx, r *record) error {
	if err := o.service.totals[o.variant].Count(tx, r); err != nil {
		return err
	}
	return o.service.config.Events.Append(tx, &r.Transfer, statusEvent(o.variant, r.Status))
}

// ApplyResult applies a rail's result to a transfer; see [orders.Orders.ApplyResult].
func (o *Orders) ApplyResult(ctx context.Context, tx *engine.Tx, ref orders.Ref, result provider.Result) (orders.Decision, error) {
	decision, err := o.Orders.ApplyResult(ctx, tx, ref, result)
	if err != nil || decision != orders.Reversed {
		return decision, err
	}
	found, err := o.Get(tx, tx.Caller, ref.Record)
	if err != nil {
		return decision, err
	}
	return decision, o.bookReversed(ctx, tx, found, result)
}

// bookReversed books back a transfer that the rail had paid and took back: the amount returns from the
// rail's account, and the fee from the operator. What the rail kept for itself stays the operator's cost.
func (o *Orders) bookReversed(ctx context.Context, tx *engine.Tx, found *storage.Object[record], result provider.Result) error {
	r := &found.Value
	defer r.AttributeEvents(tx)()
	merchant, live := tx.Caller.Merchant, tx.Caller.Live
	amount, fee := r.pesewas()
	moves := append(
		orders.Transfers.ClearingMoves(r.Route, live, -amount, 0),
		ledger.Available(merchant, live).Move(amount+fee),
	)
	if fee > 0 {
		moves = append(moves, ledger.Fees(live).Move(-fee))
	}
	err := o.service.config.Accounts.Credit(tx, merchant, storage.Posting{ID: tx.NewID("txn_"), Type: o.Object + "_reversed", Ref: r.ID, At: tx.Now, Moves: moves})
	if err != nil {
		return fmt.Errorf("payout: book reversed: %w", err)
	}
	if err := r.enter(payout.Failed); err != nil {
		return err
	}
	r.fail(result)
	r.CompletedAt = nil
	id := r.ID
	tx.OnCommit(func() {
		tx.Log().WarnContext(ctx, "the provider took a transfer back, and the merchant has amount and fee again", o.Object, id, "merchant", merchant, "live", live)
	})
	if err := o.uncount(tx, r); err != nil {
		return err
	}
	if err := o.Write(tx, found); err != nil {
		return err
	}
	if err := o.service.totals[o.variant].Recount(tx, api.OutcomeCompleted, r); err != nil {
		return err
	}
	return o.service.config.Events.Append(tx, &r.Transfer, statusEvent(o.variant, payout.Failed))
}
