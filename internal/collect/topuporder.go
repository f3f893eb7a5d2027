package collect

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// topUpOrders are top-ups as orders.
type topUpOrders struct {
	*orders.Orders[topUpRecord]
	svc *Service
}

func newTopUpOrders(s *Service) *topUpOrders {
	o := &topUpOrders{svc: s}
	o.Orders = &orders.Orders[topUpRecord]{
		Flow: orders.Charges, Records: topUps, Object: "top_up", Noun: "top-up", Keep: s.engine.NumberRetention, Rules: o,
	}
	o.Apply = o.ApplyResult
	return o
}

// TopUps returns the orders of top-ups, for package orders, which drives them.
func (s *Service) TopUps() *topUpOrders { return s.topUps }

// State implements [orders.Rules].
func (*topUpOrders) State(r *topUpRecord) orders.State {
	return orders.State{
		Submission: &r.Submission, ID: r.ID, Amount: r.Amount, Network: r.Provider, CreatedAt: r.CreatedAt,
		Recorded:  orders.Recorded{Outcome: outcomeOf(r.Status), Status: string(r.Status)},
		Reference: r.ProviderReference, SetReference: func(to *string) { r.ProviderReference = to }, Object: &r.TopUp, Forget: r.forgetNumber,
	}
}

func (r *topUpRecord) forgetNumber() { r.Number = "" }

// charge returns a top-up as the charger gets it, without the order.
func (r *topUpRecord) charge() provider.Charge {
	return provider.Charge{Phone: r.Number, Network: r.Provider, Description: "Top-up of a wallet", Deadline: r.Deadline.Time}
}

// Provider implements [orders.Rules].
func (s *topUpOrders) Provider(tx *engine.Tx, r *topUpRecord, order provider.Order) (*orders.Provider, error) {
	return s.svc.chargedBy(tx, &r.Submission, r.charge(), order)
}

// Processing implements [orders.Rules].
func (*topUpOrders) Processing(_ *engine.Tx, r *topUpRecord) error {
	r.Status = payment.Processing
	return nil
}

// Waiting implements [orders.Rules].
func (*topUpOrders) Waiting(_ *engine.Tx, r *topUpRecord, result provider.Result) error {
	r.NextAction = nextAction(r.NextAction, result)
	return nil
}

// Ending implements [orders.Rules].
func (s *topUpOrders) Ending(tx *engine.Tx, r *topUpRecord) error {
	r.NextAction = nil
	return s.svc.endPrompt(tx, r.Number, r.ID, unsent(&r.Submission, r.CreatedAt))
}

// Paid implements [orders.Rules].
func (s *topUpOrders) Paid(ctx context.Context, tx *engine.Tx, r *topUpRecord, fee int64) error {
	if err := s.bookPaid(ctx, tx, r, fee); err != nil {
		return err
	}
	return s.close(tx, r)
}

// close releases the idempotency key of the call that began the top-up. It removes the number if the consumer
// was erased: a refund has its own copy by now.
func (s *topUpOrders) close(tx *engine.Tx, r *topUpRecord) error {
	r.OpenKey = nil
	erased, err := s.svc.erased(tx, r.Account)
	if erased {
		r.forgetNumber()
	}
	return err
}

// bookPaid moves the amount from the charger's clearing account to the wallet. If the wallet cannot take
// it, the amount goes to the excess, and then back to the payer.
func (s *topUpOrders) bookPaid(ctx context.Context, tx *engine.Tx, r *topUpRecord, fee int64) error {
	consumer, err := s.svc.config.Accounts.Consumer(tx, tx.Caller.Live, r.Account)
	if err != nil {
		return fmt.Errorf("payment: consumer of a top-up: %w", err)
	}
	if consumer.Status == account.Closed {
		err = errWalletClosed()
	} else {
		err = s.svc.checkTier(tx, consumer, r.Amount)
	}
	var refusal *api.Error
	if errors.As(err, &refusal) {
		return s.giveBack(ctx, tx, r, refusal, fee)
	}
	if err != nil {
		return err
	}
	if err := s.post(tx, r, ledger.Wallet(r.Account, tx.Caller.Live), fee); err != nil {
		return err
	}
	if err := countTopUp(tx, r.Account, r.Amount); err != nil {
		return err
	}
	balance, err := walletBalance(tx, r.Account, tx.Caller.Live)
	if err != nil {
		return err
	}
	r.Status, r.CompletedAt, r.Balance = payment.Completed, api.AtOrNil(tx.Now), new(api.FromPesewas(balance))
	if r.OpenKey != nil { // the call has no answer yet
		if err := engine.StoreAnswer(tx, *r.OpenKey, topUpOperation(r.Given), &r.TopUp); err != nil {
			return err
		}
	}
	return s.svc.config.Messages.Text(tx, consumer.ID, consumer.Phone, fmt.Sprintf("You topped up your wallet with GHS %s. Top-up %s.", money.Text(r.Amount), r.ID))
}

func (s *topUpOrders) post(tx *engine.Tx, r *topUpRecord, to ledger.Account, fee int64) error {
	err := tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: "top_up", Ref: r.ID, At: tx.Now,
		Moves: append(orders.Charges.ClearingMoves(r.Route, tx.Caller.Live, -r.Amount, fee), to.Move(r.Amount)),
	})
	if err != nil {
		return fmt.Errorf("payment: book top-up: %w", err)
	}
	return nil
}

// giveBack books a top-up that the wallet cannot take, and queues its refund. Where no refund is
// possible, a person must look after it.
func (s *topUpOrders) giveBack(ctx context.Context, tx *engine.Tx, r *topUpRecord, why *api.Error, fee int64) error {
	if err := s.post(tx, r, ledger.Excess(tx.Caller.Live), fee); err != nil {
		return err
	}
	r.Status, r.FailureReason, r.ReturnedBy = payment.Returned, new(why.Message), why.Code
	if s.svc.RefundRail(tx.Caller.Live, r.Route) == nil {
		return s.NeedsPerson(ctx, tx, r.ID, orders.Cause{Problem: orders.NotRefundable}, "paid, the wallet could not take it, and the provider gives no refunds")
	}
	id := r.ID
	tx.OnCommit(func() {
		tx.Log().WarnContext(ctx, "a wallet could not take a top-up, which is refunded", "top_up", id, "why", why.Code)
	})
	return s.svc.refundTopUp(tx, r)
}

// Refused implements [orders.Rules].
func (s *topUpOrders) Refused(_ context.Context, tx *engine.Tx, r *topUpRecord, result provider.Result) error {
	r.Status, r.FailureReason = payment.Failed, orders.FailureReason(result, failedMessage)
	return s.close(tx, r)
}

// Ended implements [orders.Rules].
func (*topUpOrders) Ended(*engine.Tx, *topUpRecord) error { return nil }

// erased reports that a consumer was erased.
func (s *Service) erased(tx *engine.Tx, consumer string) (bool, error) {
	c, err := s.config.Accounts.Consumer(tx, tx.Caller.Live, consumer)
	if err != nil {
		return false, fmt.Errorf("payment: consumer of a top-up: %w", err)
	}
	return c.Phone == "", nil
}
