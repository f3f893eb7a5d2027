package payment

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// topUpOrders makes and books the charges of top-ups.
type topUpOrders struct{ svc *Service }

// TopUps returns the orders of top-ups, for the loop that drives all orders.
func (in *Internal) TopUps() topUpOrders { return topUpOrders{in.svc} }

// topUpRef names the charge of a top-up.
func topUpRef(id string) dispatch.Ref { return dispatch.Ref{Object: "top_up", ID: id, Record: id} }

// Kind is what top-ups are stored as.
func (topUpOrders) Kind() *storage.Kind { return topUps.Kind() }

func (s topUpOrders) order(r *topUpRecord) *dispatch.Order {
	return &dispatch.Order{
		Submission: &r.Submission, Ref: topUpRef(r.ID), Flow: dispatch.Charges, Kind: topUps.Kind(),
		Since: r.CreatedAt.Time,
	}
}

func getTopUp(tx storage.ReadTx, caller api.Caller, id string) (*storage.Object[topUpRecord], error) {
	return engine.GetTx(tx, topUps, engine.Scope(caller), id, "top-up")
}

func writeTopUp(tx *engine.Tx, o *storage.Object[topUpRecord]) error {
	if err := topUps.Replace(tx, o); err != nil {
		return fmt.Errorf("payment: write top-up: %w", err)
	}
	return nil
}

// FindOwnOrder names the order with that id, without reading it. Book refuses an order that is missing
// or not the caller's.
func (topUpOrders) FindOwnOrder(_ context.Context, _ api.Caller, id string) (dispatch.Ref, error) {
	return topUpRef(id), nil
}

// Begin counts an attempt of a top-up and returns the call of the charger, or nil if there is
// nothing to call; see [Internal.Begin].
func (s topUpOrders) Begin(ctx context.Context, tx *engine.Tx, _, id string) (*dispatch.Call, error) {
	o, err := getTopUp(tx, tx.Caller, id)
	if err != nil {
		return nil, err
	}
	r := &o.Value
	order := s.order(r)
	charger, err := s.charger(tx, r)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Status.ended() && r.Due == nil: // a callback arrived first
		order.ReportAlreadyEnded(ctx)
		return nil, nil
	case r.Status == Pending && !tx.Now.Before(r.Deadline.Time):
		// A prompt long after the payer asked for it would look like fraud.
		r.Status, r.FailureReason = Failed, new(dispatch.NotSent)
		return nil, s.finish(tx, o, nil, 0)
	case charger == nil:
		order.PostponeWithoutProvider(ctx, tx)
		return nil, writeTopUp(tx, o)
	}
	first := r.begin(tx)
	if err := writeTopUp(tx, o); err != nil {
		return nil, err
	}
	return s.newCall(tx, o, charger, first, "")
}

// begin counts an attempt. With the first, the top-up is processing.
func (r *topUpRecord) begin(tx *engine.Tx) (first bool) {
	if r.Status == Pending {
		r.Status, r.NextAction = Processing, &NextAction{Approve, approveMessage}
	}
	return r.CountAttempt(tx.Now)
}

// request returns a top-up as the charger gets it.
func (s topUpOrders) request(tx *engine.Tx, r *topUpRecord) provider.Charge {
	return provider.Charge{
		Order: s.order(r).ProviderOrder(tx, r.Amount),
		Phone: r.Number, Network: r.Provider, Description: "Top-up of a wallet", Deadline: r.Deadline.Time,
	}
}

// charger returns the charger of a top-up, or nil; see [dispatch.Submission.RouteCharge].
func (s topUpOrders) charger(tx *engine.Tx, r *topUpRecord) (provider.Charger, error) {
	return r.RouteCharge(s.svc.charger(tx.Caller.Live), s.request(tx, r))
}

// newCall leases a top-up, which the transaction has written with the counted attempt, and returns the
// call of the charger; see newChargeCall.
func (s topUpOrders) newCall(tx *engine.Tx, o *storage.Object[topUpRecord], charger provider.Charger, first bool, code string) (*dispatch.Call, error) {
	r := &o.Value
	return newChargeCall(tx, s.order(r), o.Version, charger, s.request(tx, r), r.Status.ended(), first, code)
}

// Book books a charger's result for a top-up, from a call or from a callback. The zero result
// stands for a call that failed.
func (s topUpOrders) Book(ctx context.Context, tx *engine.Tx, ref dispatch.Ref, result provider.Result) (dispatch.Decision, error) {
	o, err := getTopUp(tx, tx.Caller, ref.ID)
	if err != nil {
		return 0, err
	}
	r := &o.Value
	order := s.order(r)
	if r.Status.ended() {
		decision, err := order.Decide(ctx, tx, dispatch.Booked{Outcome: r.Status.outcome(), Status: string(r.Status), Amount: r.Amount}, result)
		if err != nil || !order.EndRecheck(tx, result) {
			return decision, err
		}
		if r.Due == nil && s.svc.outlived(r.CreatedAt, tx.Now) {
			r.Number = ""
		}
		return decision, writeTopUp(tx, o)
	}
	if _, err := r.MarkReported(tx.Now, func() error { _, err := s.charger(tx, r); return err }); err != nil {
		return 0, err
	}
	r.Status = Processing
	r.ProviderReference = dispatch.Reference(r.ProviderReference, result)
	if result, err = order.CheckAmount(ctx, tx, r.Amount, result); err != nil {
		return 0, err
	}
	decision, err := order.Decide(ctx, tx, dispatch.Booked{}, result)
	fee := int64(0)
	switch {
	case err != nil:
		return decision, err
	case decision == dispatch.Succeeded:
		fee = dispatch.ProviderFee(result)
		err = s.bookPaid(ctx, tx, r, fee)
	case decision == dispatch.Failed:
		r.Status, r.FailureReason = Failed, dispatch.FailureReason(result, failedMessage)
	default:
		r.NextAction = nextAction(r.NextAction, result)
		return decision, writeTopUp(tx, o)
	}
	if err != nil {
		return decision, err
	}
	return decision, s.finish(tx, o, order.DueAfterEnd(tx.Now), fee)
}

// bookPaid books a top-up that the charger has taken: the amount goes from the charger's clearing
// account to the wallet. If the wallet cannot take it, it goes to the excess, and back to the payer.
func (s topUpOrders) bookPaid(ctx context.Context, tx *engine.Tx, r *topUpRecord, fee int64) error {
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
	r.Status, r.CompletedAt, r.Balance = Completed, api.AtOrNil(tx.Now), new(api.FromPesewas(balance))
	if r.OpenKey != nil { // the call has no answer yet
		if err := engine.StoreAnswer(tx, *r.OpenKey, topUpOperation(r.Given), &r.TopUp); err != nil {
			return err
		}
	}
	return s.svc.config.Messages.Text(tx, consumer.ID, consumer.Phone, fmt.Sprintf("You topped up your wallet with GHS %s. Top-up %s.", money.Text(r.Amount), r.ID))
}

func (s topUpOrders) post(tx *engine.Tx, r *topUpRecord, to ledger.Account, fee int64) error {
	err := tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: "top_up", Ref: r.ID, At: tx.Now,
		Moves: append(dispatch.Charges.ClearingMoves(r.Route, tx.Caller.Live, -r.Amount, fee), to.Move(r.Amount)),
	})
	if err != nil {
		return fmt.Errorf("payment: book top-up: %w", err)
	}
	return nil
}

// giveBack books a top-up that the wallet cannot take, and queues its refund. Where no refund is
// possible, a person must look after it.
func (s topUpOrders) giveBack(ctx context.Context, tx *engine.Tx, r *topUpRecord, why *api.Error, fee int64) error {
	if err := s.post(tx, r, ledger.Excess(tx.Caller.Live), fee); err != nil {
		return err
	}
	r.Status, r.FailureReason, r.ReturnedBy = Returned, new(why.Message), why.Code
	if (&Internal{s.svc}).RefundRail(tx.Caller.Live, r.Route) == nil {
		return s.order(r).NeedsPerson(ctx, tx, "paid, the wallet could not take it, and the provider gives no refunds")
	}
	id := r.ID
	tx.OnCommit(func() {
		tx.Log().WarnContext(ctx, "a wallet could not take a top-up, which is refunded", "top_up", id, "why", why.Code)
	})
	return s.svc.refundTopUp(tx, r)
}

// finish writes a top-up that has entered its final status. due is the time of a last poll; nil
// for none.
func (s topUpOrders) finish(tx *engine.Tx, o *storage.Object[topUpRecord], due *api.Time, fee int64) error {
	r := &o.Value
	r.Due, r.OpenKey, r.NextAction = due, nil, nil
	if err := s.svc.endPrompt(tx, r.Number, r.ID, unsent(&r.Submission, r.CreatedAt)); err != nil {
		return err
	}
	erased, err := s.svc.erased(tx, r.Account)
	if err != nil {
		return err
	}
	if erased || due == nil && s.svc.outlived(r.CreatedAt, tx.Now) {
		r.Number = ""
	}
	if err := writeTopUp(tx, o); err != nil {
		return err
	}
	return dispatch.Charges.IndexEnded(tx, r.ID, &r.Submission, fee)
}

// erased reports that a consumer was erased.
func (s *Service) erased(tx *engine.Tx, consumer string) (bool, error) {
	c, err := s.config.Accounts.Consumer(tx, tx.Caller.Live, consumer)
	if err != nil {
		return false, fmt.Errorf("payment: consumer of a top-up: %w", err)
	}
	return c.Phone == "", nil
}

// Load returns a top-up as hosts see it, and its status as a word.
func (topUpOrders) Load(tx *engine.Tx, ref dispatch.Ref) (*TopUp, string, error) {
	o, err := getTopUp(tx, tx.Caller, ref.ID)
	if err != nil {
		return nil, "", err
	}
	return &o.Value.TopUp, string(o.Value.Status), nil
}

// Info describes the charge of a top-up.
func (topUpOrders) Info(tx *engine.ReadTx, ref dispatch.Ref, _ *dispatch.Entry) (*provider.OrderInfo, error) {
	o, err := getTopUp(tx, tx.Caller, ref.ID)
	if err != nil {
		return nil, fmt.Errorf("payment: read order: %w", err)
	}
	r := &o.Value
	return orderInfo(r.Amount, r.Status, r.Provider, &r.Submission), nil
}
