package payment

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// topUpRefund gives back the money of a top-up that the wallet could not take. It is no merchant's
// refund: package refund does not know it, and it has no events.
type topUpRefund struct {
	ID      string `json:"id"` // re_…
	TopUp   string `json:"top_up"`
	Account string `json:"account_id"`
	// Amount is in pesewas.
	Amount int64 `json:"amount"`
	// Status is pending, processing, completed or failed.
	Status            Status    `json:"status"`
	ProviderReference *string   `json:"provider_reference,omitempty"`
	FailureReason     *string   `json:"failure_reason,omitempty"`
	CreatedAt         api.Time  `json:"created_at"`
	CompletedAt       *api.Time `json:"completed_at,omitempty"`
	dispatch.Submission
	// Number is the payer's, +233…; empty after an erasure.
	Number  string `json:"number,omitempty"`
	Network string `json:"network"`
}

var topUpRefunds = storage.NewCollection("top_up_refunds", []storage.Field[topUpRefund]{
	dispatch.DueField(func(r *topUpRefund) *dispatch.Submission { return &r.Submission }),
}, storage.DueBy("due"))

// topUpRefundOrders makes and books the refunds of top-ups.
type topUpRefundOrders struct{ svc *Service }

// TopUpRefunds returns the orders of top-ups' refunds, for the loop that drives all orders.
func (in *Internal) TopUpRefunds() topUpRefundOrders { return topUpRefundOrders{in.svc} }

// topUpRefundRef names the refund of a top-up.
func topUpRefundRef(id string) dispatch.Ref {
	return dispatch.Ref{Object: "top_up_refund", ID: id, Record: id}
}

// refundTopUp queues the refund of a top-up. The caller writes the top-up.
func (s *Service) refundTopUp(tx *engine.Tx, r *topUpRecord) error {
	back := topUpRefund{
		ID: tx.NewID("re_"), TopUp: r.ID, Account: r.Account, Amount: r.Amount, Status: Pending, CreatedAt: api.At(tx.Now),
		Submission: dispatch.NewSubmission(tx), Number: r.Number, Network: r.Provider,
	}
	back.Route, r.Refund = r.Route, &back.ID
	if _, err := topUpRefunds.Insert(tx, engine.Scope(tx.Caller), back.ID, back); err != nil {
		return fmt.Errorf("payment: refund top-up: %w", err)
	}
	if err := dispatch.Refunds.IndexOpen(tx, topUpRefundRef(back.ID), tx.Now); err != nil {
		return err
	}
	tx.WakeAfterCommit(topUpRefunds.Kind())
	return nil
}

// Kind is what refunds of top-ups are stored as.
func (topUpRefundOrders) Kind() *storage.Kind { return topUpRefunds.Kind() }

func (s topUpRefundOrders) order(r *topUpRefund) *dispatch.Order {
	return &dispatch.Order{
		Submission: &r.Submission, Ref: topUpRefundRef(r.ID), Flow: dispatch.Refunds, Kind: topUpRefunds.Kind(),
		Since: r.CreatedAt.Time,
	}
}

func getTopUpRefund(tx storage.ReadTx, caller api.Caller, id string) (*storage.Object[topUpRefund], error) {
	return engine.GetTx(tx, topUpRefunds, engine.Scope(caller), id, "refund")
}

func writeTopUpRefund(tx *engine.Tx, o *storage.Object[topUpRefund]) error {
	if err := topUpRefunds.Replace(tx, o); err != nil {
		return fmt.Errorf("payment: write refund of a top-up: %w", err)
	}
	return nil
}

// FindOwnOrder names the order with that id, without reading it. Book refuses an order that is missing
// or not the caller's.
func (topUpRefundOrders) FindOwnOrder(_ context.Context, _ api.Caller, id string) (dispatch.Ref, error) {
	return topUpRefundRef(id), nil
}

// Begin counts an attempt of a refund and returns the call of the charger, or nil if there is
// nothing to call.
func (s topUpRefundOrders) Begin(ctx context.Context, tx *engine.Tx, _, id string) (*dispatch.Call, error) {
	o, err := getTopUpRefund(tx, tx.Caller, id)
	if err != nil {
		return nil, err
	}
	r := &o.Value
	order, rail := s.order(r), (&Internal{s.svc}).RefundRail(tx.Caller.Live, r.Route)
	switch {
	case r.Status.ended(): // a callback was faster
		order.ReportAlreadyEnded(ctx)
		return nil, nil
	case rail == nil:
		order.PostponeWithoutProvider(ctx, tx)
		return nil, writeTopUpRefund(tx, o)
	}
	first := r.CountAttempt(tx.Now)
	r.Status = Processing
	if err := writeTopUpRefund(tx, o); err != nil {
		return nil, err
	}
	back := provider.Refund{
		Order:  order.ProviderOrder(tx, r.Amount),
		Charge: r.TopUp, Phone: r.Number, Network: r.Network, PaymentMethod: FromPhone, Reason: "The wallet could not take the top-up.",
	}
	return order.NewCall(tx, o.Version, first,
		func(ctx context.Context) (provider.Result, error) { return rail.Refund(ctx, back) },
		func(ctx context.Context) (provider.Result, error) { return rail.RefundStatus(ctx, back) })
}

// Book books a charger's result for a refund, from a call or from a callback. The zero result
// stands for a call that failed. The money of a refused refund stays in the excess, and a person
// must look after it.
func (s topUpRefundOrders) Book(ctx context.Context, tx *engine.Tx, ref dispatch.Ref, result provider.Result) (dispatch.Decision, error) {
	o, err := getTopUpRefund(tx, tx.Caller, ref.ID)
	if err != nil {
		return 0, err
	}
	r := &o.Value
	order := s.order(r)
	if r.Status.ended() {
		return order.Decide(ctx, tx, dispatch.Booked{Outcome: r.Status.outcome(), Status: string(r.Status)}, result)
	}
	r.MarkSubmitted(tx.Now)
	r.Status = Processing
	r.ProviderReference = dispatch.Reference(r.ProviderReference, result)
	if result, err = order.CheckAmount(ctx, tx, r.Amount, result); err != nil {
		return 0, err
	}
	decision, err := order.Decide(ctx, tx, dispatch.Booked{}, result)
	if err == nil && (decision == dispatch.Succeeded || decision == dispatch.Failed) {
		erased := false
		if erased, err = s.svc.erased(tx, r.Account); erased {
			r.Number = ""
		}
	}
	fee := int64(0)
	switch {
	case err != nil:
		return decision, err
	case decision == dispatch.Succeeded:
		fee = dispatch.ProviderFee(result)
		err = s.bookPaid(tx, r, fee)
	case decision == dispatch.Failed:
		r.Status, r.FailureReason = Failed, dispatch.FailureReason(result, "The provider declined the refund.")
		topUp := dispatch.Order{Ref: topUpRef(r.TopUp), Flow: dispatch.Charges, Kind: topUps.Kind()}
		err = topUp.NeedsPerson(ctx, tx, "paid, the wallet could not take it, and its refund failed")
	default:
		return decision, writeTopUpRefund(tx, o)
	}
	if err != nil {
		return decision, err
	}
	if r.Due = nil; s.svc.outlived(r.CreatedAt, tx.Now) {
		r.Number = ""
	}
	if err := writeTopUpRefund(tx, o); err != nil {
		return decision, err
	}
	return decision, dispatch.Refunds.IndexEnded(tx, r.ID, &r.Submission, fee)
}

func (s topUpRefundOrders) bookPaid(tx *engine.Tx, r *topUpRefund, providerFee int64) error {
	err := tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: "refund_settled", Ref: r.ID, At: tx.Now,
		Moves: append(
			dispatch.Refunds.ClearingMoves(r.Route, tx.Caller.Live, r.Amount, providerFee),
			ledger.Excess(tx.Caller.Live).Move(-r.Amount),
		),
	})
	if err != nil {
		return fmt.Errorf("payment: book refund of a top-up: %w", err)
	}
	r.Status, r.CompletedAt = Completed, api.AtOrNil(tx.Now)
	return s.svc.config.Messages.Text(tx, r.Account, r.Number, fmt.Sprintf("You got back GHS %s of top-up %s, which your wallet could not take. Refund %s.", money.Text(r.Amount), r.TopUp, r.ID))
}

// Load returns the top-up as hosts see it, and the status of its refund as a word.
func (topUpRefundOrders) Load(tx *engine.Tx, ref dispatch.Ref) (*TopUp, string, error) {
	back, err := getTopUpRefund(tx, tx.Caller, ref.ID)
	if err != nil {
		return nil, "", err
	}
	o, err := getTopUp(tx, tx.Caller, back.Value.TopUp)
	if err != nil {
		return nil, "", err
	}
	return &o.Value.TopUp, string(back.Value.Status), nil
}

// Info describes the order of a refund.
func (topUpRefundOrders) Info(tx *engine.ReadTx, ref dispatch.Ref, _ *dispatch.Entry) (*provider.OrderInfo, error) {
	o, err := getTopUpRefund(tx, tx.Caller, ref.ID)
	if err != nil {
		return nil, fmt.Errorf("payment: read order: %w", err)
	}
	r := &o.Value
	return orderInfo(r.Amount, r.Status, r.Network, &r.Submission), nil
}
