package refunding

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
)

// Orders are refunds as orders of the provider.
type Orders struct {
	*orders.Orders[record]
	service *Service
}

func newOrders(s *Service) *Orders {
	o := &Orders{service: s}
	o.Orders = &orders.Orders[record]{
		Flow: orders.Refunds, Records: refunds, Object: "refund", Noun: "refund", Keep: s.engine.NumberRetention, Rules: o,
	}
	o.Apply = o.ApplyResult
	return o
}

// Orders returns the orders of refunds, for the loop that drives all orders.
func (s *Service) Orders() *Orders { return s.orders }

// State implements [orders.Rules].
func (*Orders) State(r *record) orders.State {
	return orders.State{
		Submission: &r.Submission, ID: r.ID, Amount: r.Amount, Network: r.Network, CreatedAt: r.CreatedAt,
		Recorded:  orders.Recorded{Outcome: r.outcome(), Status: string(r.Status)},
		Reference: r.ProviderReference, SetReference: func(to *string) { r.ProviderReference = to }, Object: &r.Refund, Forget: r.forgetNumber,
	}
}

// outcome returns the outcome of the order, as the refund's status implies it.
func (r *record) outcome() provider.Outcome {
	switch r.Status {
	case refund.Succeeded:
		return provider.Paid
	case refund.Failed:
		return provider.Refused
	case refund.Processing:
		return provider.InProgress
	}
	return provider.NotFound
}

// Provider implements [orders.Rules].
func (o *Orders) Provider(tx *engine.Tx, r *record, _ provider.Order) (*orders.Provider, error) {
	back := provider.Refund{Charge: r.Charge, Phone: r.Phone, Network: r.Network, PaymentMethod: r.PaymentMethod, Payment: r.Payment}
	engine.SetGiven(&back.Invoice, r.Invoice)
	engine.SetGiven(&back.Reason, r.Reason)
	return orders.RefundBy(o.service.config.Payments.RefundRail(tx.Caller.Live, r.Route), back), nil
}

// Processing implements [orders.Rules]. Merchants get no event for it.
func (*Orders) Processing(_ *engine.Tx, r *record) error { return r.enter(refund.Processing) }

// Waiting implements [orders.Rules].
func (*Orders) Waiting(*engine.Tx, *record, provider.Result) error { return nil }

// Ending implements [orders.Rules].
func (*Orders) Ending(tx *engine.Tx, r *record) error { return r.forgetDeleted(tx) }

// Paid implements [orders.Rules]: the reserve goes to the provider's account.
func (o *Orders) Paid(_ context.Context, tx *engine.Tx, r *record, providerFee int64) error {
	live := tx.Caller.Live
	err := tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: "refund_settled", Ref: r.ID, At: tx.Now,
		Moves: append(
			orders.Refunds.ClearingMoves(r.Route, live, r.Amount, providerFee),
			ledger.Reserved(tx.Caller.Merchant, live).Move(-r.Amount),
		),
	})
	if err != nil {
		return fmt.Errorf("refund: book paid: %w", err)
	}
	if err := r.enter(refund.Succeeded); err != nil {
		return err
	}
	return o.service.succeeded(tx, r, "", r.Phone)
}

// Refused implements [orders.Rules]: the merchant gets the reserve back.
func (o *Orders) Refused(_ context.Context, tx *engine.Tx, r *record, result provider.Result) error {
	merchant, live := tx.Caller.Merchant, tx.Caller.Live
	err := o.service.config.Accounts.Credit(tx, merchant, storage.Posting{
		ID: tx.NewID("txn_"), Type: "refund_released", Ref: r.ID, At: tx.Now,
		Moves: []storage.Move{ledger.Reserved(merchant, live).Move(-r.Amount), ledger.Available(merchant, live).Move(r.Amount)},
	})
	if err != nil {
		return fmt.Errorf("refund: release: %w", err)
	}
	r.FailureReason, r.FailureCode = orders.FailureReason(result, "The provider declined the refund."), orders.FailureCode(result)
	return r.enter(refund.Failed)
}

// Ended implements [orders.Rules].
func (o *Orders) Ended(tx *engine.Tx, r *record) error {
	return o.service.config.Events.Append(tx, &r.Refund, statusEvent[r.Status])
}

// ApplyResult applies a charger's result to a refund; see [orders.Orders.ApplyResult]. After a refusal the amount may
// be refunded again, unless the provider took the payment back in the meantime: then ApplyResult books the
// amount as taken.
func (o *Orders) ApplyResult(ctx context.Context, tx *engine.Tx, ref orders.Ref, result provider.Result) (orders.Decision, error) {
	decision, err := o.Orders.ApplyResult(ctx, tx, ref, result)
	if err != nil || decision != orders.Failed {
		return decision, err
	}
	found, err := o.Get(tx, tx.Caller, ref.Record)
	if err != nil {
		return decision, err
	}
	r := &found.Value
	defer r.AttributeEvents(tx)()
	taken, err := o.service.config.Payments.RefundFailed(tx, r.Payment, r.Amount)
	switch {
	case err != nil:
		return decision, err
	case taken != nil:
		return decision, o.service.bookReversed(ctx, tx, taken)
	case r.Automatic:
		return decision, o.service.config.Payments.NeedsPerson(ctx, tx, r.Payment, orders.Cause{Problem: orders.RefundFailed}, "completed, "+strings.ToLower(*r.Reason)+", and its refund failed")
	}
	return decision, nil
}
